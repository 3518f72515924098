package proc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Scheduling is how the scheduler treats a thread (proc(5), /proc/PID/stat).
type Scheduling struct {
	Policy   int // as in sched.h: 0 other, 1 fifo, 2 rr, 3 batch, 5 idle, 6 deadline
	Nice     int // -20 to 19
	Realtime int // priority, 1 to 99; 0 if the policy has none
}

// Scheduling reads it.
func (f FS) Scheduling(pid, tid int) (s Scheduling, err error) {
	path := f.path(pid, "task", strconv.Itoa(tid), "stat")
	b, err := small(path)
	if err != nil {
		return s, err
	}
	// The first field after the name, which may hold anything, is the third.
	const third, nice, realtime, policy = 3, 19, 40, 41
	i := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[i+1:]))
	if i < 0 || len(fields) <= policy-third {
		return s, fmt.Errorf("%s: malformed", path)
	}
	for n, at := range map[int]*int{nice: &s.Nice, realtime: &s.Realtime, policy: &s.Policy} {
		if *at, err = strconv.Atoi(fields[n-third]); err != nil {
			return s, fmt.Errorf("%s: malformed", path)
		}
	}
	return s, nil
}

// Affinity lists the CPUs that a thread may run on, as the kernel writes them: 0-3,8.
func (f FS) Affinity(pid, tid int) (string, error) {
	path := f.path(pid, "task", strconv.Itoa(tid), "status")
	b, err := small(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list), nil
		}
	}
	return "", fmt.Errorf("%s: malformed", path)
}
