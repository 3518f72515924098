package cudastub_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// Who is to blame for a fault.
const (
	nobody  = ""
	itself  = "the dispatching thread"
	sibling = "another thread"
	other   = "another process"
)

// fault is what the truth about a fault must contain.
type fault struct {
	name   string
	blames string
	calls  map[string]int64 // a step; nil: those of a healthy one
	// estimated: if a fault takes the CPU away, the victim knows only how much slower its
	// steps became, which on a virtual machine may be any number.
	estimated bool
	holder    bool
	peer      bool
	check     func(*testing.T, cudastub.Truth)
}

var faults = []fault{
	{name: "none"},
	{name: "cpu-hog", blames: other, estimated: true},
	{name: "sibling-hog", blames: sibling, estimated: true},
	{name: "throttle", estimated: true},
	{name: "lock", blames: sibling, holder: true},
	{name: "lock-io", blames: sibling, holder: true},
	{name: "pi-lock", blames: sibling, holder: true},
	{name: "gil", blames: sibling, holder: true},
	{name: "cond", blames: sibling},
	{name: "own-io", blames: itself},
	{name: "read-io", blames: itself},
	{name: "mmap-io", blames: itself, check: func(t *testing.T, truth cudastub.Truth) {
		if truth.MajorFaults < truth.FaultCount {
			t.Errorf("%d page faults read the disk", truth.MajorFaults)
		}
	}},
	{name: "mem-pressure", blames: itself},
	{name: "peer-pipe", blames: other, peer: true},
	{name: "peer-unix", blames: other, peer: true},
	{name: "peer-tcp", blames: other, peer: true},
	{name: "loader-cpu", blames: other, peer: true},
	{name: "loader-io", blames: other, peer: true},
	{name: "loader-hog", blames: other, estimated: true, check: func(t *testing.T, truth cudastub.Truth) {
		if truth.PeerComm != "data-worker" || truth.PeerPID == truth.CulpritPID {
			t.Errorf("worker %s (%d), hog %s (%d)", truth.PeerComm, truth.PeerPID, truth.CulpritComm, truth.CulpritPID)
		}
	}},
	{name: "loader-crowd", blames: other, check: func(t *testing.T, truth cudastub.Truth) {
		pids := slices.Compact(slices.Sorted(slices.Values(truth.CulpritPIDs)))
		if len(pids) != 4 || !slices.Contains(pids, truth.CulpritPID) || slices.Contains(pids, truth.PID) {
			t.Errorf("%d and %v are to blame", truth.CulpritPID, truth.CulpritPIDs)
		}
	}},
	{name: "gpu"},
	{name: "gpu-trend"},
	{name: "gpu-peer", blames: other},
	{name: "driver-cpu", blames: itself},
	{name: "cold", blames: itself},
	{name: "pageable", blames: itself, calls: map[string]int64{"cudaLaunchKernel": 20, "cudaStreamSynchronize": 1}},
	{name: "alloc-churn", blames: itself, check: func(t *testing.T, truth cudastub.Truth) {
		if kept := truth.Calls["cudaMalloc"] - truth.Calls["cudaFree"]; kept != truth.FaultCount {
			t.Errorf("%d allocations kept in %d steps", kept, truth.FaultCount)
		}
	}},
	{name: "leak", blames: itself, check: func(t *testing.T, truth cudastub.Truth) {
		if truth.LeakedBytes < truth.FaultCount*128<<10 || truth.InjectedNS != 0 {
			t.Errorf("%d bytes and %d ns lost in %d steps", truth.LeakedBytes, truth.InjectedNS, truth.FaultCount)
		}
	}},
	{name: "implicit-sync", blames: itself, check: func(t *testing.T, truth cudastub.Truth) {
		if want := truth.Steps + 39*truth.FaultCount; truth.Calls["cudaMemcpy"] != want {
			t.Errorf("%d small copies, want %d", truth.Calls["cudaMemcpy"], want)
		}
	}},
	{
		name: "graph-recapture", blames: itself,
		calls: map[string]int64{"cudaGraphLaunch": 1, "cudaMemcpyAsync": 1, "cudaStreamSynchronize": 1},
		check: func(t *testing.T, truth cudastub.Truth) {
			for op, want := range map[string]int64{
				"cudaStreamBeginCapture": truth.FaultCount + 1, "cudaStreamEndCapture": truth.FaultCount + 1,
				"cudaGraphInstantiate": truth.FaultCount + 1, "cudaGraphExecDestroy": truth.FaultCount,
				"cudaLaunchKernel": 20 * (truth.FaultCount + 1),
			} {
				if truth.Calls[op] != want {
					t.Errorf("%d calls of %s, want %d", truth.Calls[op], op, want)
				}
			}
		},
	},
	{
		name: "graph-pool", blames: itself,
		calls: map[string]int64{"cudaGraphLaunch": 1, "cudaStreamSynchronize": 1},
		check: func(t *testing.T, truth cudastub.Truth) {
			if n := truth.Calls["cudaGraphInstantiate"]; n != truth.FaultCount+1 || truth.Calls["cudaGraphExecDestroy"] != 0 {
				t.Errorf("%d graphs made and %d destroyed, want %d and none", n, truth.Calls["cudaGraphExecDestroy"],
					truth.FaultCount+1)
			}
		},
	},
	{
		name: "graph-lazy", blames: itself, calls: map[string]int64{"cudaStreamSynchronize": 1},
		check: func(t *testing.T, truth cudastub.Truth) {
			if n := truth.Calls["cudaStreamEndCapture"]; n != truth.FaultCount || truth.Calls["cudaMalloc"] != n ||
				truth.Calls["cudaGraphInstantiate"] != 0 {
				t.Errorf("%d captures, %d allocations in them, %d invalidated", n, truth.Calls["cudaMalloc"], truth.FaultCount)
			}
		},
	},
	{
		name: "graph-eager", blames: itself, calls: map[string]int64{"cudaStreamSynchronize": 1},
		check: func(t *testing.T, truth cudastub.Truth) {
			if n := truth.Calls["cudaGraphLaunch"]; n != truth.Steps-truth.FaultCount ||
				truth.Calls["cudaLaunchKernel"] != 20*(truth.FaultCount+1) {
				t.Errorf("%d of %d steps with a graph, %d without", n, truth.Steps, truth.FaultCount)
			}
		},
	},
	{
		name: "launch-bound", blames: itself, calls: map[string]int64{"cudaMemcpyAsync": 1, "cudaStreamSynchronize": 1},
		check: func(t *testing.T, truth cudastub.Truth) {
			if want := 20*truth.Steps + 380*truth.FaultCount; truth.Calls["cudaLaunchKernel"] != want {
				t.Errorf("%d launches, want %d", truth.Calls["cudaLaunchKernel"], want)
			}
		},
	},
	{name: "idle-server"},
}

