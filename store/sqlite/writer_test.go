package sqlite_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

const t0 = uint64(1_735_689_600_000_000_000)

func opOf(t testing.TB, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

// clock stands still at t0.
func clock() time.Time { return time.Unix(0, int64(t0)) }

func create(t testing.TB, o sqlite.Options) (*sqlite.Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	return open(t, path, o), path
}

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Writer {
	t.Helper()
	if o.Now == nil {
		o.Now = clock
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Session.Node == "" {
		o.Session.Node = "gpu-node-01"
	}
	w, err := storetest.OpenWriter(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reader(t testing.TB, path string) *sqlite.Reader {
	t.Helper()
	r, err := sqlite.OpenReader(path)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func allCalls(t testing.TB, r *sqlite.Reader) (calls []event.Call) {
	t.Helper()
	must(t, r.Calls(t.Context(), store.Window{}, func(c *event.Call) bool { calls = append(calls, *c); return true }))
	return calls
}

var engine = event.Thread{PID: 100, TID: 101}

func fullBatch(t testing.TB) *store.Batch {
	launch, sync := opOf(t, "cudaLaunchKernel"), opOf(t, "cudaStreamSynchronize")
	ledger := event.Ledger{Voluntary: 3, Involuntary: 1}
	for c := range ledger.NS {
		ledger.NS[c] = uint64(60_000 + c)
	}
	kernel := []uint64{0xffffffff81000001, 0xffffffff81000002}
	b := &store.Batch{Tables: store.Tables{
		Records: event.Records{
			Calls: []event.Call{
				{
					Start: t0 + 10, Duration: 5000, Thread: engine, Op: launch, GPU: event.NoGPU,
					Args: [4]uint64{math.MaxUint64, 2, 3, 4}, Stack: 77,
				},
				{
					Start: t0 + 9000, Duration: 900_000, Thread: engine, Op: sync, Depth: 1, GPU: 1, Ret: 700, Ledger: ledger,
					Stack: math.MaxUint64,
				},
			},
			Gaps: []event.Gap{{Start: t0 + 6000, Duration: 2000, Thread: engine, Next: sync, Ledger: ledger}},
			OffCPU: []event.OffCPU{{
				Start: t0 + 10_000, Duration: 800_000, RunQueue: 300_000, Thread: engine, Comm: "engine", Op: sync,
				Class: event.Futex, Syscall: 202, State: 1, Dispatch: true, Followed: true, Futex: math.MaxUint64 - 5, Holder: 55,
				Inode: 9,
				Waker: event.Thread{PID: 5, TID: 6}, WakerComm: "waker", WakerFutex: 11, WakerSyscall: 0, OutCPU: 1, InCPU: 3,
				Culprits: []event.Culprit{
					{Thread: event.Thread{PID: 8, TID: 9}, Comm: "hog", NS: 200},
					{Thread: event.Thread{PID: 8, TID: 10}, Comm: "hog2", NS: 100},
				},
				IdleNS: 44, Kernel: kernel,
			}, {
				Start: t0 + 15_000_000, Duration: 700_000, Thread: engine, Comm: "engine", Class: event.Network, Syscall: 45,
				WakerSyscall: -1, Inode: 4,
				Socket: event.Socket{
					Kind: event.SocketTCP, LocalPort: 40000, RemotePort: 5432,
					Remote: [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 7},
				},
			}, {
				Start: t0 + 16_000_000, Duration: 700_000, Thread: engine, Comm: "engine", Class: event.Network, Syscall: 45,
				WakerSyscall: -1,
				Socket:       event.Socket{Kind: event.SocketUnix, Peer: 77, Bound: true},
			}, {
				Start: t0 + 20_000_000, Duration: 100_000, Thread: engine, Comm: "engine", Class: event.RunQueue, Syscall: -1,
				WakerSyscall: -1,
			}},
			ThreadTimes: []event.ThreadTime{{
				At: t0 + 500, Thread: engine, Comm: "engine", OnCPU: 5, NS: ledger.NS, Runtime: 6, Kernel: 4,
				Dispatch: true,
			}},
			Lives: []event.Life{
				{At: t0 + 1, Kind: event.LifeFork, Thread: event.Thread{PID: 100, TID: 102}, Parent: engine, Comm: "child"},
				{At: t0 + 2, Kind: event.LifeUnfinished, Thread: engine, Comm: "engine", Op: sync, Duration: 12},
				{
					At: t0 + 3, Kind: event.LifeOOM, Thread: event.Thread{PID: 8, TID: 8}, Parent: engine, Comm: "hog",
					Op: opOf(t, "oom_kill"),
				},
			},
			Reclaims: []event.Reclaim{{
				Start: t0 + 700, Duration: 90_000, NS: 60_000, Thread: engine, Kind: event.ReclaimCgroup,
				Parts: 3,
			}},
			Marks: marksOf(t, engine, t0+800),
			CodeSamples: []event.CodeSample{
				{At: t0 + 900, Thread: engine, Comm: "engine", Op: sync, Syscall: 0, Stack: 77},
				{At: t0 + 20_900, Thread: engine, Comm: "engine", Syscall: -1},
				{At: t0 + 21_900, Thread: engine, Comm: "engine", Syscall: 7, Waits: true},
			},
		},
		Processes: []store.Process{{
			PID: 100, Parent: 1, Name: "engine", Command: "engine --x", Cgroup: "/a/b", Rank: 3,
			LocalRank: -1, WorldSize: 8, Traced: true, Framework: "PyTorch", Owner: owner.Owner{
				CgroupID: 77, Container: "1a2b", Runtime: "containerd", PodUID: "u-1", Namespace: "ml", Pod: "train-0",
				PodContainer: "worker",
				SlurmJob:     "4711", SlurmStep: "batch", Unit: "x.service", NSPID: 7,
			},
		}},
		Kernels: []store.Kernel{{
			PID: 100, Func: 1<<64 - 1, Name: "softmax<float>", Symbol: "_Z7softmaxIfEvPT_",
			Source: store.KernelRegistered,
		}},
		Threads: []store.ThreadInfo{{Thread: engine, Comm: "engine", Dispatch: true}},
		Libraries: []store.Library{
			{
				At: t0 + 3, PID: 100, Name: "libcudart.so.12", Path: "/cuda/lib/libcudart.so.12.4.127", Version: "12.4.127",
				BuildID: "0123abcd", Size: 707_904,
			},
			{At: t0 + 4, PID: 100, Name: "libtorch.so", Path: "/venv/torch/lib/libtorch.so", Size: 1},
			{At: t0 + 5, PID: 200, Name: "libcuda.so.1", Path: "/lib/libcuda.so.1", Version: "1"},
		},
		Throttles: []store.Throttle{{
			At: t0 + 1_000_000_000, Cgroup: "/a/b", Periods: 3, NS: 1234, QuotaUS: 20_000,
			PeriodUS: 100_000, Version: 1,
		}},
		InFlight: []event.InFlight{
			{
				At: t0 + 9e6, Start: t0 + 1e6, Thread: engine, Comm: "engine", Op: sync, Inner: sync + 1, GPU: 1,
				Args:  [event.NumArgs]uint64{7, 0, 0, math.MaxUint64},
				Doing: event.Blocked, Since: t0 + 2e6, Class: event.Futex, Futex: math.MaxUint64 - 5,
				Holder: event.Thread{PID: 100, TID: 105}, HolderComm: "hold",
				Syscall: 202, OnCPU: 4, NS: ledger.NS, Stack: 77, Kernel: kernel,
			},
			{
				At: t0 + 9e6, Start: t0 + 1e6, Thread: event.Thread{PID: 100, TID: 105}, Comm: "hold", GPU: event.NoGPU,
				Doing: event.Blocked, Class: event.Pipe, Syscall: 0, File: "/tmp/fifo", Inode: 3,
			},
			{
				At: t0 + 9e6, Start: t0 + 3e6, End: t0 + 10e6, Thread: engine, Comm: "engine", Op: sync, GPU: event.NoGPU,
				Doing: event.Running, Syscall: -1, Outcome: event.Returned,
			},
			{
				At: t0 + 9e6, Start: t0 + 4e6, Thread: engine, Comm: "engine", GPU: event.NoGPU, Silent: true, Stuck: true,
				Doing: event.Blocked, Class: event.Pipe, Syscall: 0, File: "/tmp/fifo", Inode: 3,
				Peer: event.Thread{PID: 100, TID: 105}, PeerComm: "hold",
			},
		},
		Limits: []store.MemoryLimit{{PID: 100, Cgroup: "/m", Bytes: 1 << 30}},
		Settings: []store.Setting{
			{At: t0, Name: "clock_source", Value: "tsc"},
			{At: t0 + 1, PID: engine.PID, Name: "OMP_NUM_THREADS", Value: "8"},
			{At: t0 + 2, PID: engine.PID, Name: "OMP_NUM_THREADS"},
		},
		Scheduling: []store.Scheduling{{Thread: engine, Policy: store.PolicyFIFO, Nice: -20, Realtime: 99, CPUs: "0-3,8"}},
		Snapshots: []store.Snapshot{{
			At: t0, CPUs: store.NewCPUBusy(map[int]float64{0: 0, 2: 99.6}), CPUPct: 12.5,
			MemPct: 50, MemAvailableMB: 1000, SwapMB: 1, SwapIn: 4096, SwapOut: 8192, Load: 0.5,
			Pressure: store.Pressure{CPU: 1.5, Memory: 2, MemoryFull: 1, IO: 30, IOFull: 20},
		}},
		GPUs: []store.GPUSnapshot{
			{
				At: t0 + 5, GPU: 1, TempC: 84, ClockMHz: 1200, MaxMHz: 1980, UtilPct: 97, Reasons: store.ThrottleHWThermal,
				MemMB: 70_000, TotalMB: 81_559,
			},
			{At: t0 + 6},
			{
				At: t0 + 7, GPU: 2, TempC: 1, ClockMHz: 2, MaxMHz: 3, UtilPct: 4, Reasons: 5, MemMB: 6, TotalMB: 7, MemUtilPct: 8,
				MemClockMHz: 9,
				PowerMW:     10, PowerLimitMW: 11,
				ECC: store.ECCErrors{Corrected: 12, Uncorrected: 13, CorrectedEver: 14, UncorrectedEver: 15}, MIG: true,
			},
			{At: t0 + 8, GPU: 3, Unknown: 1<<store.NumGPUColumns - 1},
		},
		GPUClocks: []store.GPUClockChange{
			{At: t0 + 5, GPU: 1, FromMHz: 1980, ToMHz: 1200, FromReasons: 1, ToReasons: store.ThrottleHWThermal},
			{At: t0 + 6, FromMHz: 345, ToMHz: 1980, ReasonsUnknown: true},
			{At: t0 + 7, GPU: 2, ToReasons: store.ThrottlePowerCap},
		},
		GPUDevices: []store.GPUDevice{{
			GPU: 1, Name: "NVIDIA H100", UUID: "GPU-1", BusID: "00000000:01:00.0",
			Driver: "550.54.15", Node: 1,
		}, {GPU: 2, Name: "NVIDIA H100", Driver: "550.54.15", Node: -1}},
		GPUMemory: []store.GPUProcess{
			{At: t0 + 5, GPU: 1, PID: 100, Bytes: 5 << 30, Known: true},
			{At: t0 + 5, GPU: 1, PID: 200},
			{At: t0 + 6, GPU: 1, PID: 100, Known: true},
		},
		Labels: []event.Label{
			{
				Arrived: t0 + 8, Since: t0 + 5, PID: 100, StartTime: 7, Key: "step", Value: "1",
				Sender: event.LabelSender{PID: 101, UID: 1000, GID: 1001},
			},
			{Arrived: t0 + 8, Since: t0 + 6000, Until: t0 + 9500, PID: 100, StartTime: 7, Key: "phase", Value: "forward"},
			{Arrived: t0 + 8000, Since: t0 + 8000, PID: 100, StartTime: 7, Key: "step", Value: "2"},
			{Arrived: t0 + 9200, Since: t0 + 9100, PID: 100, StartTime: 7},
		},
		Xids: []store.Xid{{At: t0 + 5, GPU: 1, Code: 79}, {At: t0 + 6, GPU: -1, Code: 9999}},
		RankEvents: []store.RankEvent{
			{
				At: t0 + 5, Type: "straggler_state", ID: "0f", PID: 100, Rank: 5, Ranks: 8, Cohort: "00000000000000aa",
				Cluster: "east", Mode: "fleet", Since: t0 + 1, OwnNS: 31e6, PeerNS: 25e6, StepNS: 200e6, Cause: "block_io",
				Culprit: "wal (process 7)", CauseNS: 6e6, Explained: 0.9, Summary: "rank 5 of 8 is slower than its peers",
			},
			{At: t0 + 6, Type: "straggler_resolved", ID: "0f", PID: 100, Rank: 5, Resolved: true, Summary: "it ended"},
			{At: t0 + 7, Type: "cohort_slow", ID: "10", Rank: -1, Summary: "all ranks together: cohort slow"},
		},
		RankSteps: []store.RankSteps{
			{
				At: t0 + 9, PID: 100, Rank: 5, Ranks: 8, Comm: 0xfedcba9876543210, Every: 3, Key: 0xab, Skipped: 4, Pairs: 2,
				Spare: true, Entered: 21, OpenNS: 7, Waits: [event.NumClasses]uint64{event.BlockIO: 6e6, event.Futex: 5},
				Steps: []store.RankStep{
					{Seq: 6, End: t0 + 7, OwnNS: 31e6, WaitNS: 9e6, GPUNS: 1e6, Work: 40, Clock: 0.875, Device: true},
					{Seq: 7, End: t0 + 8, OwnNS: 33e6, WaitNS: 7e6, Work: 41.5, Clock: 0.975, Device: true},
				},
			},
			{At: t0 + 9, PID: 200, Rank: -1, Why: "it is the only rank"},
			{At: t0 + 9, PID: 300, Rank: 0, Ranks: 2, Comm: 9, Every: 1, Key: 1, Ended: true, Steps: []store.RankStep{
				{Seq: 2, End: t0 + 8, OwnNS: 5, WaitNS: 3},
			}},
		},
		Losses: []event.Loss{
			{Kind: event.LostCall, Count: 7},
			{Kind: event.LostCall, Count: 2},
			{Kind: event.LostWake, Count: 1},
		},
	}}
	b.Stacks = []event.Stack{{ID: 77, PID: 100, Cut: true, Frames: []event.Frame{
		{Kind: event.FrameNative, Addr: 1, Symbol: "launch", Module: "libtorch.so", Offset: 16, BuildID: "0123abcd"},
		{Kind: event.FramePython, Addr: 2, Symbol: "step", File: "train.py", Line: 12, Module: "python3"},
	}}}
	io := fullIO()
	b.RequestSums, b.Devices, b.Files = io.RequestSums, io.Devices, io.Files
	b.Connections, b.HostMemory, b.Pages = io.Connections, io.HostMemory, io.Pages
	b.Requests = []event.Request{{
		Start: t0 + 30_000, Duration: 700_000, Queue: 100_000, Thread: engine, Comm: "engine", Op: event.OpBlockWrite,
		Flags: event.RequestSync | event.RequestFUA, Device: 259<<20 | 3, Sector: 2048, Bytes: 65536, Inode: 9, By: 55,
		Error: 10,
	}}
	return b
}

// fullIO has every field of what the host did set, but for inodes without a path.
func fullIO() store.Tables {
	addr := func(last byte) [16]byte { return [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: last} }
	return store.Tables{
		RequestSums: []event.RequestSum{{
			At: t0, PID: 100, Comm: "engine", Op: event.OpBlockWrite, Device: 259<<20 | 3, Requests: 5, Errors: 1,
			Bytes: 1 << 20, QueueNS: 500, DeviceNS: 6000, MaxNS: 3000,
		}},
		Devices: []event.DeviceName{{Device: 259<<20 | 3, Name: "nvme0n1"}},
		Files:   []event.File{{PID: 100, Inode: 9, Path: "/data/a b.bin"}},
		Records: event.Records{Connections: []event.Connection{
			{
				At: t0 + 40_000, Duration: 5000, Thread: engine, Comm: "engine", Op: event.OpTCPRetransmit, Local: addr(1),
				LocalPort: 40000, Remote: addr(7), RemotePort: 5432,
				State: 1, Error: 110, Bytes: 1448, Retrans: 3, RTT: 2000, MinRTT: 150,
			},
			{At: t0 + 41_000, Op: event.OpTCPConnectFailed, Local: addr(1), Remote: addr(8), RemotePort: 80},
		}},
		HostMemory: []event.HostMemory{{
			At: t0 + 50_000, PID: 100, MinorFaults: 1, MajorFaults: 2, RSS: 3, Swap: 4, Private: 5,
		}},
		Pages: []event.PageSum{
			{At: t0 + 60_000, PID: 100, Comm: "engine", Allocations: 5, Pages: 6, Bytes: 24576, NoWaitBytes: 4096, Failed: 1},
			{At: t0 + 60_001, Allocations: 1, Pages: 1, Bytes: 4096},
		},
	}
}

func TestEverythingWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	session := store.Session{
		Started: t0, Node: "gpu-node-01", Host: "h", Kernel: "6.1", Arch: "amd64", CPUs: 4,
		Memory: 1 << 34, Version: "1", Backend: "multi", Flags: "--x", PID: 4711, Nodes: []string{"0-1", "2-3"},
	}
	w, path := create(t, sqlite.Options{Session: session})
	b := fullBatch(t)
	must(t, w.Write(b))
	must(t, w.Close())
	r, ctx := reader(t, path), t.Context()
	check := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	check("calls", b.Calls, allCalls(t, r))
	var notable []event.Call
	must(t, r.NotableCalls(ctx, store.Window{}, func(c *event.Call) bool { notable = append(notable, *c); return true }))
	check("notable calls", b.Calls, notable)
	var gaps []event.Gap
	must(t, r.NotableGaps(ctx, store.Window{}, func(g *event.Gap) bool { gaps = append(gaps, *g); return true }))
	check("gaps", b.Gaps, gaps)
	var off []event.OffCPU
	must(t, r.OffCPU(ctx, store.Window{}, func(o *event.OffCPU) bool {
		c := *o
		c.Culprits = slices.Clone(o.Culprits)
		if len(c.Culprits) == 0 {
			c.Culprits = nil
		}
		off = append(off, c)
		return true
	}))
	check("off CPU", b.OffCPU, off)
	var times []event.ThreadTime
	must(t, r.ThreadTimes(ctx, store.Window{}, func(x *event.ThreadTime) bool { times = append(times, *x); return true }))
	check("thread times", b.ThreadTimes, times)
	lives, err := store.List[event.Life](ctx, r, store.Window{})
	must(t, err)
	check("lives", b.Lives, lives)
	throttles, err := store.List[store.Throttle](ctx, r, store.Window{})
	must(t, err)
	check("throttles", b.Throttles, throttles)
	snapshots, err := store.List[store.Snapshot](ctx, r, store.Window{})
	must(t, err)
	check("snapshots", b.Snapshots, snapshots)
	gpus, err := store.List[store.GPUSnapshot](ctx, r, store.Window{})
	must(t, err)
	check("GPU snapshots", b.GPUs, gpus)
	devices, err := store.List[store.GPUDevice](ctx, r, store.Window{})
	must(t, err)
	check("GPUs", b.GPUDevices, devices)
	processes, err := store.List[store.GPUProcess](ctx, r, store.Window{})
	must(t, err)
	check("GPU memory", b.GPUMemory, processes)
	xids, err := store.List[store.Xid](ctx, r, store.Window{})
	must(t, err)
	check("Xids", b.Xids, xids)
	ranks, err := store.List[store.RankEvent](ctx, r, store.Window{})
	must(t, err)
	check("events of ranks", b.RankEvents, ranks)
	steps, err := store.List[store.RankSteps](ctx, r, store.Window{})
	must(t, err)
	check("steps of ranks", b.RankSteps, steps)
	kernels, err := store.List[store.Kernel](ctx, r, store.Window{})
	must(t, err)
	check("kernels", b.Kernels, kernels)
	flights, err := store.List[event.InFlight](ctx, r, store.Window{})
	must(t, err)
	check("calls in flight", b.InFlight, flights)
	limits, err := store.List[store.MemoryLimit](ctx, r, store.Window{})
	must(t, err)
	check("memory limits", b.Limits, limits)
	scheduling, err := store.List[store.Scheduling](ctx, r, store.Window{})
	must(t, err)
	check("scheduling", b.Scheduling, scheduling)
	settings, err := store.List[store.Setting](ctx, r, store.Window{})
	must(t, err)
	check("settings", b.Settings, settings)
	reclaims, err := store.List[event.Reclaim](ctx, r, store.Window{})
	must(t, err)
	check("reclaims", b.Reclaims, reclaims)
	samples, err := store.List[event.CodeSample](ctx, r, store.Window{})
	must(t, err)
	check("code samples", b.CodeSamples, samples)
	var io store.Tables
	must(t, r.Tables(ctx, store.Window{}, &io.RequestSums, &io.Devices, &io.Files, &io.Connections, &io.HostMemory,
		&io.Pages))
	check("host I/O", fullIO(), io)
	stack, err := r.Stack(ctx, 77)
	must(t, err)
	check("stack", b.Stacks[0], stack)
	kernel, err := r.Stack(ctx, store.KernelStackID(b.OffCPU[0].Kernel))
	must(t, err)
	if len(kernel.Frames) != 2 || kernel.Frames[0].Kind != event.FrameKernel {
		t.Errorf("kernel stack %+v", kernel)
	}
	if _, err := r.Stack(ctx, 12345); !errors.Is(err, sqlite.ErrNoStack) {
		t.Errorf("unknown stack: %v", err)
	}
	procs, err := store.List[store.Process](ctx, r, store.Window{})
	must(t, err)
	if len(procs) != 3 || !cmp.Equal(procs[2], b.Processes[0]) || procs[0].Name != "waker" {
		t.Errorf("processes %+v", procs)
	}
	libraries, err := store.List[store.Library](ctx, r, store.Window{})
	must(t, err)
	check("libraries", b.Libraries, libraries)
	threads, err := store.List[store.ThreadInfo](ctx, r, store.Window{})
	must(t, err)
	if len(threads) != 8 || threads[5] != b.Threads[0] {
		t.Errorf("threads %+v", threads)
	}
	sum, err := r.Summary(ctx)
	must(t, err)
	session.ID, session.Stopped, session.Flushed = 1, t0, t0
	migrations, err := filepath.Glob("migration/*.sql")
	must(t, err)
	check("summary", store.Summary{
		Schema: len(migrations), Node: "gpu-node-01", Sessions: []store.Session{session}, First: t0 + 1,
		Last: t0 + 20_100_000, Calls: 2, Stored: 2,
		Losses: []event.Loss{{Kind: event.LostCall, Count: 9}, {Kind: event.LostWake, Count: 1}},
	}, sum)
	gapStats, err := store.List[store.GapStat](ctx, r, store.Window{})
	must(t, err)
	check("gap stats", []store.GapStat{{Thread: engine, Gaps: 1, SumNS: 2000, Ledger: b.Gaps[0].Ledger}}, gapStats)
}

// brute is the statistics of calls by definition.
func brute(calls []event.Call) map[opKey]*store.OpStat {
	out := make(map[opKey]*store.OpStat)
	for i := range calls {
		c := &calls[i]
		k := opKey{c.Thread, c.Op}
		o := out[k]
		if o == nil {
			o = &store.OpStat{Thread: c.Thread, Op: c.Op, First: c.Start, Hist: new(stats.Histogram), NestedKnown: true}
			out[k] = o
		}
		n := uint64(max(c.Weight, 1))
		o.Calls += n
		o.SumNS += n * c.Duration
		o.MaxNS = max(o.MaxNS, c.Duration)
		o.First, o.Last = min(o.First, c.Start), max(o.Last, c.End())
		if c.Ret != 0 {
			o.Errors += n
		}
		if b := c.Op.Info().BytesArg(); b >= 0 {
			o.Bytes += n * c.Args[b]
		}
		o.Ledger.Add(&c.Ledger)
		o.Hist.AddN(c.Duration, uint32(n))
		if c.Depth > 0 {
			o.Nested.Add(&store.Sums{Calls: n, NS: n * c.Duration, Ledger: c.Ledger})
		}
	}
	return out
}

type opKey struct {
	event.Thread
	op event.Op
}

func compareStats(t *testing.T, want map[opKey]*store.OpStat, got []store.OpStat) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d roll-ups, want %d", len(got), len(want))
	}
	for _, g := range got {
		w := want[opKey{g.Thread, g.Op}]
		if w == nil {
			t.Errorf("roll-up of %v %s out of nowhere", g.Thread, g.Op)
			continue
		}
		a, _ := w.Hist.AppendBinary(nil)
		b, _ := g.Hist.AppendBinary(nil)
		x, y := *w, g
		x.Hist, y.Hist = nil, nil
		if d := cmp.Diff(x, y); d != "" || w.Hist.Quantile(0.99) != g.Hist.Quantile(0.99) ||
			w.Hist.Count() != g.Hist.Count() {
			t.Errorf("roll-up of %v %s: %s\n%x\n%x", g.Thread, g.Op, d, a, b)
		}
	}
}

// randomCalls is a load with bursts, slow calls, failures, ledgers and late
// arrivals.
func randomCalls(t testing.TB, rng *rand.Rand, n int) []event.Call {
	ops := []event.Op{
		opOf(t, "cudaLaunchKernel"), opOf(t, "cudaMemcpyAsync"), opOf(t, "cuLaunchKernel"),
		opOf(t, "cudaMalloc"),
	}
	calls := make([]event.Call, n)
	at := t0
	for i := range calls {
		at += rng.Uint64N(1 << (4 + 2*(i/5000%9)))
		tid := uint32(rng.IntN(3))
		c := event.Call{
			Start: at - rng.Uint64N(3000), Duration: 1000 + rng.Uint64N(500),
			Thread: event.Thread{PID: 7, TID: 7 + tid}, Op: ops[rng.IntN(len(ops))],
		}
		c.Args[0] = rng.Uint64N(50)
		switch rng.IntN(200) {
		case 0:
			c.Duration += 1_000_000
		case 1:
			c.Ret = 2
		case 2:
			c.Ledger.NS[event.Futex], c.Ledger.Voluntary = rng.Uint64N(100_000)+1, 1
		case 3:
			c.Weight = uint32(rng.IntN(5))
		}
		calls[i] = c
	}
	return calls
}

// TestWeightsAndRollupsAreExact is the contract of thinning: whatever is left
// out, the weights and the roll-ups still add up.
func TestWeightsAndRollupsAreExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		calls := randomCalls(t, rng, 40_000)
		rate := []int{0, 1, 100, 5000, 50_000, 1_000_000}[seed]
		w, path := create(t, sqlite.Options{RawRate: rate, Seed: seed + 1})
		for rest := calls; len(rest) > 0; {
			n := min(1+rng.IntN(700), len(rest))
			must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: rest[:n]}}}))
			if rest = rest[n:]; rng.IntN(20) == 0 {
				must(t, w.Flush(t.Context()))
			}
			if rng.IntN(30) == 0 {
				must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: []event.Life{{
					At: t0, Kind: event.LifeExit,
					Thread: event.Thread{PID: 7, TID: 8},
				}}}}}))
			}
		}
		must(t, w.Close())
		checkExact(t, path, calls, rate)
	}
}

