package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

// The kernel drops records of ends when nobody reads them for seconds. The processes are found to have ended all the
// same, but only when two looks missed them, and only if no record says so.
func TestUnreportedEndsAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := func(pid int) string { return filepath.Join(root, fmt.Sprint(pid), "task", fmt.Sprint(pid)) }
	traced := map[int]bool{}
	const round = 3
	const all = round * maxLooks
	for pid := 1; pid <= all; pid++ {
		traced[pid] = true
		if err := errors.Join(os.MkdirAll(dir(pid), 0o755),
			os.WriteFile(filepath.Join(dir(pid), "comm"), []byte("x\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	u := unreported{fs: proc.New(root), absent: map[int]bool{}}
	known := func(pid int) bool { return pid == 30 }
	looks := func(times int) (ended []int) {
		for range times {
			for _, pid := range u.ended(traced, known) {
				ended = append(ended, pid)
				delete(traced, pid)
			}
		}
		return ended
	}
	if got := looks(20); len(got) > 0 {
		t.Errorf("%v ended, and all run", got)
	}
	for _, pid := range []int{30, 50, 51} {
		if err := os.RemoveAll(filepath.Join(root, fmt.Sprint(pid))); err != nil {
			t.Fatal(err)
		}
	}
	if got := looks(round); len(got) > 0 {
		t.Errorf("%v ended after one look", got)
	}
	if got := looks(round + 1); fmt.Sprint(got) != "[50 51]" {
		t.Errorf("%v ended, want 50 and 51", got)
	}
	delete(traced, 30)
	if looks(1); len(u.absent) != 0 {
		t.Errorf("%v is remembered", u.absent)
	}
}

// All threads of such a process have ended.
func TestThreadsOfAProcess(t *testing.T) {
	t.Parallel()
	p := newProcessTable(proc.New(t.TempDir()))
	for _, th := range []event.Thread{{PID: 7, TID: 7}, {PID: 7, TID: 8}, {PID: 9, TID: 9}} {
		p.thread(sighting{Thread: th, comm: "x", existed: later})
	}
	if got := fmt.Sprint(p.threadsOf(7)); got != fmt.Sprint([]event.Thread{{PID: 7, TID: 7}, {PID: 7, TID: 8}}) {
		t.Error(got)
	}
	if got := fmt.Sprint(p.threadsOf(3)); got != fmt.Sprint([]event.Thread{{PID: 3, TID: 3}}) {
		t.Error(got)
	}
}
