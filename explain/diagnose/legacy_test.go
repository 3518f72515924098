package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/store"
)

const ms = 1_000_000

var old = event.Thread{PID: 100, TID: 100}

func opOf(t *testing.T, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

// legacyInput has 100 calls of 10 us, one each millisecond; calls that wait for the GPU take 60
// us, because 10 us is a wait with nothing queued. Every tenth call takes slow ns longer, and off
// ns of that off the CPU.
func legacyInput(op event.Op, slow, off uint64, sw map[event.Thread]store.Switches) *diagnose.Input {
	const t0 = 1_000_000_000
	usual := uint64(10_000)
	if op.Role() == event.RoleSync {
		usual = 60_000
	}
	o := store.OpStat{Thread: old, Op: op, First: t0, Hist: &stats.Histogram{}}
	in := &diagnose.Input{
		First: 1, // long before the window, so that no call counts as a first one
		Node:  "n", Tables: store.Tables{Processes: []store.Process{{PID: 100, Name: "python3", Node: "n", Rank: -1}}},
		Legacy: &store.Legacy{
			Version: "0.8", Switches: sw,
			IDs: map[store.CallKey]string{{Thread: old, Start: t0 + 9*ms}: "n:42"},
		},
	}
	at := uint64(t0)
	for i := range 100 {
		c := event.Call{Start: at, Duration: usual, Thread: old, Op: op, GPU: event.NoGPU}
		if i%10 == 9 {
			c.Duration += slow
			c.Ledger.NS[event.Other] = off
			in.Calls = append(in.Calls, c)
		}
		o.Calls++
		o.SumNS += c.Duration
		o.MaxNS = max(o.MaxNS, c.Duration)
		o.Last = c.End()
		o.Hist.Add(c.Duration)
		at += max(ms, c.Duration+usual)
	}
	in.Ops = []store.OpStat{o}
	return in
}

func seen(unlisted uint64) map[event.Thread]store.Switches {
	return map[event.Thread]store.Switches{old: {From: 1, To: 1 << 62, Counted: true, Unlisted: unlisted}}
}

func TestEarlierRecordingsProveOnlyWhatWasRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		off   uint64
		sw    map[event.Thread]store.Switches
		cause string // of the chain, "" if it is not explained
		why   string
	}{
		"on a CPU, switches recorded":          {0, seen(0), event.CauseDriverCPU, ""},
		"some time counted but not listed":     {0, seen(1 * ms), event.CauseDriverCPU, ""},
		"switches of the thread not recorded":  {0, nil, "", "context switches were not recorded then"},
		"most switches counted but not listed": {0, seen(40 * ms), "", "context switches were not recorded then"},
		"before the first switch": {
			0,
			map[event.Thread]store.Switches{old: {From: 5e9, To: 6e9}},
			"",
			"context switches were not recorded then",
		},
		"within the recorded switches": {
			0,
			map[event.Thread]store.Switches{old: {From: 1.1e9, To: 6e9}},
			event.CauseDriverCPU, "",
		},
		"off the CPU for a reason unknown": {50 * ms, seen(0), "", "whether it was preempted or waited"},
	} {
		t.Run(name, func(t *testing.T) {
			r := diagnose.Diagnose(legacyInput(opOf(t, "cudaLaunchKernel"), 50*ms, tc.off, tc.sw))
			switch {
			case tc.cause == "":
				if len(r.Chains) != 0 || len(r.NotExplained) != 1 || !strings.Contains(r.NotExplained[0].Why, tc.why) {
					t.Errorf("chains %+v, not explained %+v", r.Chains, r.NotExplained)
				}
			case len(r.Chains) != 1 || r.Chains[0].Cause.Kind != tc.cause:
				t.Errorf("chains %+v, not explained %+v", r.Chains, r.NotExplained)
			case r.Chains[0].Evidence.EventIDs[0] != "n:42":
				t.Errorf("evidence %v", r.Chains[0].Evidence.EventIDs)
			}
		})
	}
}