func checkExact(t *testing.T, path string, calls []event.Call, rate int) {
	t.Helper()
	r := reader(t, path)
	want := brute(calls)
	got, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	compareStats(t, want, got)
	weights := make(map[opKey]uint64)
	kept := make(map[event.Call]int)
	stored := allCalls(t, r)
	for _, c := range stored {
		weights[opKey{c.Thread, c.Op}] += uint64(max(c.Weight, 1))
		c.Weight, c.Rest, c.Start = 0, 0, 0
		kept[c]++
	}
	for k, o := range want {
		if weights[k] != o.Calls {
			t.Errorf("rate %d: weights of %v %s add up to %d, want %d", rate, k.Thread, k.op, weights[k], o.Calls)
		}
	}
	for _, c := range calls {
		if c.Ret == 0 && c.Ledger.IsZero() && c.Duration < 1_000_000 {
			continue
		}
		if c.Weight, c.Start = 0, 0; kept[c] == 0 {
			t.Errorf("rate %d: a slow, failed or waiting call was thinned: %+v", rate, c)
			return
		}
		kept[c]--
	}
	sum, err := r.Summary(t.Context())
	must(t, err)
	if sum.Stored != uint64(len(stored)) {
		t.Errorf("summary says %d stored, there are %d", sum.Stored, len(stored))
	}
	if rate == 1 && len(stored) > len(calls)/4 {
		t.Errorf("%d of %d calls stored although 1 a second is wanted", len(stored), len(calls))
	}
	if rate == 1_000_000 && len(stored) < len(calls)/2 {
		t.Errorf("only %d of %d calls stored at a generous rate", len(stored), len(calls))
	}
}

