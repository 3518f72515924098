package ledger

import (
	"math"

	"github.com/ingero-io/ingero/event"
)

// Work is what was handed to the GPU: how many kernels, graphs and copies.
type Work struct{ Kernels, Graphs, Copies int }

// Empty reports whether nothing was handed over.
func (w Work) Empty() bool { return w == Work{} }

// perDoubling is how many sizes of work are told apart between a number and its
// double: work is the same if its counts differ by less than about a fifth.
const perDoubling = 4

// Size is the same for work of about the same counts.
func (w Work) Size() Work {
	return Work{size(w.Kernels), size(w.Graphs), size(w.Copies)}
}

func size(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 + int(math.Round(perDoubling*math.Log2(float64(n))))
}

func (w *Work) add(op event.Op, n int) {
	switch role := op.Role(); {
	case op.GraphStep() == "GraphLaunch":
		w.Graphs += n
	case role == event.RoleLaunch || role == event.RoleCollective:
		w.Kernels += n
	case role == event.RoleCopy:
		w.Copies += n
	}
}

func (w Work) since(v Work) Work {
	return Work{w.Kernels - v.Kernels, w.Graphs - v.Graphs, w.Copies - v.Copies}
}

// Wait is a call that waits for the GPU, with the work that its process handed over
// since the thread's wait before it.
type Wait struct {
	event.CallTime
	Work  Work
	Began uint64 // Unix ns at which the first of that work was handed over, 0 if there is none
}

// Took is the time from the first of the work that was handed over to the end of the wait
// for it, ns: what the GPU needed, however much of it the thread spent on launching.
func (w *Wait) Took() uint64 { return w.End() - min(w.Began, w.End()) }

// Waits finds the waits in an unbroken sequence of the outermost calls of one process,
// by start. waits says which operations wait. The first wait of each thread is left
// out: what was queued before it is not known.
//
// It is false if the sequence is thinned: a row may then stand for calls before and
// after a wait, so what was queued for it is not known.
func Waits(span []event.CallTime, waits func(event.Op) bool) (list []Wait, exact bool) {
	var all Work
	at := map[event.Thread]Work{}      // at the thread's last wait
	began := map[event.Thread]uint64{} // the first work since then, 0: none
	for i := range span {
		c := &span[i]
		if weight(c) > 1 {
			return nil, false
		}
		if !waits(c.Op) {
			before := all
			if all.add(c.Op, 1); all != before {
				for t, v := range began {
					if v == 0 {
						began[t] = c.Start
					}
				}
			}
			continue
		}
		if before, ok := at[c.Thread]; ok {
			list = append(list, Wait{*c, all.since(before), began[c.Thread]})
		}
		at[c.Thread], began[c.Thread] = all, 0
	}
	return list, true
}