// In a recording in the current format, a sync call off the CPU waits for the GPU. In an earlier
// one the thread may also have been preempted.
func TestSyncCallsOfEarlierRecordingsAreNotAttributedToTheGPU(t *testing.T) {
	in := legacyInput(opOf(t, "cudaStreamSynchronize"), 50*ms, 50*ms, seen(0))
	if r := diagnose.Diagnose(in); len(r.Chains) != 0 || len(r.NotExplained) != 1 {
		t.Errorf("chains %+v", r.Chains)
	}
	in.Legacy = nil
	if r := diagnose.Diagnose(in); len(r.Chains) != 1 || r.Chains[0].Cause.Kind != event.CauseGPUWait {
		t.Errorf("of ours: %+v", r.Chains)
	}
}

// Legacy recordings have no series.
func TestLaunchBoundIsFoundWithoutASeries(t *testing.T) {
	in := diagnosetest.InputOf(read(t, "testdata/launch_bound.txtar"))
	in.Series = nil
	r := diagnose.Diagnose(in)
	if len(r.Chains) != 1 || r.Chains[0].Cause.Kind != event.CauseLaunchBound || r.Chains[0].LostPct < 60 {
		t.Errorf("%s: %+v", r.Verdict, r.Chains)
	}
}

func TestEarlierRecordingWithoutFindingsSaysWhatWasChecked(t *testing.T) {
	r := diagnose.Diagnose(legacyInput(opOf(t, "cudaLaunchKernel"), 0, 0, seen(0)))
	const want = "nothing found: 100 calls in 99 ms checked; no cause took more than 0.0 % of a thread's time inside " +
		"them, and the time between them was not recorded"
	if r.Verdict != want {
		t.Errorf("%q", r.Verdict)
	}
}

