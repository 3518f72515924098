package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/proc"
	"github.com/ingero-io/ingero/probe"
)

// TestTheDeadAreForgotten: of many strangers those that ended are dropped, those
// that live and those that are traced stay.
func TestTheDeadAreForgotten(t *testing.T) {
	root := t.TempDir()
	alive := func(pid int) {
		dir := filepath.Join(root, fmt.Sprint(pid), "task", fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "comm"), []byte("living\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := newPeople(proc.New(root))
	alive(1)
	p.stranger(1, "old")
	p.process(2, true) // traced, and gone
	for pid := uint32(3); len(p.processes)+len(p.threads) < maxStrangers; pid++ {
		p.stranger(pid, "gone")
		p.thread(event.Thread{PID: pid, TID: pid}, "gone", false)
	}
	p.prune()
	if len(p.processes) != 2 || p.processes[1].Name != "living" || !p.processes[2].Traced || len(p.threads) != 0 {
		t.Errorf("left are %d processes and %d threads: %v", len(p.processes), len(p.threads), p.processes)
	}
	alive(3)
	p.observe(&probe.Records{}) // the next drain
	p.stranger(3, "new")
	if p.processes[3].Name != "living" {
		t.Errorf("a process with an id of a dead one is %+v", p.processes[3])
	}
}
