package tui

import (
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

// noon is when the second of these tests ended.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func op(name string) event.Op {
	i, ok := event.ByName(name)
	if !ok {
		panic(name)
	}
	return i.Op
}

// busy is a second of a run in which there is something to see everywhere. comm names its
// process.
func busy(comm string) *second {
	ta := live.New()
	at := uint64(noon.UnixNano())
	main, side := event.Thread{PID: 4821, TID: 4821}, event.Thread{PID: 4821, TID: 4830}
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 4821, Name: comm, Traced: true}, {PID: 77, Name: "backup"}},
		Records: event.Records{
			ThreadTimes: []event.ThreadTime{
				{At: at - 60e9, Thread: main, Comm: comm, Dispatch: true, OnCPU: 40e9},
				{At: at - 60e9, Thread: side, Comm: "saver"},
			},
			Lives: []event.Life{{At: at - 20e9, Kind: event.LifeOOM, Thread: event.Thread{PID: 77, TID: 77}}},
		},
		Memory: []event.Memory{
			{At: at, PID: 4821, LiveBytes: 12_400_000_000, LiveCount: 310, PeakBytes: 13e9, Allocs: 9200, Failed: 2},
			{At: at, PID: 4821, Space: event.PinnedMemory, LiveBytes: 268e6, LiveCount: 2, PeakBytes: 268e6, Allocs: 2},
		},
		MemorySites: []event.MemorySite{
			{PID: 4821, Op: op("cudaMalloc"), Stack: 5, LiveBytes: 9e9, LiveCount: 200},
			{PID: 4821, Op: op("cudaMalloc"), LiveBytes: 3_400_000_000, LiveCount: 110},
		},
		Snapshots:  []store.Snapshot{{At: at, CPUPct: 71, MemPct: 42, MemAvailableMB: 64 << 10, Load: 9.5}},
		GPUDevices: []store.GPUDevice{{GPU: 0, Name: "NVIDIA H100"}},
		GPUs: []store.GPUSnapshot{{
			At: at, UtilPct: 97, TempC: 61, MemMB: 12 << 10, TotalMB: 80 << 10, PowerMW: 540_000,
			ClockMHz: 1755,
		}},
		GPUMemory: []store.GPUProcess{{PID: 4821, Bytes: 12 << 30, Known: true}},
		Xids:      []store.Xid{{At: at - 30e9, GPU: 0, Code: 31}},
	}}
	b.Stacks = []event.Stack{{
		ID: 5, PID: 4821,
		Frames: []event.Frame{{Kind: event.FramePython, Symbol: "forward", File: comm + ".py", Line: 88}},
	}}
	b.HostMemory = []event.HostMemory{{PID: 4821, RSS: 5_100_000_000}}
	ta.Batch(b)
	last := event.ThreadTime{At: at, Thread: main, Comm: comm, Dispatch: true, OnCPU: 61e9}
	last.NS[event.RunQueue], last.NS[event.Futex], last.NS[event.BlockIO], last.NS[event.Ioctl] = 12e9, 15e9, 3e9, 9e9
	saver := event.ThreadTime{At: at - 15e9, Thread: side, Comm: "saver", OnCPU: 1e9}
	saver.NS[event.BlockIO], saver.NS[event.Sleep] = 20e9, 24e9
	launch := event.Call{Thread: main, Op: op("cudaLaunchKernel"), Duration: 6_000_000}
	sync := event.Call{Thread: main, Op: op("cudaStreamSynchronize"), Duration: 900_000_000}
	sync.Ledger.NS[event.Ioctl], sync.Ledger.Voluntary = 810_000_000, 3
	ta.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{
		ThreadTimes: []event.ThreadTime{last, saver},
		Calls:       []event.Call{launch, sync},
	}}})
	s := &second{picture: ta.Picture(at), status: agent.Status{
		At: noon, Elapsed: 125 * time.Second, Calls: 2_345_678, PerSecond: 20_731,
		Ops: []agent.OpStatus{
			{
				PID: 4821, Comm: comm, Op: op("cudaLaunchKernel"), Calls: 2_300_000, PerSecond: 20_000, P50: 5_370, P99: 5_860,
				Max: 3 * time.Millisecond,
			},
			{
				PID: 4821, Comm: comm, Op: op("cudaStreamSynchronize"), Calls: 45_000, PerSecond: 731, P50: 591_000, P99: 8_700_000,
				Max: 900 * time.Millisecond, Errors: 3,
			},
			{
				PID: 99, Comm: "infer", Op: op("cudaMemcpyAsync"), Calls: 678, PerSecond: 0.5, P50: 20_600, P99: 46_800,
				Max: 561_000,
			},
		},
		InFlight: []event.InFlight{{
			At: at, Start: at - 5e9, Thread: side, Comm: "saver", Op: op("cudaMemcpy"), Doing: event.Blocked, Class: event.Futex,
			Holder: main, HolderComm: comm, OnCPU: 1e8, NS: [event.NumClasses]uint64{event.Futex: 49e8},
		}},
		Where: []string{"save.py:9 in flush"}, Processes: []agent.Traced{{PID: 99, Comm: "infer"}, {PID: 4821, Comm: comm}},
		Losses: []event.Loss{{Kind: event.LostSwitch, Count: 12}, {Kind: event.LostCall, Count: 1234}},
		Fill:   0.07, CPU: 0.031, RSS: 78e6, DBBytes: 5e6,
	}}
	var f live.Findings
	gone, r := found(comm)
	f.Add(gone, noon.Add(-2*time.Minute))
	f.Add(r, noon)
	s.findings, s.report, s.reported = f.List()
	return s
}