func TestStepsDoNotAliasWithThinning(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{RawRate: 1000})
	op := opOf(t, "cudaLaunchKernel")
	const n, period = 100_000, 16
	for i := range uint64(n) {
		must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
			Start: t0 + i*10_000, Duration: 5000, Thread: engine, Op: op, Args: [4]uint64{1 + i%period},
		}}}}}))
	}
	must(t, w.Close())
	var seen [period + 1]float64
	for _, c := range allCalls(t, reader(t, path)) {
		seen[c.Args[0]] += float64(max(c.Weight, 1))
	}
	for i, s := range seen[1:] {
		if s < n/period/3 || s > n/period*3 {
			t.Errorf("phase %d of a periodic step is represented by weight %.0f, want about %d", i, s, n/period)
		}
	}
}

func TestCallsAtTheSameNanosecondAreKept(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	op := opOf(t, "cudaStreamSynchronize")
	for range 3 {
		var b store.Batch
		for i := range uint64(100) {
			b.Calls = append(b.Calls, event.Call{
				Start: t0, Duration: i, Thread: engine, Op: op,
				Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.Poll: i + 1}},
			})
		}
		must(t, w.Write(&b))
		must(t, w.Flush(t.Context()))
	}
	must(t, w.Close())
	calls := allCalls(t, reader(t, path))
	if len(calls) != 300 {
		t.Fatalf("%d calls, want 300", len(calls))
	}
	for i, c := range calls {
		if c.Start != t0+uint64(i) || c.Ledger.NS[event.Poll] != c.Duration+1 {
			t.Fatalf("call %d: %+v", i, c)
		}
	}
}

