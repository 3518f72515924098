package duckdb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedError means that another process has the file open.
type LockedError struct {
	Path string
	PID  int // 0: not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s has %s open; a file is for one ingero-echo: end that one, or give another --db-path",
		who, e.Path)
}

// lock takes a lock beside a file, which ends with the process, and writes the process into it.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		text, _ := io.ReadAll(io.LimitReader(f, 32)) // without it, the process is not known
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &LockedError{path, pid}
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock: %w", err), f.Close())
	}
	return f, nil
}
