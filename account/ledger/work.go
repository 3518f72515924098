package ledger

import (
	"math"

	"github.com/ingero-io/ingero/event"
)

// Work is the number of kernels, graphs and copies given to the GPU.
type Work struct{ Kernels, Graphs, Copies int }

// Empty reports whether there is no work.
func (w Work) Empty() bool { return w == Work{} }

// perDoubling is how many sizes are distinguished between a number and its double: work is the same if its counts
// differ by less than about a fifth.
const perDoubling = 4

// Size returns the same value for work of about the same counts.
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

// Wait is a call that waits for the GPU, with the work that its process gave to the GPU since the thread's previous
// wait.
type Wait struct {
	event.CallTime
	Work  Work
	Loose int    // greatest error of Work in calls, because a row of a thinned recording stands for several
	Began uint64 // Unix ns at which the first of that work was given to the GPU, 0 if there is none
}

// certain is how many times Loose the work must be to count as known: different sizes differ by more.
const certain = 10

// Known reports whether the work is known well enough to compare it with that of other waits.
func (w *Wait) Known() bool { return certain*w.Loose <= w.Work.Kernels+w.Work.Graphs+w.Work.Copies }

// Took returns the time from the first of the work to the end of the wait for it, ns: the time that the GPU had for
// it, however much of it the thread spent on launching.
func (w *Wait) Took() uint64 { return w.End() - min(w.Began, w.End()) }

// Waits finds the waits in an unbroken sequence of the outermost calls of one process, by start. waits says which
// operations wait. The first wait of each thread is left out: the work queued before it is not known.
//
// exact is false if the sequence is thinned. Then a row may stand for calls before and after a wait; Loose says how
// many.
func Waits(span []event.CallTime, waits func(event.Op) bool) (list []Wait, exact bool) {
	r := reader{at: map[event.Thread]Work{}, began: map[event.Thread]uint64{}, loose: map[event.Thread]map[giver]int{}}
	exact = true
	for i := range span {
		c := &span[i]
		exact = exact && weight(c) == 1
		if !waits(c.Op) {
			r.hand(c)
			continue
		}
		if before, ok := r.at[c.Thread]; ok {
			list = append(list, Wait{*c, r.all.since(before), r.offBy(c.Thread), r.began[c.Thread]})
		}
		r.at[c.Thread], r.began[c.Thread], r.loose[c.Thread] = r.all, 0, map[giver]int{}
	}
	return list, exact
}

// giver is an operation of a thread: consecutive calls of it may share a row.
type giver struct {
	event.Thread
	event.Op
}

// reader sums work.
type reader struct {
	all   Work
	at    map[event.Thread]Work          // at the thread's last wait
	began map[event.Thread]uint64        // start of the first work since then, Unix ns; 0: none
	loose map[event.Thread]map[giver]int // calls, beyond one, that a row since then may stand for
}

func (r *reader) hand(c *event.CallTime) {
	before, n := r.all, weight(c)
	if r.all.add(c.Op, n); r.all == before {
		return
	}
	for t, v := range r.began {
		if v == 0 {
			r.began[t] = c.Start
		}
		if g := (giver{c.Thread, c.Op}); n > 1 {
			r.loose[t][g] = max(r.loose[t][g], n-1)
		}
	}
}

// offBy returns the greatest error of the work since a thread's last wait, in calls: the rows at both ends may stand
// for calls outside.
func (r *reader) offBy(t event.Thread) (n int) {
	for _, v := range r.loose[t] {
		n += 2 * v
	}
	return n
}