func TestStoredChainsAreComparedWithTheData(t *testing.T) {
	launch := opOf(t, "cudaLaunchKernel")
	chain := store.StoredChain{ID: "chain-001", At: 2e9, Node: "n", Severity: "HIGH", Op: "cudaLaunchKernel", Call: launch}
	for name, tc := range map[string]struct {
		slow, off uint64
		sw        map[event.Thread]store.Switches
		change    func(*store.StoredChain)
		want      string
	}{
		"covered by nothing": {
			5 * ms, 0, seen(0), nil,
			"10 slow cudaLaunchKernel calls took 50 ms beyond the median; the calling thread's own off-CPU time covers 0 % of it",
		},
		"covered in part": {
			5 * ms, 1 * ms, seen(0), nil,
			"10 slow cudaLaunchKernel calls took 50 ms beyond the median; " +
				"the calling thread's own off-CPU time covers 20 % of it",
		},
		"more off the CPU than beyond the median": {
			5 * ms, 6 * ms, seen(0), nil,
			"10 slow cudaLaunchKernel calls took 50 ms beyond the median; " +
				"the calling thread's own off-CPU time covers 100 % of it",
		},
		"counted without a time": {
			5 * ms, 0, seen(2 * ms), nil,
			"10 slow cudaLaunchKernel calls took 50 ms beyond the median; the calling thread's own off-CPU time covers 0 % " +
				"of it (2 ms more of such time is counted, but not when it was)",
		},
		"switches not recorded": {
			5 * ms, 0, nil, nil,
			"10 slow cudaLaunchKernel calls took 50 ms beyond the median; the context switches of the calling thread were " +
				"not recorded, so that nothing shows what held it up",
		},
		"nothing slow": {
			0, 0, seen(0), nil,
			"no cudaLaunchKernel call in the file from before it was slow: 100 calls, median 10 us, longest 10 us",
		},
		"one slow call before it": {
			5 * ms, 0, seen(0), func(c *store.StoredChain) { c.At = 1_010_000_000 },
			"1 slow cudaLaunchKernel call took 5 ms beyond the median; the calling thread's own off-CPU time covers 0 % of it",
		},
		"before the first call": {
			5 * ms, 0, seen(0), func(c *store.StoredChain) { c.At = 5e8 },
			"the file has no cudaLaunchKernel call from before it, so nothing in it supports this",
		},
		"on another node": {
			5 * ms, 0, seen(0), func(c *store.StoredChain) { c.Node = "m" },
			"the file has no cudaLaunchKernel call from before it, so nothing in it supports this",
		},
		"an operation unknown": {
			5 * ms, 0, seen(0), func(c *store.StoredChain) { c.Op, c.Call = "cuNothing", 0 },
			"the file has no cuNothing call from before it, so nothing in it supports this",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := legacyInput(launch, tc.slow, tc.off, tc.sw)
			c := chain
			if tc.change != nil {
				tc.change(&c)
			}
			in.Legacy.Chains = []store.StoredChain{c}
			r := diagnose.Diagnose(in)
			if len(r.StoredChains) != 1 || r.StoredChains[0].ID != "chain-001" || r.StoredChains[0].Recommendations == nil {
				t.Fatalf("%+v", r.StoredChains)
			}
			if got := r.StoredChains[0].Supported; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// silent is an earlier recording in which a thread makes no call for 9 s, after calls each millisecond.
func silent(t *testing.T) *diagnose.Input {
	t.Helper()
	in := legacyInput(opOf(t, "cudaLaunchKernel"), 0, 0, seen(0))
	o := &in.Ops[0]
	var calls []event.CallTime
	for i := range uint64(100) {
		calls = append(calls, event.CallTime{Start: 1_000*ms + i*ms, Duration: 10_000, Thread: old, Op: o.Op})
	}
	calls = append(calls, event.CallTime{Start: 10_100 * ms, Duration: 10_000, Thread: old, Op: o.Op})
	in.Spans, o.Last = [][]event.CallTime{calls}, 10_101*ms
	return in
}

func TestTheLongestSilenceOfAnEarlierRecordingIsTold(t *testing.T) {
	in := silent(t)
	in.OffBetween(old, 2_000*ms, 2_001*ms)
	in.OffBetween(old, 5_010*ms, 9_510*ms)
	in.Lives = []event.Life{{
		At: 5_000 * ms, Kind: event.LifeFork, Thread: event.Thread{PID: 200, TID: 200}, Parent: old,
	}}
	const want = "python3 (tid 100) made no CUDA call for 9 s from 00:00:01 UTC on: it ran for about 4.5 s and slept " +
		"4.5 s from when it forked a child (pid 200) on: own work and a wait for its child, as when code is compiled at " +
		"its first use. It left its CPU only 2 times, so that it did not compete for one; what ran was not recorded"
	if v := diagnose.Diagnose(in).Verdict; v != want {
		t.Errorf("%s", v)
	}
	contended := silent(t) // or so it may be: what it was off the CPU for is not known
	contended.OffBetween(old, 2_000*ms, 4_000*ms)
	if v := diagnose.Diagnose(contended).Verdict; !strings.Contains(v, "no CUDA call for 9 s") ||
		strings.Contains(v, "compete") {
		t.Errorf("%s", v)
	}
	waited := silent(t)
	waited.OffBetween(old, 1_100*ms, 10_000*ms) // for work, perhaps
	unseen := silent(t)
	unseen.Legacy.Switches = nil
	for name, in := range map[string]*diagnose.Input{"waited": waited, "not recorded": unseen} {
		if v := diagnose.Diagnose(in).Verdict; !strings.HasPrefix(v, "nothing found") {
			t.Errorf("%s: %s", name, v)
		}
	}
}

func TestSwitchesThatAreOnlyCountedProveNothing(t *testing.T) {
	in := legacyInput(opOf(t, "cudaLaunchKernel"), 0, 0, seen(0))
	in.Legacy.Counted = store.CountedSwitches{Switches: 191_835, NS: 50_800 * ms, Processes: 10}
	const want = "191,835 context switches of 10 processes with 50.8 s off a CPU are counted, but not when they were"
	if r := diagnose.Diagnose(in); len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Errorf("%q", r.Notes)
	}
}
