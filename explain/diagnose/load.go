package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// The spans rarely contain waits of a thread that seldom waits for the GPU. For such operations,
// all calls from the first wait to the last are read.
const (
	seldomWaits = 200    // most calls of such an operation
	maxSeldom   = 4      // operations read, those with most time in waits
	SeldomCalls = 10_000 // calls read for each; 40,000 take some 20 ms
)

// SeldomOps returns the operations, by thread, that seldom wait and sometimes wait long.
func (in *Input) SeldomOps() []store.OpStat {
	var list []store.OpStat
	for i := range in.Ops {
		o := &in.Ops[i]
		if o.Op.Role() == event.RoleSync && o.Calls >= 2*minSameWork && o.Calls <= seldomWaits &&
			store.IsSlow(o.MaxNS, o.Hist.Quantile(0.5)) {
			list = append(list, *o)
		}
	}
	slices.SortFunc(list, func(a, b store.OpStat) int {
		return cmp.Or(cmp.Compare(b.SumNS, a.SumNS), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Op, b.Op))
	})
	return list[:min(len(list), maxSeldom)]
}

// maxStacks is the largest number of stacks of each kind that Load resolves.
const maxStacks = 64

// Load reads the data for a diagnosis of the window. The caller fills in DB and Note.
func Load(ctx context.Context, r store.Reader, w store.Window) (*Input, error) {
	r, done, err := distinctIDs(ctx, r)
	if err != nil {
		return nil, err
	}
	defer done()
	sum, err := r.Summary(ctx)
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	in := &Input{Node: sum.Node, Window: w, First: sum.First, Tables: store.Tables{Losses: sum.Losses}}
	if n := len(sum.Sessions); n > 0 {
		s := &sum.Sessions[n-1]
		in.Arch = s.Arch
		in.CPUs, in.RAM, in.SelfPID, in.Nodes = s.CPUs, s.Memory, s.PID, s.Nodes
		for i := range sum.Sessions[:n-1] {
			if o := &sum.Sessions[i]; o.PID != 0 && o.Started < max(s.Stopped, sum.Last) &&
				(o.Stopped == 0 || o.Stopped > s.Started) {
				in.Tracers = append(in.Tracers, o.PID)
			}
		}
	}
	if in.Window.From == 0 {
		in.Window.From = sum.First
	}
	if in.Window.To == 0 && sum.Last != 0 {
		in.Window.To = sum.Last + 1
	}
	if e, ok := r.(store.LegacyReader); ok {
		if in.Legacy, err = e.Legacy(ctx, w); err != nil {
			return nil, fmt.Errorf("read what an earlier version recorded: %w", err)
		}
	}
	pauses, err := store.List[store.Pause](ctx, r, in.Window)
	if err != nil {
		return nil, fmt.Errorf("read when nothing was written: %w", err)
	}
	w = in.loadPauses(pauses, w)
	if err := in.loadDropped(ctx, r); err != nil {
		return nil, err
	}
	if err := in.loadWindow(ctx, r, w); err != nil {
		return nil, err
	}
	if err := in.loadSymbols(ctx, r); err != nil {
		return nil, err
	}
	return in, in.loadStacks(ctx, r)
}

// loadWindow reads the data of the window.
func (in *Input) loadWindow(ctx context.Context, r store.Reader, w store.Window) error {
	var calls chunks[event.Call] // most of all
	if err := r.NotableCalls(ctx, w, calls.add); err != nil {
		return fmt.Errorf("read calls: %w", err)
	}
	in.Calls = calls.all()
	if err := in.loadTables(ctx, r, w); err != nil {
		return err
	}
	if err := in.loadRows(ctx, r, w); err != nil {
		return err
	}
	var err error
	if in.Spans, err = recording.CallSpans(ctx, r, in.Window); err != nil {
		return fmt.Errorf("read calls: %w", err)
	}
	for _, o := range in.SeldomOps() {
		var buf []event.CallTime
		err := r.CallTimes(ctx, store.Window{From: o.First, To: o.Last + 1}, func(c *event.CallTime) bool {
			buf = append(buf, *c)
			return len(buf) < SeldomCalls
		})
		if err != nil {
			return fmt.Errorf("read calls: %w", err)
		}
		in.Seldom = append(in.Seldom, buf)
	}
	return nil
}

// beforeCall is how long before the begin of a call in flight calls are read to know what is usual,
// ns.
const beforeCall = 60_000_000_000

