package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// statsReader is a recording with statistics, and with what is needed to find nested calls that they do not mark.
type statsReader interface {
	store.TableReader
	NotableCalls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// Nesting finds which operations call others, as most of their known calls do. The value is the number of such calls
// minus the others. The first call of each operation is among the notable ones.
type Nesting map[opOfThread]int

type opOfThread struct {
	event.Thread
	op event.Op
}

// Add counts a known call.
func (n Nesting) Add(c *event.Call) {
	if c.Depth > 0 {
		n[opOfThread{c.Thread, c.Op}]++
	} else {
		n[opOfThread{c.Thread, c.Op}]--
	}
}

// Outermost returns the operations of a thread whose time is not also part of another one. If a recording does not
// say which calls are nested, this is derived from known calls. A driver operation without known calls counts only if
// the thread makes no runtime calls.
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

// ReadNesting reads what is needed to find nested calls that the statistics do not mark.
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

// Outermost returns the statistics of calls outside other calls, so that sums over operations count no time twice.
func Outermost(ctx context.Context, r statsReader, w store.Window, ops []store.OpStat) ([]store.OpStat, error) {
	n, err := ReadNesting(ctx, r, w, ops)
	if err != nil {
		return nil, err
	}
	return n.OfAll(ops), nil
}

// OfAll returns the statistics of all threads' outermost calls.
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
