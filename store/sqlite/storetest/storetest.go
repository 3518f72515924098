// Package storetest makes recordings of made-up workloads, for tests and for
// measuring the store. It is not a model of any real program.
package storetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Load is a steady training loop: each step of a thread is 20 launches, one
// asynchronous copy and one synchronization that waits off the CPU.
type Load struct {
	Calls   int    // in all but for graphs; rounded up to whole steps
	Rate    int    // calls a second of all threads, 0 means 20,000
	Threads int    // dispatching threads, 0 means 1
	Start   uint64 // Unix ns, 0 means a fixed day
	Seed    uint64
	Graphs  bool // each step also launches a CUDA graph; now and then one is made again
	Waits   bool // each wait for the GPU is an interval off the CPU, and each thread has one that loads data
}

// DefaultStart is when a Load begins unless it says otherwise: 2025-01-01 UTC.
const DefaultStart = 1_735_689_600 * uint64(time.Second)

const (
	launches = 20
	perStep  = launches + 2
	graphs   = 8
	regraph  = 1000 // steps after which a graph is made again
	kernels  = 40
	buffers  = 4
	batchNS  = uint64(20 * time.Millisecond)
)

func op(name string) event.Op {
	i, ok := event.ByName(name)
	if !ok {
		panic("storetest: no operation " + name)
	}
	return i.Op
}

type generator struct {
	Load
	rng    *rand.Rand
	launch event.Op
	copy   event.Op
	sync   event.Op
	step   uint64 // ns between the starts of a thread's steps
	steps  int    // so far
}

// Batches calls yield with batches of 20 ms each, in order, until it returns
// false. The batch is reused.
func (l Load) Batches(yield func(*store.Batch) bool) {
	l.Threads = max(l.Threads, 1)
	if l.Rate <= 0 {
		l.Rate = 20_000
	}
	if l.Start == 0 {
		l.Start = DefaultStart
	}
	g := &generator{
		Load: l, rng: rand.New(rand.NewPCG(l.Seed, 7)),
		launch: op("cudaLaunchKernel"), copy: op("cudaMemcpyAsync"), sync: op("cudaStreamSynchronize"),
		step: uint64(time.Second) * perStep * uint64(l.Threads) / uint64(l.Rate),
	}
	var b store.Batch
	g.names(&b)
	sent, at, end := 0, l.Start, l.Start+batchNS
	for sent < l.Calls {
		for t := range l.Threads {
			g.addStep(&b, t, at+uint64(t)*g.step/uint64(l.Threads))
			sent += perStep
		}
		if at += g.step; at < end && sent < l.Calls {
			continue
		}
		end = at + batchNS
		if !yield(&b) {
			return
		}
		b.Reset()
	}
}

func thread(n int) event.Thread { return event.Thread{PID: 4000, TID: 4000 + uint32(n)} }

func (g *generator) names(b *store.Batch) {
	b.Processes = []store.Process{{
		PID: 4000, Parent: 1, Name: "trainer", Command: "python3 train.py", Traced: true,
		Rank: 0, WorldSize: 1,
	}}
	for t := range g.Threads {
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: thread(t), Comm: "trainer", Dispatch: true})
	}
	if g.Waits {
		g.nameLoaders(b)
	}
}

// duration is log-normal around a median.
func (g *generator) duration(median float64) uint64 {
	return uint64(median * math.Exp(g.rng.NormFloat64()*0.2))
}

func (g *generator) addStep(b *store.Batch, t int, at uint64) {
	add := func(o event.Op, ns uint64, args [4]uint64) *event.Call {
		b.Calls = append(b.Calls, event.Call{Start: at, Duration: ns, Thread: thread(t), Op: o, Args: args})
		at += ns + g.rng.Uint64N(2000)
		return &b.Calls[len(b.Calls)-1]
	}
	scale := min(float64(g.step)/1e6, 1)
	for i := range uint64(launches) {
		k := (i*7 + g.rng.Uint64N(2)) % kernels
		add(g.launch, g.duration(6000*scale),
			[4]uint64{0x5581_2a40_0000 + k*0x90, 0x5581_44cc_2f00, 64 + k*8, 128 << (k % 3)})
	}
	if g.steps++; g.Graphs {
		g.addGraph(add, scale)
	}
	buf := g.rng.Uint64N(buffers)
	add(g.copy, g.duration(9000*scale), [4]uint64{1 << 20, 1, 0x7f30_2400_0000 + buf<<24, 0x7f2e_1000_0000 + buf<<21})
	c := add(g.sync, g.duration(400_000*scale), [4]uint64{0x5581_44cc_2f00})
	c.Ledger.NS[event.Ioctl] = c.Duration * 8 / 10
	c.Ledger.NS[event.RunQueue] = g.rng.Uint64N(20_000)
	c.Ledger.Voluntary = 1
	if g.Waits {
		g.addWaits(b, t, c)
	}
	if g.rng.IntN(100) == 0 {
		g.disturb(b, t, c)
	}
}

// addGraph launches a graph, and makes each again now and then.
func (g *generator) addGraph(add func(event.Op, uint64, [4]uint64) *event.Call, scale float64) {
	handle := 0x5581_5000_0000 + uint64(g.steps%graphs)*0x100
	if g.steps%regraph < graphs {
		if g.steps >= regraph {
			add(op("cudaGraphExecDestroy"), g.duration(2000*scale), [4]uint64{handle})
		}
		add(op("cudaGraphInstantiate"), g.duration(300_000*scale), [4]uint64{handle, handle + 8})
	}
	add(op("cudaGraphLaunch"), g.duration(8000*scale), [4]uint64{handle, 0x5581_44cc_2f00})
}

// disturb makes a synchronization wait for the CPU.
func (g *generator) disturb(b *store.Batch, t int, c *event.Call) {
	const wait = 2_000_000
	c.Duration += wait
	c.Ledger.NS[event.RunQueue] += wait
	c.Ledger.Involuntary = 1
	b.OffCPU = append(b.OffCPU, event.OffCPU{
		Start: c.Start + 1000, Duration: wait, RunQueue: wait, Thread: thread(t), Comm: "trainer", Op: c.Op,
		Class: event.RunQueue, Syscall: -1, WakerSyscall: -1, Dispatch: true,
		Culprits: []event.Culprit{{Thread: event.Thread{PID: 900, TID: 900}, Comm: "backup", NS: wait}},
		Kernel:   []uint64{0xffffffff81000010, 0xffffffff81000020},
	})
	b.Gaps = append(b.Gaps, event.Gap{
		Start: c.End() + 100, Duration: 90_000, Thread: thread(t), Next: g.launch,
		Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.Futex: 80_000}, Voluntary: 1},
	})
}

// Build records a load into a new file, flushing once per recorded second.
func Build(path string, l Load, o sqlite.Options) (err error) {
	w, err := OpenWriter(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var flushed uint64
	l.Batches(func(b *store.Batch) bool {
		if err = w.Write(b); err != nil {
			return false
		}
		if s := b.Calls[len(b.Calls)-1].Start / uint64(time.Second); s != flushed {
			flushed = s
			err = w.Flush(context.Background())
		}
		return err == nil
	})
	return err
}