func TestSessionsAppendToOneFile(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	b := fullBatch(t)
	must(t, w.Write(b))
	must(t, w.Close())
	w = open(t, path, sqlite.Options{Session: store.Session{Node: "other"}})
	must(t, w.Write(b))
	must(t, w.Close())
	must(t, w.Close())
	r := reader(t, path)
	sum, err := r.Summary(t.Context())
	must(t, err)
	if len(sum.Sessions) != 2 || sum.Calls != 4 || sum.Stored != 4 {
		t.Errorf("summary of two sessions: %+v", sum)
	}
	got, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	compareStats(t, brute(append(slices.Clone(b.Calls), b.Calls...)), got)
}

func TestSecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	_, path := create(t, sqlite.Options{})
	if _, err := sqlite.OpenWriter(path, sqlite.Options{}); err == nil {
		t.Fatal("two writers on one file")
	}
}

func TestMaxBytesPrunesTheOldest(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	w, path := create(t, sqlite.Options{MaxBytes: limit, RawRate: 1 << 30})
	op := opOf(t, "cudaMalloc")
	const n = 300_000
	for i := uint64(0); i < n; {
		var b store.Batch
		for range 5000 {
			b.Calls = append(b.Calls,
				event.Call{Start: t0 + i*20_000, Duration: 5000, Thread: engine, Op: op, Args: [4]uint64{8, i}})
			i++
		}
		must(t, w.Write(&b))
		must(t, w.Flush(context.Background()))
	}
	must(t, w.Close())
	if size := fileSize(t, path); size > limit*13/10 {
		t.Errorf("file has %d bytes, limit %d", size, limit)
	}
	r := reader(t, path)
	sum, err := r.Summary(t.Context())
	must(t, err)
	calls := allCalls(t, r)
	if sum.Calls != n || sum.Stored != uint64(len(calls)) || len(calls) == 0 || len(calls) > n/2 {
		t.Errorf("%d calls, %d stored, %d there", sum.Calls, sum.Stored, len(calls))
	}
	last := calls[len(calls)-1]
	if want := t0 + (n-1)*20_000; last.Start != want || last.Args[1] != n-1 {
		t.Errorf("the newest call is gone: %+v", last)
	}
	for _, c := range calls {
		if c.Args[1] != (c.Start-t0)/20_000 {
			t.Fatalf("call %+v has the arguments of another", c)
		}
	}
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	if len(stats) != 1 || stats[0].Calls != n {
		t.Errorf("roll-ups were pruned: %+v", stats)
	}
}

