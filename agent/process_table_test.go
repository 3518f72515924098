package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// TestEndedUntracedProcessesAreDropped: if there are many untraced processes, those that ended
// are dropped. Those that live, and traced ones, stay.
func TestEndedUntracedProcessesAreDropped(t *testing.T) {
	root := t.TempDir()
	alive := func(pid int) { beginsAt(t, root, pid, 1, "living") }
	p := newProcessTable(proc.New(root))
	p.boot = func() uint64 { return 0 }
	alive(1)
	p.addUntraced(sight(1, "old"))
	p.process(2, true) // traced, and gone
	for pid := uint32(3); len(p.processes)+len(p.threads) < maxUntraced; pid++ {
		p.addUntraced(sight(pid, "gone"))
		p.thread(sight(pid, "gone"))
	}
	p.prune()
	if len(p.processes) != 2 || p.processes[1].Name != "living" || !p.processes[2].Traced || len(p.threads) != 0 {
		t.Errorf("left are %d processes and %d threads: %v", len(p.processes), len(p.threads), p.processes)
	}
	alive(3)
	p.observe(&probe.Records{}) // the next drain
	p.addUntraced(sight(3, "new"))
	if p.processes[3].Name != "living" {
		t.Errorf("a process with an id of a dead one is %+v", p.processes[3])
	}
}

// later is a time at which all processes of these tests exist, Unix ns.
const later = 1_000_000_000

// sight is a record's word of the first thread of a process.
func sight(pid uint32, comm string) sighting {
	return sighting{Thread: event.Thread{PID: pid, TID: pid}, comm: comm, at: later, existed: later}
}

