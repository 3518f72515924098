package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// TestEndedUntracedProcessesAreDropped: if there are many untraced processes, those that ended
// are dropped. Those that live, and traced ones, stay.
func TestEndedUntracedProcessesAreDropped(t *testing.T) {
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
	p := newProcessTable(proc.New(root))
	alive(1)
	p.addUntraced(1, "old")
	p.process(2, true) // traced, and gone
	for pid := uint32(3); len(p.processes)+len(p.threads) < maxUntraced; pid++ {
		p.addUntraced(pid, "gone")
		p.thread(event.Thread{PID: pid, TID: pid}, "gone", false)
	}
	p.prune()
	if len(p.processes) != 2 || p.processes[1].Name != "living" || !p.processes[2].Traced || len(p.threads) != 0 {
		t.Errorf("left are %d processes and %d threads: %v", len(p.processes), len(p.threads), p.processes)
	}
	alive(3)
	p.observe(&probe.Records{}) // the next drain
	p.addUntraced(3, "new")
	if p.processes[3].Name != "living" {
		t.Errorf("a process with an id of a dead one is %+v", p.processes[3])
	}
}

// On a busy machine a process's birth, the program it executes and its end are drained
// together, before what was recorded between them.
func TestAProcessHasTheNameOfItsLastExec(t *testing.T) {
	p := newProcessTable(proc.New(t.TempDir())) // it has ended
	shell, child := event.Thread{PID: 1, TID: 1}, event.Thread{PID: 2, TID: 2}
	life := func(k event.LifeKind, at uint64, comm string) event.Life {
		return event.Life{At: at, Kind: k, Thread: child, Comm: comm}
	}
	drains := []probe.Records{
		{
			Records: event.Records{
				Lives: []event.Life{
					life(event.LifeFork, 100, "sh"), life(event.LifeExec, 200, "cat"),
					life(event.LifeExit, 300, "cat"),
				},
				ThreadTimes: []event.ThreadTime{{At: 150, Thread: child, Comm: "sh"}},
				OffCPU:      []event.OffCPU{{Start: 120, Duration: 10, Thread: child, Comm: "sh"}},
			},
		},
		{Records: event.Records{OffCPU: []event.OffCPU{{
			Start: 90, Duration: 300, Thread: shell, Comm: "sh", Waker: child, WakerComm: "sh",
			Culprits: []event.Culprit{{Thread: child, Comm: "sh"}},
		}}}},
	}
	for i := range drains {
		p.observe(&drains[i])
		p.prune()
		if got := p.name(2); got != "cat" {
			t.Errorf("after drain %d the process is called %q", i+1, got)
		}
	}
	for _, n := range p.newThread {
		if n.Thread == child && n.Comm != "sh" && n.Comm != "cat" {
			t.Errorf("the thread is called %q", n.Comm)
		}
	}
	if last := p.newThread[len(p.newThread)-1]; last.Thread != child || last.Comm != "cat" {
		t.Errorf("the last recorded name is %+v", last)
	}
	p.observe(&probe.Records{
		Records: event.Records{
			Lives:       []event.Life{life(event.LifeFork, 5e9, "make")}, // the id is used again
			ThreadTimes: []event.ThreadTime{{At: 5e9 + 1, Thread: child, Comm: "make"}},
		},
	})
	if got := p.name(2); got != "make" {
		t.Errorf("another process with the id is called %q", got)
	}
	p.execs[7], p.execs[8] = 1, 1+maxLate+1
	if p.prune(); len(p.execs) != 1 {
		t.Errorf("%v is remembered", p.execs)
	}
}

// The framework is what a process maps; libraries that it loads later count too.
func TestTheFrameworkIsFoundWhenItIsLoadedLater(t *testing.T) {
	root := t.TempDir()
	maps := func(files ...string) {
		t.Helper()
		text := ""
		for i, f := range files {
			text += fmt.Sprintf("%x-%x r-xp 00000000 fe:00 %d %s\n", 0x1000*(i+1), 0x1000*(i+2), i+1, f)
		}
		if err := os.MkdirAll(filepath.Join(root, "7"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "7", "maps"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newProcessTable(proc.New(root))
	maps("/usr/bin/python3.12", "/usr/lib/libcudart.so.12")
	p.process(7, true)
	if got := p.processes[7].Framework; got != "CUDA" {
		t.Errorf("before: %q", got)
	}
	maps("/usr/bin/python3.12", "/usr/lib/libcudart.so.12", "/venv/torch/lib/libtorch_cuda.so")
	p.frameworks()
	if got := p.processes[7].Framework; got != "PyTorch" {
		t.Errorf("after a second: %q", got)
	}
	if err := os.Remove(filepath.Join(root, "7", "maps")); err != nil {
		t.Fatal(err)
	}
	p.process(7, true)
	if got := p.processes[7].Framework; got != "PyTorch" {
		t.Errorf("after its end: %q", got)
	}
}
