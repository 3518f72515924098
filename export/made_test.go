package export_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// made is a made-up recording: steps of a launch and a synchronisation that waits off
// the CPU for a socket, until another thread wakes it. Each launch has one of some
// stacks.
type made struct {
	node  string
	steps int
	scale uint64 // of durations
	hog   bool   // another process has the CPU for a while in every 100th launch
	ahead uint64 // of its clock, ns
	rank  int32  // in the collective operations of the first steps
}

const (
	madeStart       = 1_767_225_600 * uint64(time.Second)
	madeStep        = uint64(time.Millisecond)
	madeStacks      = 100
	madeCollectives = 20

	madeHog = uint64(20 * time.Millisecond)
)

// madePID is the process, and its main thread. The next thread is the waker.
const madePID = 4000

func (m *made) write(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, m.node+".db")
	w, err := storetest.OpenWriter(path, sqlite.Options{
		Session: store.Session{Node: m.node, Host: m.node, Boot: m.node, Started: madeStart, Version: "test"},
		RawRate: 1 << 30, Seed: 1, Now: func() time.Time { return time.Unix(0, int64(madeStart)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	const chunk = 1000
	for i := 0; i < m.steps; i += chunk {
		if err := w.Write(m.batch(uint64(i), uint64(min(i+chunk, m.steps)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *made) batch(from, to uint64) *store.Batch {
	main, waker := event.Thread{PID: madePID, TID: madePID}, event.Thread{PID: madePID, TID: madePID + 1}
	launch, _ := event.ByName("cudaLaunchKernel")
	sync, _ := event.ByName("cudaStreamSynchronize")
	reduce, _ := event.ByName("ncclAllReduce")
	b := &store.Batch{}
	if from == 0 {
		b.Processes = []store.Process{{
			PID: madePID, Name: "trainer", Command: "trainer on " + m.node, Rank: -1,
			LocalRank: -1, WorldSize: -1, Traced: true,
		}}
		b.Threads = []store.ThreadInfo{{Thread: main, Comm: "trainer", Dispatch: true}, {Thread: waker, Comm: "reader"}}
		for id := range uint64(madeStacks) {
			b.Stacks = append(b.Stacks, madeStack(id+1))
		}
	}
	for i := from; i < to; i++ {
		at, stack := madeStart+m.ahead+i*madeStep+i/100*2*madeHog, i%madeStacks+1
		if i < madeCollectives {
			b.Collectives = append(b.Collectives, event.Collective{
				At: at + 50_000, Start: at + 50_000, Duration: 1000, Thread: main, Op: reduce.Op, Comm: 1, CommID: 7, Rank: m.rank,
				Ranks: 2,
				Seq:   uint32(i + 1), Peer: -1, SyncOp: sync.Op, SyncTID: main.TID, SyncStart: at + 60_000, SyncEnd: at + 400_000,
			})
		}
		if m.hog && i%100 == 99 {
			m.contended(b, event.Call{Start: at, Duration: madeHog, Thread: main, Op: launch.Op, GPU: event.NoGPU, Stack: stack})
			continue
		}
		b.Calls = append(b.Calls,
			event.Call{
				Start: at, Duration: 5_000 * m.scale, Thread: main, Op: launch.Op, GPU: event.NoGPU, Stack: stack,
				Args: [4]uint64{i, 1},
			},
			event.Call{
				Start: at + 100_000, Duration: 400_000 * m.scale, Thread: main, Op: sync.Op, GPU: event.NoGPU,
				Args: [4]uint64{1},
			})
		b.OffCPU = append(b.OffCPU, event.OffCPU{
			Start: at + 110_000, Duration: 300_000 * m.scale, RunQueue: 10_000, Thread: main, Comm: "trainer", Op: sync.Op,
			Class: event.Network, Syscall: -1, WakerSyscall: -1, Dispatch: true, Waker: waker, WakerComm: "reader",
			Socket: event.Socket{Kind: event.SocketTCP, LocalPort: 1, RemotePort: uint16(i)},
		})
		if i%100 == 0 {
			b.Memory = append(b.Memory, event.Memory{At: at, PID: madePID, LiveBytes: i, LiveCount: 1, PeakBytes: i})
			b.Snapshots = append(b.Snapshots, store.Snapshot{At: at, CPUPct: float64(m.scale)})
			b.GPUs = append(b.GPUs, store.GPUSnapshot{At: at, UtilPct: 50})
		}
	}
	return b
}

// contended adds a launch in which another process ran.
func (m *made) contended(b *store.Batch, c event.Call) {
	c.Ledger.NS[event.RunQueue], c.Ledger.Involuntary = madeHog-10_000, 1
	b.Calls = append(b.Calls, c)
	b.OffCPU = append(b.OffCPU, event.OffCPU{
		Start: c.Start + 1000, Duration: madeHog - 10_000, RunQueue: madeHog - 10_000, Thread: c.Thread, Comm: "trainer",
		Op:    c.Op,
		Class: event.RunQueue, Syscall: -1, WakerSyscall: -1, Dispatch: true,
		Culprits: []event.Culprit{{Thread: event.Thread{PID: 200, TID: 200}, Comm: "backup-agent", NS: madeHog - 20_000}},
	})
}

// madeStack is a deep one, as those of frameworks are.
func madeStack(id uint64) event.Stack {
	s := event.Stack{ID: id, PID: madePID}
	for i := range uint64(30) {
		s.Frames = append(s.Frames, event.Frame{
			Kind: event.FrameNative, Addr: id<<20 | i, Module: "libtorch_cuda.so",
			Symbol: fmt.Sprintf("at::native::(anonymous namespace)::function_%d_of_stack_%d(at::Tensor const&)", i, id),
		})
	}
	return s
}