// beforeFlights returns the window, or a longer one that begins beforeCall before the calls in flight.
func (in *Input) beforeFlights(w store.Window) store.Window {
	for i := range in.InFlight {
		if in.InFlight[i].Op == 0 {
			continue
		}
		start := in.InFlight[i].Start
		w.From = min(w.From, start-min(start, beforeCall))
	}
	return w
}

// SeveralLaunch reports whether more than one process launches work on a GPU.
func SeveralLaunch(ops []store.OpStat) bool {
	var pid uint32
	for i := range ops {
		if ops[i].Op.Role() != event.RoleLaunch {
			continue
		}
		if pid != 0 && ops[i].PID != pid {
			return true
		}
		pid = ops[i].PID
	}
	return false
}

func (in *Input) loadRows(ctx context.Context, r store.Reader, w store.Window) error {
	if err := r.NotableGaps(ctx, w, keep(&in.Gaps)); err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	// The reader may reuse a row's slices for the next row.
	off := keep(&in.OffCPU)
	err := r.OffCPU(ctx, w, func(o *event.OffCPU) bool {
		if in.Legacy != nil && o.Op == 0 && o.Class == event.Other { // between calls, for unknown reasons
			in.between = append(in.between, interval{o.Thread, o.Start, o.Start + o.Duration})
			return true
		}
		c := *o
		c.Culprits = append([]event.Culprit(nil), o.Culprits...)
		c.Kernel = append([]uint64(nil), o.Kernel...)
		return off(&c)
	})
	if err != nil {
		return fmt.Errorf("read off-CPU intervals: %w", err)
	}
	if err := r.ThreadTimes(ctx, w, keep(&in.ThreadTimes)); err != nil {
		return fmt.Errorf("read thread totals: %w", err)
	}
	return nil
}

// chunks is a list of many large values. They are copied once, when the list is complete.
type chunks[T any] [][]T

const chunkSize = 1024

func (b *chunks[T]) add(v *T) bool {
	n := len(*b)
	if n == 0 || len((*b)[n-1]) == chunkSize {
		*b = append(*b, make([]T, 0, chunkSize))
		n++
	}
	(*b)[n-1] = append((*b)[n-1], *v)
	return true
}

func (b chunks[T]) all() []T { return slices.Concat(b...) }

// keep returns a visitor that appends every value to list.
func keep[T any](list *[]T) func(*T) bool {
	return func(v *T) bool {
		if n := len(*list); n == cap(*list) { // rows are large: copy them seldom
			*list = slices.Grow(*list, max(n, 64))
		}
		*list = append(*list, *v)
		return true
	}
}

// loadStacks resolves the stacks of the slowest calls, of the call sites that hold most memory, and
// some others.
func (in *Input) loadStacks(ctx context.Context, r store.Reader) error {
	in.Stacks = map[uint64]event.Stack{}
	load := func(id uint64) {
		if _, ok := in.Stacks[id]; id == 0 || ok {
			return
		}
		// If a stack was dropped, the finding is reported without it.
		if s, err := r.Stack(ctx, id); err == nil {
			in.Stacks[id] = s
		}
	}
	for _, c := range slowest(in.Calls, maxStacks) {
		load(c.Stack)
	}
	for _, c := range captureBreakers(in.Calls, maxStacks) {
		load(c.Stack)
	}
	for _, m := range largest(in.MemorySites, maxStacks) {
		load(m.Stack)
	}
	for i := range in.InFlight[:min(len(in.InFlight), maxStacks)] {
		load(in.InFlight[i].Stack)
	}
	return in.loadCodeStacks(ctx, r)
}

// maxCodeStacks is the largest number of stacks of code samples that Load resolves.
const maxCodeStacks = 4096

// loadCodeStacks resolves the stacks of code samples.
func (in *Input) loadCodeStacks(ctx context.Context, r store.Reader) error {
	in.CodeStacks = map[uint64][]event.Frame{}
	for i := range in.CodeSamples {
		id := in.CodeSamples[i].Stack
		if _, ok := in.CodeStacks[id]; ok || id == 0 || len(in.CodeStacks) >= maxCodeStacks {
			continue
		}
		if s, err := r.Stack(ctx, id); err == nil { // else it was dropped, and the sample counts without it
			in.CodeStacks[id] = s.Frames
		}
	}
	return ctx.Err()
}