func checkCalls(t *testing.T, truth cudastub.Truth, perStep map[string]int64) {
	t.Helper()
	if truth.Steps <= 0 || truth.Comm != "trainer" || truth.TID != truth.PID {
		t.Errorf("odd truth: %+v", truth)
	}
	if perStep == nil {
		perStep = map[string]int64{"cudaLaunchKernel": 20, "cudaMemcpyAsync": 1, "cudaStreamSynchronize": 1}
	}
	for op, n := range perStep {
		if truth.Calls[op] != n*truth.Steps {
			t.Errorf("%d calls of %s in %d steps, want %d a step", truth.Calls[op], op, truth.Steps, n)
		}
	}
}

func checkInjection(t *testing.T, truth cudastub.Truth, in cudastub.Injection, f fault) {
	t.Helper()
	if in.Fault != f.name {
		t.Errorf("fault %q, want %q", in.Fault, f.name)
	}
	healthy := f.name == "none" || f.name == "idle-server"
	timeless := healthy || f.estimated || f.name == "leak"
	if !healthy && in.FaultCount <= 0 || !timeless && in.InjectedNS <= 0 {
		t.Errorf("nothing injected: %+v", in)
	}
	blamed := nobody
	switch {
	case in.CulpritPID == 0 && in.CulpritTID == 0 && in.CulpritComm == "":
	case in.CulpritTID == truth.TID && in.CulpritComm == truth.Comm:
		blamed = itself
	case in.CulpritPID == truth.PID && in.CulpritTID != truth.TID && in.CulpritComm != "":
		blamed = sibling
	case in.CulpritPID != truth.PID && in.CulpritTID == in.CulpritPID && in.CulpritComm != "":
		blamed = other
	}
	if blamed != f.blames {
		t.Errorf("blamed is %s, want %s: %+v", blamed, f.blames, in)
	}
	if holds := in.HolderTID != 0 && in.HolderTID == in.CulpritTID && in.HolderPID == truth.PID; holds != f.holder {
		t.Errorf("holder %q (%d)", in.HolderComm, in.HolderTID)
	}
	if waitsFor := in.PeerPID != 0 && in.PeerPID == in.CulpritPID && in.PeerComm == in.CulpritComm; waitsFor != f.peer {
		t.Errorf("peer %q (%d)", in.PeerComm, in.PeerPID)
	}
}

