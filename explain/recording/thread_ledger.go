package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// ThreadLedger is how a thread spent its time, from its first call in a window to its last, in exact sums.
type ThreadLedger struct {
	event.Thread
	From, To uint64 // Unix ns: start of its first call, end of its last one
	Calls    uint64 // without nested calls
	CallNS   uint64 // in calls; the rest of the time is between calls
	In       event.Ledger
	Between  event.Ledger
}

// Wall returns the time that the ledger splits.
func (t *ThreadLedger) Wall() uint64 { return t.To - min(t.From, t.To) }

// ledgerReader is a recording with the sums of threads' time.
type ledgerReader interface {
	statsReader
	reachingReader
}

// ThreadLedgers sums the time of each thread that makes calls, those with most time in calls first.
func ThreadLedgers(ctx context.Context, r ledgerReader, w store.Window) ([]ThreadLedger, error) {
	ops, err := store.List[store.OpStat](ctx, r, w)
	if err != nil {
		return nil, err
	}
	gaps, err := store.List[store.GapStat](ctx, r, w)
	if err != nil {
		return nil, err
	}
	nested, err := ReadNesting(ctx, r, w, ops)
	if err != nil {
		return nil, err
	}
	by := map[event.Thread]*ThreadLedger{}
	for i := range ops {
		o := &ops[i]
		if o.Calls == 0 || o.Last < o.First || by[o.Thread] != nil {
			continue
		}
		t := &ThreadLedger{Thread: o.Thread, From: o.First, To: o.Last}
		for _, out := range nested.Outermost(ops, o.Thread) {
			t.From, t.To = min(t.From, out.First), max(t.To, out.Last)
			t.Calls += out.Calls
			t.CallNS += out.SumNS
			t.In.Add(&out.Ledger)
		}
		by[o.Thread] = t
	}
	for i := range gaps {
		if t := by[gaps[i].Thread]; t != nil {
			t.Between.Add(&gaps[i].Ledger)
		}
	}
	borders, err := ReadBorders(ctx, r, w, outermostCall)
	if err != nil {
		return nil, err
	}
	list := make([]ThreadLedger, 0, len(by))
	for _, t := range by {
		borders.cut(t)
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b ThreadLedger) int {
		return cmp.Or(cmp.Compare(b.CallNS, a.CallNS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return list, nil
}
