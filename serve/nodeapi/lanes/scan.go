package lanes

import (
	"context"
	"math"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// unsettled is the time before the end of a recording in which rows may still be added: a call is
// written when it returns, with the time of its start.
const unsettled = uint64(5 * time.Second)

// never is the largest time that a window can have.
const never = uint64(math.MaxInt64)

func newPyramid(machines, limit int) *Pyramid {
	s := newStretch(firstShift, firstShift, limit)
	return &Pyramid{settled: s, fresh: s, read: make([]uint64, machines)}
}

// extend reads new rows, for about as long as allowed. No rows before settled will be added.
func (p *Pyramid) extend(ctx context.Context, machines []store.Reader, settled uint64, allowed time.Duration) error {
	deadline := time.Now().Add(allowed)
	p.done = false
	p.fresh = newStretch(p.settled.calls.shift, p.settled.waits.shift, p.settled.calls.limit)
	p.until = max(p.until, settled)
	for i, r := range machines {
		for p.read[i] < p.until {
			to, err := scan(ctx, r, i, store.Window{From: p.read[i], To: p.until}, p.settled, deadline)
			if err != nil {
				return err
			}
			p.read[i] = to
			if to < p.until && !time.Now().Before(deadline) {
				return nil
			}
		}
	}
	for i, r := range machines {
		if _, err := scan(ctx, r, i, store.Window{From: p.until, To: never}, p.fresh, time.Time{}); err != nil {
			return err
		}
	}
	p.done = true
	return nil
}

// rowReader is a recording with calls and waits.
type rowReader interface {
	CallTimes(ctx context.Context, w store.Window, visit func(*event.CallTime) bool) error
	OffCPU(ctx context.Context, w store.Window, visit func(*event.OffCPU) bool) error
}

// scan reads a window up to the returned time: its end, or earlier if a deadline is set and passes.
func scan(
	ctx context.Context, r rowReader, machine int, w store.Window, into stretch, deadline time.Time,
) (uint64, error) {
	const some = 4096 // rows between checks of the deadline
	end, n := w.To, 0
	err := r.CallTimes(ctx, w, func(c *event.CallTime) bool {
		into.calls.row(machine, c.Start, max(c.Weight, 1)-1, c.Rest > 0)
		into.calls.add(ID{machine, c.Thread}, CallSpan(c))
		if n++; n%some == 0 && !deadline.IsZero() && time.Now().After(deadline) {
			end = c.Start + 1
			return false
		}
		return true
	})
	if err != nil {
		return w.From, err
	}
	err = r.OffCPU(ctx, store.Window{From: w.From, To: end}, func(o *event.OffCPU) bool {
		into.waits.row(machine, o.Start, 0, true)
		for _, s := range WaitSpans(o) {
			into.waits.add(ID{machine, o.Thread}, s)
		}
		return true
	})
	return end, err
}

// CallSpan is a call.
func CallSpan(c *event.CallTime) Span {
	d, ns := bounded(c.Duration), c.TotalNS()
	if d < c.Duration {
		ns = d * uint64(max(c.Weight, 1))
	}
	return Span{Start: c.Start, Duration: d, NS: ns, Weight: max(c.Weight, 1), Key: InCall(c.Op), Depth: c.Depth}
}

// WaitSpans are the parts of an off-CPU interval: the wait, and then the time in the run queue.
func WaitSpans(o *event.OffCPU) []Span {
	d := bounded(o.Duration)
	runq := min(o.RunQueue, d)
	out := make([]Span, 0, 2)
	if runq < d || d == 0 {
		out = append(out, Span{Start: o.Start, Duration: d - runq, NS: d - runq, Weight: 1, Key: Waiting(o.Class)})
	}
	if runq > 0 {
		s := Span{Start: o.Start + d - runq, Duration: runq, NS: runq, Key: Waiting(event.RunQueue), Weight: 1}
		if len(out) > 0 {
			return append(out, s)
		}
		out = append(out, s)
	}
	return out
}

// bounded is a duration that ends before never, whatever a damaged file has.
func bounded(d uint64) uint64 { return min(d, uint64(1000*24*time.Hour)) }
