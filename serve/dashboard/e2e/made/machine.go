package main

import (
	"math"
	"strconv"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// machine makes records of the process that makes the calls, and of the machine around it.
type machine struct {
	start uint64 // Unix ns
	now   uint64 // Unix ns, start of the batch's last call
	told  bool
	waits int // waits for the GPU so far
}

// The PIDs of processes, and the number of ranks. The process that makes the calls, trainer, is rank 0.
const (
	trainer = 4000
	ranks   = 4
	backup  = 900
)

// The ids of the stacks that calls have.
const (
	stackSync uint64 = 0x51ac_0001
	stackGrad uint64 = 0x51ac_0002
	stackActs uint64 = 0x51ac_0003
)

// siteUnnamed is the call site of every tenth wait for the GPU. It has no name because its calls have
// no stack.
const siteUnnamed = 0x7f00_0000_1234

// addrOf is the address of the innermost frame of a stack.
func addrOf(stack uint64) uint64 { return 0x7f00_0000_0000 | stack<<4 }

func opNamed(name string) event.Op {
	i, ok := event.ByName(name)
	if !ok {
		panic("no operation " + name)
	}
	return i.Op
}

// From contentionFrom to contentionTo, a backup takes the CPU of a thread that waits for the GPU,
// for contentionNS each time.
const (
	contentionFrom = 15 * uint64(time.Second) // of the recording
	contentionTo   = 25 * uint64(time.Second)
	contentionNS   = 1_200_000
)

// calls gives calls their call sites and stacks. Some of those that wait for the GPU also wait for
// a CPU.
func (m *machine) calls(b *store.Batch) {
	for i := range b.Calls {
		c := &b.Calls[i]
		if c.Op.TellsSite() {
			c.Args[event.SiteArg] = addrOf(stackSync)
		}
		if c.Ledger.Voluntary == 0 {
			continue
		}
		if m.waits++; m.waits%10 == 0 {
			c.Args[event.SiteArg] = siteUnnamed
			continue // it has no stack
		}
		c.Stack = stackSync
		if at := c.Start - m.start; c.TID == trainer && c.Ledger.Involuntary == 0 && at >= contentionFrom &&
			at < contentionTo {
			contend(b, c)
		}
	}
	if !m.told {
		m.told = true
		m.names(b)
	}
}

// contend lets a call wait for a CPU at its end, because a backup runs there.
func contend(b *store.Batch, c *event.Call) {
	b.OffCPU = append(b.OffCPU, event.OffCPU{
		Start: c.End() - 1000, Duration: contentionNS, RunQueue: contentionNS, Thread: c.Thread, Comm: "trainer", Op: c.Op,
		Class: event.RunQueue, Syscall: -1, WakerSyscall: -1, Dispatch: true, OutCPU: 3, InCPU: 3,
		Culprits: []event.Culprit{{
			Thread: event.Thread{PID: backup, TID: backup}, Comm: "backup",
			NS: contentionNS - 20_000,
		}},
	})
	c.Duration += contentionNS
	c.Ledger.NS[event.RunQueue] += contentionNS
	c.Ledger.Involuntary = 1
}

// names adds the stacks, processes, threads and GPUs to which other records refer.
func (m *machine) names(b *store.Batch) {
	frames := func(id uint64, names ...string) event.Stack {
		s := event.Stack{ID: id, PID: trainer}
		for i, n := range names {
			f := event.Frame{Kind: event.FramePython, Symbol: n, File: "train.py", Line: uint32(40 + 10*i)}
			if i < 2 {
				f = event.Frame{Kind: event.FrameNative, Symbol: n, Module: "libtorch_cuda.so", Offset: uint64(0x1000 * i)}
				f.Addr = addrOf(id) + f.Offset
			}
			s.Frames = append(s.Frames, f)
		}
		return s
	}
	b.Stacks = append(b.Stacks,
		frames(stackSync, "at::cuda::stream_synchronize", "c10::cuda::CUDAStream::synchronize", "item", "train_step", "main"),
		frames(stackGrad, "c10::cuda::CUDACachingAllocator::malloc", "at::native::empty_cuda", "backward", "train_step",
			"main"),
		frames(stackActs, "c10::cuda::CUDACachingAllocator::malloc", "at::native::empty_cuda", "keep_activations",
			"train_step", "main"))
	b.Processes[0].WorldSize, b.Processes[0].Cgroup = ranks, "/kubepods/pod7/trainer"
	for r := 1; r < ranks; r++ {
		pid := uint32(trainer + 100*r)
		b.Processes = append(b.Processes, store.Process{
			PID: pid, Parent: 1, Name: "trainer", Command: "python3 train.py",
			Traced: true, Rank: r, LocalRank: r, WorldSize: ranks,
		})
	}
	for r := range uint32(ranks) {
		pid := trainer + 100*r
		b.Threads = append(b.Threads,
			store.ThreadInfo{Thread: event.Thread{PID: pid, TID: pid + 50}, Comm: "nccl", Dispatch: true})
	}
	b.Processes = append(b.Processes, store.Process{
		PID: backup, Parent: 1, Name: "backup", Command: "backup --all /data",
		Rank: -1, LocalRank: -1, WorldSize: -1,
	})
	b.GPUDevices = []store.GPUDevice{{
		GPU: 0, Name: "Made-up GPU", UUID: "GPU-0", BusID: "0000:01:00.0", Driver: "580.1", Node: -1,
	}}
}

// addSecond adds to a batch what is recorded once a second.
func (m *machine) addSecond(b *store.Batch, second int) {
	at := m.start + uint64(second)*uint64(time.Second)
	wave := math.Sin(float64(second) / 7)
	b.Snapshots = append(b.Snapshots, store.Snapshot{
		At: at, CPUPct: 45 + 20*wave, StealPct: 1.5, MemPct: 60 + 5*wave, MemAvailableMB: uint64(24_000 - 3_000*wave),
		SwapMB: 128, Load: 8 + 3*wave,
	})
	b.GPUs = append(b.GPUs, store.GPUSnapshot{
		At: at, TempC: 64 + int(8*wave), ClockMHz: 1755, MaxMHz: 1980, UtilPct: 72 + int(15*wave),
		MemMB: 40_000 + uint64(second)*40, TotalMB: 81_920,
		PowerMW: 410_000, PowerLimitMW: 700_000, Unknown: 1 << store.GPUMIG,
	})
	b.GPUMemory = append(b.GPUMemory,
		store.GPUProcess{At: at, PID: trainer, Bytes: 38_000<<20 + uint64(second)<<25, Known: true})
	m.label(b, at, second)
	m.allocate(b, at, uint64(second))
	m.collect(b, at, second)
	m.touch(b, at, uint64(second))
}

// label gives the trainer a step each second, and an epoch each ten.
func (m *machine) label(b *store.Batch, at uint64, second int) {
	step := event.Label{Arrived: at, Since: at, PID: trainer, StartTime: 1, Key: "step", Value: strconv.Itoa(second)}
	epoch := step
	epoch.Key, epoch.Value = "epoch", strconv.Itoa(second/10)
	b.Labels = append(b.Labels, step)
	if second%10 == 0 {
		b.Labels = append(b.Labels, epoch)
	}
}

// allocate adds readings of allocated memory. That of one call site grows.
func (m *machine) allocate(b *store.Batch, at, second uint64) {
	const steady, leak = 30 << 30, 48 << 20
	live := steady + second*leak
	b.Memory = append(b.Memory,
		event.Memory{
			At: at, PID: trainer, LiveBytes: live, LiveCount: 900 + 4*second, PeakBytes: live + 2<<30, Allocs: 404,
			Frees: 400, Bytes: 9 << 30, AllocNS: 3e6, FreeNS: 2e6, Failed: second % 20 / 19,
		},
		event.Memory{At: at, PID: trainer, Space: event.PinnedMemory, LiveBytes: 2 << 30, LiveCount: 16, PeakBytes: 2 << 30})
	malloc := opNamed("cudaMalloc")
	b.MemorySites = append(b.MemorySites,
		event.MemorySite{
			At: at, PID: trainer, Op: malloc, Stack: stackGrad, LiveBytes: steady, LiveCount: 900,
			Oldest: m.start,
		},
		event.MemorySite{
			At: at, PID: trainer, Op: malloc, Stack: stackActs, LiveBytes: second*leak + 1,
			LiveCount: 4*second + 1, Oldest: m.start,
		})
	if second%20 == 19 {
		b.Calls = append(b.Calls, event.Call{
			Start: b.Calls[len(b.Calls)-1].End() + 2000, Duration: 90_000, Thread: event.Thread{PID: trainer, TID: trainer},
			Op: malloc, Ret: 2, Args: [4]uint64{8 << 30}, Stack: stackActs,
		})
	}
}

// collect adds ten reductions of four ranks. In every seventh, the third rank is late.
func (m *machine) collect(b *store.Batch, at uint64, second int) {
	for i := range uint64(10) {
		begin, seq := at+i*90e6, uint32(second*10)+uint32(i)+1
		late := uint64(0)
		if seq%7 == 0 {
			late = 12e6
		}
		last := begin + 300_000*ranks + late
		for r := range uint64(ranks) {
			pid := uint32(trainer + 100*r)
			queued := begin + 300_000*r
			if r == 2 {
				queued = last
			}
			thread := event.Thread{PID: pid, TID: pid + 50}
			b.Calls = append(b.Calls, event.Call{
				Start: queued, Duration: 40_000, Thread: thread, Op: opNamed("ncclAllReduce"),
				Args: [4]uint64{0xc0de + r, 64 << 20, 5},
			})
			b.Gaps = append(b.Gaps, event.Gap{
				Start: queued + 40_000, Duration: 70e6, Thread: thread,
				Next: opNamed("ncclAllReduce"), Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.Poll: 68e6}, Voluntary: 1},
			})
			b.Collectives = append(b.Collectives, event.Collective{
				At: queued, Start: queued, Duration: 40_000, Thread: thread, Op: opNamed("ncclAllReduce"), Comm: 0xc0de + r,
				CommID: 0x77, Rank: int32(r), Ranks: ranks,
				Seq: seq, Bytes: 64 << 20, DataType: 7, Peer: -1, Stream: 5, SyncOp: opNamed("cudaStreamSynchronize"),
				SyncTID: pid + 50, SyncStart: queued + 60_000, SyncEnd: last + 4e6,
			})
		}
	}
}