// found is what was said earlier, and what is now.
func found(comm string) (gone, now *report.Report) {
	slow := report.Chain{
		ID: "lock", Severity: "HIGH", Summary: comm +
			" lost 24 % of its time waiting for a lock that its thread saver (tid 4830) held while it waited for the disk",
		ExplainedPct: 96, LostNS: 1_200_000_000, LostPct: 24,
		Effect: report.Effect{
			Op: "between calls", Process: comm, PID: 4821, TID: 4821, Calls: 106, SlowCalls: 20,
			P50NS: 604_000, P99NS: 82_300_000, MaxNS: 82_300_000,
		},
		Cause: report.Cause{Kind: "block_io", Process: comm, PID: 4821, TID: 4830, Detail: "saver waited for the disk"},
		Path: []report.Step{
			{Layer: "HOST", Process: comm, PID: 4821, TID: 4821, State: "blocked", On: "lock 0x7f00", NS: 1_200_000_000},
			{
				Layer: "HOST", Process: comm, PID: 4821, TID: 4830, Thread: "saver", State: "blocked", On: "the disk",
				NS: 1_100_000_000,
			},
		},
		Evidence:        report.Evidence{EventIDs: []string{"gpu-7:17"}, Sample: 20},
		WhatIf:          &report.WhatIf{NowNS: 1_230_000, StepNS: 950_000, LowNS: 908_000, HighNS: 993_000, FasterBy: 30},
		PerStep:         &report.PerStep{LostNS: 283_000, Steps: 4053, Affected: 20},
		Recommendations: []string{"write the checkpoint without the lock"},
	}
	past := slow
	past.ID, past.Severity, past.Summary = "cpu", "MEDIUM",
		comm+" lost 4 % of its time runnable while backup (pid 77) had its CPU"
	window := report.Window{FromNS: uint64(noon.Add(-5 * time.Second).UnixNano()), ToNS: uint64(noon.UnixNano())}
	gone = &report.Report{Chains: []report.Chain{past}}
	now = &report.Report{
		Verdict: slow.Summary, Window: window, Chains: []report.Chain{slow},
		NotExplained: []report.NotExplained{{
			Effect: report.Effect{Op: "cudaMemcpyAsync", Process: "infer", PID: 99, TID: 99},
			LostNS: 3e8, LostPct: 6, Why: "the waits are too short to tell",
		}},
	}
	return gone, now
}

// shown is a view of that second, of a size.
func shown(o Options, width, height int, s *second) *Model {
	m := NewModel(o)
	m.width, m.height = width, height
	m.Update(startedMsg("tracing " + "engine (4821)"))
	m.Update(secondMsg(s))
	return m
}

// recordedOptions are the options of a run that is recorded.
func recordedOptions() Options {
	return Options{Node: "gpu-7", Path: "/root/.ingero/ingero.db", NoNodes: "No other nodes."}
}
