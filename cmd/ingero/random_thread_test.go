package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// randomThread is a thread that calls, waits and computes at random. All that is recorded of it follows
// from one sequence of times, so that no second of it can have more than a second in it.
type randomThread struct {
	*rand.Rand
	event.Thread
	ops      []event.Op
	began    uint64
	at       uint64
	reported uint64 // when its totals were reported last
	total    event.ThreadTime
	open     []*event.Ledger // of the calls that it is in, or of the gap
	op       event.Op        // outermost call that it is in
	batch    *store.Batch
	waits    uint64 // ns off the CPU in calls and gaps
}

func (a *randomThread) compute(ns uint64) {
	a.at += ns
	a.total.OnCPU += ns
}

func (a *randomThread) wait() {
	ns := 1 + a.Uint64N(1<<a.IntN(25))
	if a.IntN(300) == 0 {
		ns = a.Uint64N(2_500_000_000)
	}
	o := event.OffCPU{
		Start: a.at, Duration: ns, Thread: a.Thread, Comm: "random", Op: a.op,
		Class:   event.Class(a.IntN(int(event.NumClasses))),
		Syscall: -1, WakerSyscall: -1, Dispatch: true,
	}
	if a.IntN(2) == 0 {
		o.RunQueue = a.Uint64N(ns + 1)
	}
	if o.Class == event.RunQueue {
		o.RunQueue = ns
	}
	var l event.Ledger
	l.NS[o.Class] += ns - o.RunQueue
	l.NS[event.RunQueue] += o.RunQueue
	l.Voluntary = 1
	for _, open := range a.open {
		open.Add(&l)
	}
	for c, n := range l.NS {
		a.total.NS[c] += n
	}
	a.at, a.waits = a.at+ns, a.waits+ns
	if ns >= 100_000 {
		a.batch.OffCPU = append(a.batch.OffCPU, o)
	}
}

// call makes a call, with calls in it.
func (a *randomThread) call(depth uint8) {
	c := event.Call{Start: a.at, Thread: a.Thread, Op: a.ops[a.IntN(len(a.ops))], Depth: depth, GPU: event.NoGPU}
	if depth == 0 {
		a.op = c.Op
	}
	a.open = append(a.open, &c.Ledger)
	a.compute(1 + a.Uint64N(20_000))
	for a.IntN(3) == 0 && depth < 3 {
		a.call(depth + 1)
		a.compute(1 + a.Uint64N(2000))
	}
	if a.IntN(15) == 0 {
		a.wait()
	}
	a.compute(1 + a.Uint64N(2000))
	a.open = a.open[:len(a.open)-1]
	c.Duration = a.at - c.Start
	a.batch.Calls = append(a.batch.Calls, c)
}

// step is a gap and a call.
func (a *randomThread) step(b *store.Batch) {
	a.batch = b
	g := event.Gap{Start: a.at, Thread: a.Thread}
	a.op, a.open = 0, []*event.Ledger{&g.Ledger}
	a.compute(1 + a.Uint64N(50_000))
	if a.IntN(20) == 0 && a.at > a.began+100_000 {
		a.wait()
	}
	a.open, g.Duration, g.Next = nil, a.at-g.Start, a.ops[0]
	if !g.Ledger.IsZero() {
		b.Gaps = append(b.Gaps, g)
	}
	a.call(0)
	if a.at-a.reported >= 100_000_000 {
		a.reported, a.total.At = a.at, a.at
		b.ThreadTimes = append(b.ThreadTimes, a.total)
	}
}

// randomThreads records some threads, and hands out what the tracer does.
func randomThreads(t *testing.T, seed uint64, rate int, sink func(*store.Batch, uint64)) (string, []*randomThread) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "random.db")
	start := uint64(1_700_000_000_000_000_000) + seed*123_456_789
	w, err := sqlite.OpenWriter(path,
		sqlite.Options{RawRate: rate, Seed: seed, Session: store.Session{Started: start, Node: "host"}})
	check(t, err)
	var list []*randomThread
	first := &store.Batch{}
	for i := range 3 {
		a := &randomThread{
			Rand:   rand.New(rand.NewPCG(seed, uint64(i))),
			Thread: event.Thread{PID: 50 + uint32(i/2), TID: 50 + uint32(i)},
		}
		for _, name := range []string{"cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"} {
			info, _ := event.ByName(name)
			a.ops = append(a.ops, info.Op)
		}
		a.began = start + a.Uint64N(1e9)
		a.at, a.reported = a.began, a.began
		a.total = event.ThreadTime{Thread: a.Thread, Comm: "random", Dispatch: true}
		list = append(list, a)
		first.Threads = append(first.Threads, store.ThreadInfo{Thread: a.Thread, Comm: "random", Dispatch: true})
		if i < 2 {
			first.Processes = append(first.Processes,
				store.Process{PID: 50 + uint32(i), Name: fmt.Sprint("random", i), Traced: true})
		}
	}
	b := first
	for range 12_000 {
		a := slices.MinFunc(list, func(a, b *randomThread) int { return int(int64(a.at) - int64(b.at)) })
		if a.step(b); len(b.Calls) >= 500 {
			sink(b, a.at)
			check(t, w.Write(b))
			b = &store.Batch{}
		}
	}
	for _, a := range list {
		a.total.At = a.at
		b.ThreadTimes = append(b.ThreadTimes, a.total)
	}
	sink(b, slices.MaxFunc(list, func(a, b *randomThread) int { return int(int64(a.at) - int64(b.at)) }).at)
	check(t, w.Write(b))
	check(t, w.Close())
	return path, list
}
