package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Threads that wake each other in turn may each be found waiting, but not at one moment.
func TestThreadsThatTakeTurnsAreNotStuck(t *testing.T) {
	root := t.TempDir()
	write := func(tid, name, text string) {
		t.Helper()
		dir := filepath.Join(root, "7", "task", tid)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	thread := func(tid string, switches int) {
		t.Helper()
		write(tid, "syscall", fmt.Sprintf("%d 0x10 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f\n", unix.SYS_FUTEX))
		write(tid, "status", fmt.Sprintf("Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t2\n", switches))
	}
	thread("7", 5)
	thread("8", 9)
	s := newStandstill(proc.New(root))
	before, ok := s.waiting(7)
	if !ok || !s.stuck(7) || before[7] != 7 || before[8] != 11 {
		t.Fatalf("both wait: %v %t", before, ok)
	}
	thread("8", 10) // it ran meanwhile
	if after, _ := s.waiting(7); after[8] == before[8] {
		t.Errorf("it has run in between: %v, %v", before, after)
	}
	write("8", "syscall", "running\n")
	if s.stuck(7) {
		t.Error("one of them runs")
	}
	write("8", "syscall", fmt.Sprintf("%d 0x10 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f\n", unix.SYS_FUTEX))
	write("8", "status", "Name:\tx\n")
	if s.stuck(7) {
		t.Error("it is not known how often one has run")
	}
}

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
