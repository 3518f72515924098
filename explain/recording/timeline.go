package recording

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Timeline is how a thread spent its time, in equal buckets of whole seconds, in exact sums. Nothing is counted
// twice: calls are outermost ones, and the waits of a bucket are no longer than the thread's time in it.
type Timeline struct {
	event.Thread
	Others   []event.Thread // other threads that make calls, those with most time in calls first
	From     uint64         // Unix ns
	BucketNS uint64
	PerStep  string // the calls of a step in words; empty: no steps were found
	Buckets  []TimeBucket
	Marks    []Mark // by time

	steps ledger.Steps
	live  [2]uint64 // Unix ns: start of the thread's first call, end of its last one
}

// TimeBucket is a part of a timeline.
type TimeBucket struct {
	SpanNS uint64 // time in which the thread made calls: shorter in the first and last bucket
	Calls  uint64
	CallNS uint64
	Steps  uint64 // steps that ended in it
	Waits  event.Ledger
}

// StepNS returns the mean duration of the bucket's steps; 0 if none ended in it.
func (b *TimeBucket) StepNS() float64 {
	if b.Steps == 0 {
		return 0
	}
	return float64(b.SpanNS) / float64(b.Steps)
}

// timelineReader is what ReadTimeline needs of a recording.
type timelineReader interface {
	statsReader
	callTimesReader
	NotableGaps(ctx context.Context, w store.Window, visit func(*event.Gap) bool) error
	OpSeries(ctx context.Context, w store.Window, step uint64) ([]store.OpSecond, error)
}

// ReadTimeline reads the timeline of the wanted thread with most time in calls, in at most so many buckets; nil if no
// wanted thread made calls.
func ReadTimeline(
	ctx context.Context, r timelineReader, w store.Window, buckets int, wants func(event.Thread) bool,
) (*Timeline, error) {
	list, err := store.List[store.OpStat](ctx, r, w)
	if err != nil {
		return nil, err
	}
	nested, err := ReadNesting(ctx, r, w, list)
	if err != nil {
		return nil, err
	}
	t := chooseThread(list, nested, wants)
	if t == nil {
		return nil, nil
	}
	first, last := t.live[0]/uint64(time.Second), (t.live[1]-1)/uint64(time.Second)
	seconds := last - min(first, last) + 1
	width := (seconds + uint64(buckets) - 1) / uint64(buckets)
	t.From, t.BucketNS = first*uint64(time.Second), width*uint64(time.Second)
	t.Buckets = make([]TimeBucket, (seconds+width-1)/width)
	if err := t.findSteps(ctx, r); err != nil {
		return nil, err
	}
	for i := range t.Buckets {
		if err := t.count(ctx, r, nested, i); err != nil {
			return nil, err
		}
	}
	if err := t.spreadLong(ctx, r); err != nil {
		return nil, err
	}
	t.bound()
	return t, t.mark(ctx, r)
}

// chooseThread starts the timeline of the thread with most time in calls.
func chooseThread(list []store.OpStat, nested Nesting, wants func(event.Thread) bool) *Timeline {
	type spent struct {
		event.Thread
		ns          uint64
		first, last uint64
	}
	at, all := map[event.Thread]int{}, []spent{}
	for i := range list {
		o := &list[i]
		if _, known := at[o.Thread]; known || !wants(o.Thread) {
			continue
		}
		s := spent{Thread: o.Thread, first: ^uint64(0)}
		for _, out := range nested.Outermost(list, o.Thread) {
			s.ns += out.SumNS
			s.first, s.last = min(s.first, out.First), max(s.last, out.Last)
		}
		at[o.Thread] = len(all)
		if s.last > s.first {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b spent) int { return cmp.Compare(b.ns, a.ns) })
	t := &Timeline{Thread: all[0].Thread, live: [2]uint64{all[0].first, all[0].last}}
	for _, s := range all[1:] {
		t.Others = append(t.Others, s.Thread)
	}
	return t
}

// findSteps searches for steps in the thread's calls.
func (t *Timeline) findSteps(ctx context.Context, r timelineReader) error {
	parts, err := CallSpans(ctx, r, store.Window{From: t.live[0], To: t.live[1]})
	if err != nil {
		return err
	}
	var spans [][]event.CallTime
	for _, part := range parts {
		var own []event.CallTime
		for _, c := range part {
			if c.Thread == t.Thread && c.Depth == 0 {
				own = append(own, c)
			}
		}
		if len(own) > 0 {
			slices.SortFunc(own, ledger.InOrder)
			spans = append(spans, own)
		}
	}
	slices.SortFunc(spans, func(a, b []event.CallTime) int { return cmp.Compare(a[0].Start, b[0].Start) })
	if steps, ok := ledger.FindSteps(spans); ok {
		t.steps, t.PerStep = steps, steps.Words()
	}
	return nil
}

