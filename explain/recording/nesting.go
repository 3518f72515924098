package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// statsReader is a recording whose statistics can be read, and what is needed to tell nested
// calls where they do not.
type statsReader interface {
	OpStats(ctx context.Context, w store.Window) ([]store.OpStat, error)
	NotableCalls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// Nesting finds out which operations other ones call, as most of their known calls
// have it: the count of those less the others. The first call of each operation is
// among the notable ones.
type Nesting map[opOfThread]int

type opOfThread struct {
	event.Thread
	op event.Op
}

// Add takes a known call into account.
func (n Nesting) Add(c *event.Call) {
	if c.Depth > 0 {
		n[opOfThread{c.Thread, c.Op}]++
	} else {
		n[opOfThread{c.Thread, c.Op}]--
	}
}

// Outermost are the operations of a thread whose time does not also count in
// another one. Where a recording does not say which calls were within others, it is
// concluded from the known ones. A driver operation of which that is not known counts
// only if the thread makes no runtime calls.
func (n Nesting) Outermost(all []store.OpStat, t event.Thread) []*store.OpStat {
	var ops, driver []*store.OpStat
	for i := range all {
		o := &all[i]
		if o.Thread != t || o.Calls == 0 || o.Hist == nil {
			continue
		}
		nested, seen := n[opOfThread{t, o.Op}]
		switch {
		case o.NestedKnown:
			if out := o.Outermost(); out.Calls > 0 {
				ops = append(ops, &out)
			}
		case nested > 0:
		case seen || o.Op.Source() != event.SourceDriver:
			ops = append(ops, o)
		default:
			driver = append(driver, o)
		}
	}
	if len(ops) == 0 {
		ops = driver
	}
	slices.SortFunc(ops, func(a, b *store.OpStat) int { return cmp.Compare(a.Op, b.Op) })
	return ops
}

// ReadNesting reads what is needed to tell nested calls where the statistics do not.
func ReadNesting(ctx context.Context, r statsReader, w store.Window, ops []store.OpStat) (Nesting, error) {
	n := Nesting{}
	if !slices.ContainsFunc(ops, func(o store.OpStat) bool { return !o.NestedKnown }) {
		return n, nil
	}
	return n, r.NotableCalls(ctx, w, func(c *event.Call) bool {
		n.Add(c)
		return true
	})
}

// Outermost are the statistics of the calls that are within no other one, so that sums over
// operations count no time twice.
func Outermost(ctx context.Context, r statsReader, w store.Window, ops []store.OpStat) ([]store.OpStat, error) {
	n, err := ReadNesting(ctx, r, w, ops)
	if err != nil {
		return nil, err
	}
	return n.OfAll(ops), nil
}

// OfAll are the statistics of all threads' outermost calls.
func (n Nesting) OfAll(ops []store.OpStat) []store.OpStat {
	var list []store.OpStat
	done := map[event.Thread]bool{}
	for i := range ops {
		if t := ops[i].Thread; !done[t] {
			done[t] = true
			for _, o := range n.Outermost(ops, t) {
				list = append(list, *o)
			}
		}
	}
	return list
}