func TestTwoFaultsAtOnceAreDistinguished(t *testing.T) {
	files := extract(t)
	byName := map[string]fault{}
	for _, f := range faults {
		byName[f.name] = f
	}
	for _, pair := range [][2]string{
		{"lock", "own-io"},
		{"cpu-hog", "gpu"},
		{"peer-pipe", "driver-cpu"},
		{"gil", "mmap-io"},
	} {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			truth := loop(t, files, "--fault", pair[0], "--also", pair[1], "--seconds", "0.9", "--start-after", "0.2",
				"--period-ms", "200", "--fault-ms", "20", "--jitter", "20", "--culprit", "first-one")
			checkCalls(t, truth, nil)
			checkInjection(t, truth, truth.Injection, byName[pair[0]])
			if truth.CulpritComm != "first-one" {
				t.Errorf("--culprit names %q", truth.CulpritComm)
			}
			if truth.Also == nil {
				t.Fatal("nothing is said of the second fault")
			}
			checkInjection(t, truth, *truth.Also, byName[pair[1]])
			checkNothingLeft(t, truth)
		})
	}
}

func TestFaultsThatNeedTheSameThingAreRefused(t *testing.T) {
	files := extract(t)
	for _, pair := range [][2]string{{"lock", "lock-io"}, {"gpu", "gpu-trend"}, {"cond", "cond"}, {"launch-bound", "gpu"}} {
		if truth, err := files.Loop(t.Context(), "--fault", pair[0], "--also", pair[1], "--seconds", "0.1"); err == nil {
			t.Errorf("%s and %s ran: %+v", pair[0], pair[1], truth)
		}
	}
}

func TestAStepWaitsAsOftenAsItIsTold(t *testing.T) {
	truth := loop(t, extract(t), "--seconds", "0.3", "--syncs", "3", "--sync-us", "100")
	if n, got := truth.Steps, truth.Calls; n == 0 || got["cudaStreamSynchronize"] != 3*n || got["cudaLaunchKernel"] != 20*n {
		t.Errorf("calls in %d steps: %v", n, got)
	}
}

func TestEachDispatcherTellsItsOwnTruth(t *testing.T) {
	files := extract(t)
	truth := loop(t, files, "--seconds", "0.5", "--dispatchers", "2", "--cpus", "1", "--pin", "none", "--host-us", "2000")
	if len(truth.Threads) != 2 || truth.Threads[0].TID != truth.TID || truth.Threads[1].TID == truth.TID ||
		truth.Threads[0].Steps+truth.Threads[1].Steps != truth.Steps {
		t.Fatalf("threads of %d steps: %+v", truth.Steps, truth.Threads)
	}
	cpu := int64(0)
	for _, x := range truth.Threads {
		cpu += x.CPUNS
		if x.CPUNS <= 0 || x.RunnableNS <= 0 {
			t.Errorf("on one CPU, a thread of two was not without it: %+v", x)
		}
	}
	if float64(cpu) > 1.05e9*truth.Seconds {
		t.Errorf("%d ns on one CPU in %g s", cpu, truth.Seconds)
	}
	if _, err := files.Loop(t.Context(), "--cpus", "100000"); !errors.Is(err, cudastub.ErrUnsupported) {
		t.Errorf("100000 CPUs: %v", err)
	}
}

func TestPriorityOfTheHogIsTakenOrRefused(t *testing.T) {
	files := extract(t)
	for _, priority := range [][]string{{"--nice", "10"}, {"--nice", "-5"}, {"--rt", "5"}} {
		t.Run(priority[0]+priority[1], func(t *testing.T) {
			truth := loop(t, files, append(priority, "--fault", "cpu-hog", "--seconds", "0.5", "--start-after", "0.1",
				"--duty", "20", "--hogs", "1", "--period-ms", "50")...)
			checkInjection(t, truth, truth.Injection, fault{name: "cpu-hog", blames: other, estimated: true})
		})
	}
}