// window returns the window of a bucket.
func (t *Timeline) window(i int) store.Window {
	from := t.From + uint64(i)*t.BucketNS
	return store.Window{From: from, To: from + t.BucketNS}
}

// Begin returns the start of a bucket, Unix ns; the first one starts with the thread's first call.
func (t *Timeline) Begin(i int) uint64 { return max(t.window(i).From, t.live[0]) }

// End returns when the thread's last call ended, Unix ns.
func (t *Timeline) End() uint64 { return t.live[1] }

// count sums a bucket by the seconds in which calls and gaps began.
func (t *Timeline) count(ctx context.Context, r timelineReader, nested Nesting, i int) error {
	w, b := t.window(i), &t.Buckets[i]
	b.SpanNS = min(w.To, t.live[1]) - min(max(w.From, t.live[0]), w.To)
	ops, err := store.List[store.OpStat](ctx, r, w)
	if err != nil {
		return err
	}
	for _, o := range nested.Outermost(ops, t.Thread) {
		b.Calls += o.Calls
		b.CallNS += o.SumNS
		b.Waits.Add(&o.Ledger)
		if o.Op == t.steps.Op && t.steps.Least == 0 {
			b.Steps += o.Calls
		}
	}
	gaps, err := store.List[store.GapStat](ctx, r, w)
	for g := range gaps {
		if gaps[g].Thread == t.Thread {
			b.Waits.Add(&gaps[g].Ledger)
		}
	}
	return err
}

// spreadLong moves the part of a long call or gap that is in later buckets to these, and counts the steps that end
// with a long call.
func (t *Timeline) spreadLong(ctx context.Context, r timelineReader) error {
	w := store.Window{From: t.From, To: t.window(len(t.Buckets) - 1).To}
	err := r.NotableCalls(ctx, w, func(c *event.Call) bool {
		if c.Thread != t.Thread || c.Depth > 0 {
			return true
		}
		if t.steps.Least != 0 && c.Op == t.steps.Op && c.Duration >= t.steps.Least {
			t.Buckets[t.at(c.Start)].Steps++
		}
		t.spread(c.Start, c.Duration, &c.Ledger, true)
		return true
	})
	if err != nil {
		return err
	}
	return r.NotableGaps(ctx, w, func(g *event.Gap) bool {
		if g.Thread == t.Thread {
			t.spread(g.Start, g.Duration, &g.Ledger, false)
		}
		return true
	})
}

// at returns the bucket of a time.
func (t *Timeline) at(ns uint64) int {
	return int(min((max(ns, t.From)-t.From)/t.BucketNS, uint64(len(t.Buckets)-1)))
}

func (t *Timeline) spread(start, duration uint64, l *event.Ledger, call bool) {
	own, end := t.at(start), start+duration
	for i := own + 1; i < len(t.Buckets) && t.window(i).From < end; i++ {
		w := t.window(i)
		share := float64(min(end, w.To)-w.From) / float64(duration)
		for class, ns := range l.NS {
			t.Buckets[own].Waits.NS[class], t.Buckets[i].Waits.NS[class] = shifted(t.Buckets[own].Waits.NS[class],
				t.Buckets[i].Waits.NS[class], uint64(float64(ns)*share))
		}
		if call {
			t.Buckets[own].CallNS, t.Buckets[i].CallNS = shifted(t.Buckets[own].CallNS, t.Buckets[i].CallNS,
				uint64(float64(duration)*share))
		}
	}
}

// shifted moves an amount, or all there is, from one sum to another.
func shifted(from, to, ns uint64) (uint64, uint64) {
	ns = min(ns, from)
	return from - ns, to + ns
}

// bound cuts the part of short calls at the end of a bucket that is beyond it.
func (t *Timeline) bound() {
	for i := range t.Buckets {
		b := &t.Buckets[i]
		b.CallNS = min(b.CallNS, b.SpanNS)
		room := b.SpanNS
		for class := range b.Waits.NS {
			b.Waits.NS[class] = min(b.Waits.NS[class], room)
			room -= b.Waits.NS[class]
		}
	}
}