// beginsAt makes a process that began at a time, in clock ticks since the boot.
func beginsAt(t *testing.T, root string, pid int, ticks uint64, name string) {
	t.Helper()
	text := fmt.Sprintf("%d (x) S 1%s %d\n", pid, strings.Repeat(" 0", 17), ticks)
	dir := filepath.Join(root, fmt.Sprint(pid))
	task := filepath.Join(dir, "task", fmt.Sprint(pid))
	if err := errors.Join(os.MkdirAll(task, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(task, "comm"), []byte(name+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// The ends of untraced processes are not reported. That another one has the id is seen by the time at which it began,
// also if nobody could look at the first one while it lived.
func TestAnUntracedProcessWithTheIDOfAnotherOneIsAnother(t *testing.T) {
	const second = 1_000_000_000
	root := t.TempDir()
	p := newProcessTable(proc.New(root))
	p.boot = func() uint64 { return 0 }
	main, worker := event.Thread{PID: 9, TID: 9}, event.Thread{PID: 9, TID: 10}
	runs := func(th event.Thread, comm string, at uint64) {
		p.observe(&probe.Records{Records: event.Records{OffCPU: []event.OffCPU{{
			Start: at, Duration: 1, Thread: event.Thread{PID: 1, TID: 1}, Comm: "waits",
			Culprits: []event.Culprit{{Thread: th, Comm: comm}},
		}}}})
	}
	is := func(step, name string, reused ...store.Reuse) {
		t.Helper()
		if got := p.name(9); got != name || !slices.Equal(p.newReused, reused) {
			t.Errorf("%s: it is called %q, want %q; reused %v, want %v", step, got, name, p.newReused, reused)
		}
		p.newReused = nil
	}
	runs(main, "first", 5*second) // it ended before anybody looked
	is("the first", "first")
	beginsAt(t, root, 9, 600, "second")
	runs(main, "first", 5*second)
	is("a record of the first that comes late", "first")
	runs(worker, "second-thread", 7*second)
	is("a thread of the second", "second", store.Reuse{PID: 9, At: 6 * second})
	runs(main, "second", 8*second)
	is("its first thread", "second")
	beginsAt(t, root, 9, 900, "third")
	runs(main, "third", 10*second)
	is("the third", "third", store.Reuse{PID: 9, At: 9 * second})
	p.observe(&probe.Records{Records: event.Records{Lives: []event.Life{{
		At: 9*second + 1, Kind: event.LifeFork, Thread: main, Comm: "third",
	}}}})
	is("its fork, which is reported late", "third")
	runs(main, "second", 8*second) // a wait that is longer than the life of the third
	is("a record of the second that comes late", "third")
	if err := os.RemoveAll(filepath.Join(root, "9")); err != nil {
		t.Fatal(err)
	}
	p.observe(&probe.Records{Records: event.Records{Lives: []event.Life{
		{At: 20 * second, Kind: event.LifeFork, Thread: main, Comm: "parent"},
		{At: 20*second + 1, Kind: event.LifeExec, Thread: main, Comm: "fourth"},
	}}})
	is("the fork of the fourth, which has ended", "fourth", store.Reuse{PID: 9, At: 20 * second})
	p.observe(&probe.Records{Records: event.Records{Lives: []event.Life{{
		At: 21 * second, Kind: event.LifeExit, Thread: main,
	}}}})
	runs(main, "fourth", 20*second+5)
	is("a record of the fourth that comes late", "fourth")
	runs(main, "fifth", 25*second) // it has ended before anybody looked, too
	is("the fifth", "fifth", store.Reuse{PID: 9, At: 21 * second})
}

// The kernel's records have the start of the process. It is believed, and who has the id by now does not matter.
func TestProcessesWithOneIDDifferByTheirStart(t *testing.T) {
	const second = 1_000_000_000
	root := t.TempDir()
	p := newProcessTable(proc.New(root))
	p.boot = func() uint64 { return 0 }
	main, worker := event.Thread{PID: 9, TID: 9}, event.Thread{PID: 9, TID: 10}
	waits := func(at uint64, born uint64, th event.Thread, comm string) {
		p.observe(&probe.Records{Records: event.Records{OffCPU: []event.OffCPU{{
			Start: at, Duration: 1, Thread: event.Thread{PID: 1, TID: 1}, Comm: "waits",
			Waker: th, WakerComm: comm, WakerBorn: born,
		}}}})
	}
	is := func(step, name string, born uint64, reused ...store.Reuse) {
		t.Helper()
		if got := p.processes[9]; got.Name != name || got.Born != born || !slices.Equal(p.newReused, reused) {
			t.Errorf("%s: it is %+v, want %q; reused %v, want %v", step, got, name, p.newReused, reused)
		}
		p.newReused = nil
	}
	beginsAt(t, root, 9, 900, "last") // who has the id when the records are read
	waits(5*second, 4*second+123, main, "first")
	is("the first", "first", 400)
	waits(6*second, 4*second+123, worker, "named")
	is("a thread of it with a name of its own", "first", 400)
	waits(7*second, 6*second+777, main, "second") // nobody was asked: 6 s is not when the last one began
	is("the second", "second", 600, store.Reuse{PID: 9, At: 6*second + 777})
	waits(5*second+1, 4*second+123, main, "first")
	is("a record of the first that comes late", "second", 600)
	waits(10*second, 9*second+555, worker, "named")
	is("a thread of the last", "last", 900, store.Reuse{PID: 9, At: 9*second + 555})
	waits(11*second, 9*second+555, main, "executed")
	is("the program that it executes", "executed", 900)
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

// A tracer of a machine sees programs come and go for months.
func TestFewTracedProcessesThatEndedAreKept(t *testing.T) {
	p := newProcessTable(proc.New(t.TempDir()))
	for i := range uint32(5 * maxEnded) {
		th := event.Thread{PID: 10 + i, TID: 10 + i}
		p.process(int(th.PID), true)
		p.observe(&probe.Records{Records: event.Records{Lives: []event.Life{
			{At: later, Kind: event.LifeFirst, Thread: th, Comm: "short"},
			{At: later + 1, Kind: event.LifeExit, Thread: th, Comm: "short"},
		}}})
	}
	if n := len(p.processes); n != maxEnded || len(p.threads) != 0 || len(p.ended) > 2*maxEnded {
		t.Errorf("%d processes, %d threads, %d ends are kept", n, len(p.threads), len(p.ended))
	}
}

// The start of this process, by the clock of a recording, is between that of the machine and now.
func TestWhenThisProcessBegan(t *testing.T) {
	boot := bootTime()
	ticks, err := proc.New("").StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := newProcessTable(proc.New(""))
	now := uint64(time.Now().UnixNano())
	if at := p.began(ticks); at < boot() || at > now || now-at > uint64(time.Hour) || boot() == 0 {
		t.Errorf("it began %s ago, the machine %s ago", time.Duration(now-at), time.Duration(now-boot()))
	}
}
