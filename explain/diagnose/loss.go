package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/store"
)

// loss is what is measured of the time that a thread lost to one cause: the claims on it, and what
// they add up to. Times are in ns.
type loss struct {
	claims    claimList // in order of time, or, if sorted, most lost first
	sorted    bool
	worst     *claim // that lost most
	lost      uint64
	explained uint64
	beside    uint64 // not explained, but saved without the cause
	stall     uint64 // the longest uninterrupted part
	sample    int    // waits, or calls
	related   int    // waits for the same thread, whatever their root cause
}

func (l *loss) add(cl *claim) {
	l.claims = append(l.claims, cl)
	if l.worst == nil || cl.compare(l.worst) < 0 {
		l.worst = cl
	}
	l.lost += cl.lost
	l.explained += cl.explained
	l.beside += cl.besides()
	l.stall = max(l.stall, cl.stall)
	switch {
	case cl.count > 0:
		l.sample += cl.count
	case cl.lost >= uint64(store.SlowExcess):
		l.sample++
	}
}

// sort puts the claims that lost most first. It is done on demand: most findings are not reported,
// and need no order.
func (l *loss) sort() {
	if !l.sorted {
		l.sorted = true
		slices.SortStableFunc(l.claims, (*claim).compare)
	}
}

// recount adds up again how much the claims explain.
func (l *loss) recount() {
	l.explained, l.beside = 0, 0
	for _, cl := range l.claims {
		l.explained += cl.explained
		l.beside += cl.besides()
	}
}

// during returns the time in which the loss happened, without the few waits at its beginning and end
// (fewWaits each).
func (l *loss) during(t *subject) (from, to uint64) {
	list := slices.Clone(l.claims)
	slices.SortStableFunc(list, func(a, b *claim) int { return cmp.Compare(a.acc.Start, b.acc.Start) })
	var before uint64
	for _, cl := range list {
		if from == 0 && float64(before+cl.lost) > fewWaits*float64(l.lost) {
			from = cl.acc.Start
		}
		if float64(before) < (1-fewWaits)*float64(l.lost) {
			to = cl.acc.End()
		}
		before += cl.lost
	}
	return max(from, t.from), min(to, t.to)
}

// fewWaits is the share of the lost time that is left out at the beginning, and at the end, of the
// time in which it was lost.
const fewWaits = 0.01