// touch adds a footprint: what the process has asked of the kernel so far.
func (m *machine) touch(b *store.Batch, at, second uint64) {
	n := second + 1
	b.Footprint = &event.Footprint{
		At: at,
		Syscalls: []event.SyscallCount{
			{At: at, PID: trainer, Nr: 0, Calls: 800, NS: 30e6, CPUNS: 12e6, MaxNS: 2e6},
			{At: at, PID: trainer, Nr: 16, Calls: 5000, NS: 400e6, CPUNS: 90e6, MaxNS: 9e6},
			{At: at, PID: trainer, Nr: 257, Calls: 20, Errors: 2, NS: 1e6, CPUNS: 1e6, MaxNS: 90_000},
		},
		Errors: []event.SyscallError{{PID: trainer, Nr: 257, Errno: 2, Count: 2}},
		Touched: []event.Touched{
			{
				PID: trainer, Kind: event.TouchFile, Device: 5, Inode: 9, Path: "/data/shard-000.bin", Opens: 1, Reads: 800 * n,
				ReadBytes: n << 28, First: m.start,
			},
			{
				PID: trainer, Kind: event.TouchFile, Device: 5, Inode: 10, Path: "/var/log/train.log", Opens: 1, Writes: 20 * n,
				WriteBytes: n << 12, First: m.start,
			},
			{PID: trainer, Kind: event.TouchDevice, Device: 6, Inode: 3, Path: "/dev/nvidia0", Opens: 2, First: m.start},
			{
				PID: trainer, Kind: event.TouchSocket, Device: 7, Inode: 1, Opens: 1, Reads: 9 * n, ReadBytes: n << 20,
				WriteBytes: n << 19, First: m.start, Endpoint: event.Endpoint{
					Family: "inet", Protocol: "tcp", LocalPort: 40000, RemotePort: 2049, Remote: "10.0.0.7", How: event.HowConnect,
				},
			},
		},
		CPU: []event.ProcessCPU{{PID: trainer, Parent: 1, Comm: "trainer", First: m.start, NS: n * 700e6, InNS: n * 110e6}},
	}
	if second == 0 {
		b.Footprint.Misses = []event.Miss{{PID: trainer, Errno: 2, Path: "/etc/ld.so.preload", Count: 1}}
		b.Footprint.Libraries = []event.MappedLibrary{
			{PID: trainer, Path: "/usr/lib/libcudart.so.12"},
			{PID: trainer, Path: "/usr/lib/libnccl.so.2"},
		}
		b.Footprint.Programs = []event.Program{{
			At: m.start, PID: trainer, Path: "/usr/bin/python3",
			Args: []string{"python3", "train.py"},
		}}
	}
}
