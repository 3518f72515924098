package agent

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A wait that another process, or time, may end is no standstill.
func TestWaitsThatOnlyTheProcessItselfCanEnd(t *testing.T) {
	const private = 128
	for _, c := range []struct {
		name string
		nr   int
		args [6]uint64
		want bool
	}{
		{"a mutex", unix.SYS_FUTEX, [6]uint64{0x10, futexWait | private, 2, 0}, true},
		{"a semaphore, by the wall clock", unix.SYS_FUTEX, [6]uint64{0x10, futexWaitBitset | private | 256, 0, 0}, true},
		{"a mutex with priority inheritance", unix.SYS_FUTEX, [6]uint64{0x10, futexLockPI | private, 0, 0}, true},
		{"shared with other processes", unix.SYS_FUTEX, [6]uint64{0x10, futexWait, 2, 0}, false},
		{"with a limit", unix.SYS_FUTEX, [6]uint64{0x10, futexWait | private, 2, 0x7fff}, false},
		{"it wakes somebody", unix.SYS_FUTEX, [6]uint64{0x10, 1 | private, 2, 0}, false},
		{"another call", unix.SYS_READ, [6]uint64{0x10, futexWait | private, 2, 0}, false},
	} {
		if got := waitsForItself(c.nr, c.args); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
