package proc

import (
	"fmt"
	"strconv"
)

// StartTime is when a process started, in clock ticks since boot: field 22 of proc_pid_stat(5). Two
// processes that have the same id one after the other differ in it.
func (f FS) StartTime(pid int) (uint64, error) {
	const field = 22 - 3 // the third is the first one after the name
	fields, err := f.stat(pid)
	if err != nil {
		return 0, err
	}
	if len(fields) <= field {
		return 0, fmt.Errorf("read stat of process %d: only %d fields", pid, len(fields)+2)
	}
	return strconv.ParseUint(fields[field], 10, 64)
}
