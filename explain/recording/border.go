package recording

import (
	"context"
	"math/bits"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Statistics by second count a call, or a gap, in the second in which it began. At the ends of a window, this
// includes time outside it and leaves out time inside it: seconds for a long call. border has the time to subtract
// and to add.
type border struct {
	off, add   event.Ledger
	offNS      uint64 // of the whole time, not only of waits
	addNS      uint64
	begun, cut bool // a call or gap crosses the start or the end
}

// Borders are the parts of calls and gaps that cross the ends of a window.
type Borders struct {
	calls, pauses map[event.Thread]*border
	from, to      uint64 // whole seconds; 0: open
}

type reachingReader interface {
	// Reaching visits calls and gaps that began up to store.Reach before a time and ended after
	// it.
	Reaching(ctx context.Context, at uint64, call func(*event.Call) bool, gap func(*event.Gap) bool) error
}

// ReadBorders reads the calls and gaps that cross the ends of a window read by whole seconds. Only
// calls for which match holds count.
func ReadBorders(
	ctx context.Context, r reachingReader, w store.Window, match func(*event.Call) bool,
) (*Borders, error) {
	const second = uint64(time.Second)
	b := &Borders{calls: map[event.Thread]*border{}, pauses: map[event.Thread]*border{}, from: w.From / second * second}
	if w.To != 0 {
		b.to = (w.To-1)/second*second + second
	}
	for _, end := range []uint64{b.from, b.to} {
		if end == 0 {
			continue
		}
		begun := func(start uint64) bool { return end == b.from || start >= b.from } // else it crosses both ends
		err := r.Reaching(ctx, end, func(c *event.Call) bool {
			if match(c) && begun(c.Start) {
				b.count(b.calls, c.Thread, c.Start, c.Duration, &c.Ledger)
			}
			return true
		}, func(g *event.Gap) bool {
			if begun(g.Start) {
				b.count(b.pauses, g.Thread, g.Start, g.Duration, &g.Ledger)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Borders) count(into map[event.Thread]*border, t event.Thread, start, duration uint64, l *event.Ledger) {
	end := start + duration
	before, behind := start < b.from, b.to > 0 && end > b.to
	x := into[t]
	if x == nil {
		x = &border{}
		into[t] = x
	}
	if behind {
		end = b.to
	}
	inside := end - max(start, b.from)
	x.begun, x.cut = x.begun || before, x.cut || behind
	if before {
		x.addNS += inside
	} else {
		x.offNS += duration - inside
	}
	for c, ns := range l.NS {
		hi, lo := bits.Mul64(ns, inside)
		in, _ := bits.Div64(hi%duration, lo, duration)
		if before {
			x.add.NS[c] += in
		} else {
			x.off.NS[c] += ns - min(in, ns)
		}
	}
}

// CutCalls corrects a sum of waits of calls for the window.
func (b *Borders) CutCalls(l *event.Ledger, wants func(event.Thread) bool) { cutAll(b.calls, l, wants) }

// CutPauses corrects a sum for gaps.
func (b *Borders) CutPauses(l *event.Ledger, wants func(event.Thread) bool) {
	cutAll(b.pauses, l, wants)
}

func cutAll(of map[event.Thread]*border, l *event.Ledger, wants func(event.Thread) bool) {
	for t, x := range of {
		if wants(t) {
			x.apply(l)
		}
	}
}

func (x *border) apply(l *event.Ledger) {
	for c := range l.NS {
		l.NS[c] = l.NS[c] - min(x.off.NS[c], l.NS[c]) + x.add.NS[c]
	}
}

// cut corrects a thread's ledger for the window.
func (b *Borders) cut(t *ThreadLedger) {
	for _, of := range []map[event.Thread]*border{b.calls, b.pauses} {
		x := of[t.Thread]
		if x == nil {
			continue
		}
		if x.begun {
			t.From = min(t.From, b.from)
		}
		if x.cut {
			t.To = b.to
		}
	}
	if x := b.calls[t.Thread]; x != nil {
		x.apply(&t.In)
		t.CallNS = t.CallNS - min(x.offNS, t.CallNS) + x.addNS
	}
	if x := b.pauses[t.Thread]; x != nil {
		x.apply(&t.Between)
	}
}

func outermostCall(c *event.Call) bool { return c.Depth == 0 }
