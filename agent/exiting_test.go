package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

func TestAProcessEndsWithItsLastThread(t *testing.T) {
	root := t.TempDir()
	task := func(tid int) string { return filepath.Join(root, "7", "task", fmt.Sprint(tid)) }
	for _, tid := range []int{7, 8} {
		if err := os.MkdirAll(task(tid), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exit := func(pid, tid uint32, at uint64) *event.Life {
		return &event.Life{At: at, Kind: event.LifeExit, Thread: event.Thread{PID: pid, TID: tid}}
	}
	l := exiting{fs: proc.New(root)}
	l.addEnd(exit(7, 7, 10))
	l.addEnd(exit(7, 7, 11)) // reported twice
	l.addEnd(exit(6, 9, 12)) // of a process that goes on
	if ends := l.take(l.gone()); len(ends) != 1 || ends[0].TID != 9 {
		t.Errorf("ended: %+v, want thread 9", ends)
	}
	if err := os.Remove(task(8)); err != nil {
		t.Fatal(err)
	}
	l.addEnd(exit(7, 8, 20))
	ends := l.take(l.gone())
	if len(ends) != 2 || ends[0].TID != 8 || ends[1].TID != 7 || ends[1].At != 20 {
		t.Errorf("ended: %+v, want thread 8, and process 7 at 20", ends)
	}
	if ends := l.take(l.gone()); len(ends) != 0 {
		t.Errorf("ended twice: %+v", ends)
	}
}