// A host on which little is traced and much goes on.
func TestMaxBytesPrunesPerSecondRecords(t *testing.T) {
	t.Parallel()
	const limit, seconds, processes = 2 << 20, 200, 150
	w, path := create(t, sqlite.Options{MaxBytes: limit})
	touch := func(pid uint32, at, ended uint64) *event.Footprint {
		return &event.Footprint{
			At: at, Syscalls: []event.SyscallCount{{At: at, PID: pid, Calls: 1, NS: 1}},
			Misses:  []event.Miss{{PID: pid, Errno: 2, Path: "x", Count: 1}},
			Touched: []event.Touched{{PID: pid, Kind: event.TouchFile, Inode: 1, Path: "/a"}},
			CPU:     []event.ProcessCPU{{PID: pid, Comm: "p", First: at, Ended: ended}},
		}
	}
	for i := range uint64(seconds) {
		at := t0 + i*1_000_000_000
		b := store.Batch{Footprint: touch(5000+uint32(i), at, at)}
		b.Snapshots = []store.Snapshot{{At: at, SwapIn: 1}}
		for pid := range uint32(processes) {
			b.RequestSums = append(b.RequestSums,
				event.RequestSum{At: at, PID: pid + 1, Comm: "p", Op: event.OpBlockRead, Device: 8 << 20, Requests: 1})
			b.HostMemory = append(b.HostMemory, event.HostMemory{At: at, PID: pid + 1, RSS: 4096})
			b.Pages = append(b.Pages, event.PageSum{At: at, PID: pid + 1, Comm: "p", Pages: 1, Bytes: 4096, Allocations: 1})
		}
		must(t, w.Write(&b))
		must(t, w.Flush(context.Background()))
	}
	must(t, w.Write(&store.Batch{Footprint: touch(7, t0+seconds*1_000_000_000, 0)})) // it lives
	must(t, w.Close())
	if size := fileSize(t, path); size > limit*13/10 {
		t.Errorf("file has %d bytes, limit %d", size, limit)
	}
	const last = t0 + (seconds-1)*1_000_000_000
	for _, table := range []string{"request_second", "host_memory", "page_second", "snapshot", "syscall_second"} {
		got := query(t, path, "select min(ts), max(ts), count(*) from "+table)[0]
		if got[0] == int64(t0) || got[1].(int64) < int64(last) || got[2].(int64) == 0 {
			t.Errorf("%s: from, to and number %v; the last are at %d", table, got, int64(last))
		}
	}
	for _, table := range []string{"touched", "path_miss", "process_cpu"} {
		got := query(t, path, "select min(pid), max(pid), count(*) from "+table)[0]
		if got[0] != int64(7) || got[1] != int64(5000+seconds-1) || got[2].(int64) > seconds/2 {
			t.Errorf("%s: from, to and number of processes %v", table, got)
		}
	}
}

func TestWindowOfStats(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	op := opOf(t, "cudaLaunchKernel")
	for i := range uint64(10) {
		must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
			Start: t0 + i*1_000_000_000, Duration: 1,
			Thread: engine, Op: op,
		}}}}}))
	}
	must(t, w.Close())
	r := reader(t, path)
	for _, tc := range []struct {
		w    store.Window
		want uint64
	}{
		{store.Window{}, 10},
		{store.Window{From: t0 + 3_000_000_000}, 7},
		{store.Window{From: t0 + 3_000_000_000, To: t0 + 5_000_000_000}, 2},
		{store.Window{To: t0 + 1}, 1},
		{store.Window{From: t0 + 20_000_000_000}, 0},
		{store.Window{To: math.MaxUint64}, 10},
	} {
		stats, err := store.List[store.OpStat](t.Context(), r, tc.w)
		must(t, err)
		var n uint64
		for _, s := range stats {
			n += s.Calls
		}
		if n != tc.want {
			t.Errorf("%+v: %d calls, want %d", tc.w, n, tc.want)
		}
	}
}
