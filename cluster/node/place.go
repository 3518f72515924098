package node

import (
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// flightFor is how long a call counts as in flight after it was seen so. Calls in flight are read once a second.
const flightFor = 3 * time.Second

// flight is a wait for the GPU or for other ranks that has not returned.
type flight struct{ start, seen uint64 } // Unix ns

// waiting takes in the waits of ranks that are in flight. Of several it keeps the one that began first.
func (m *Meter) waiting(b *store.Batch) {
	for i := range b.InFlight {
		f := &b.InFlight[i]
		r := m.ranks[f.PID]
		if r == nil || f.Op.Role() != event.RoleSync && f.Op.Source() != event.SourceNCCL {
			continue
		}
		switch old := r.flight; {
		case f.End > 0 && old.start == f.Start:
			r.flight = flight{}
		case f.End == 0 && (old.start == 0 || f.Start <= old.start || f.At-min(old.seen, f.At) > uint64(flightFor)):
			r.flight = flight{f.Start, f.At}
		}
	}
}

// open returns how long the wait has lasted at a time, 0 if there is none. Times are Unix ns.
func (f flight) open(at uint64) uint64 {
	if f.start == 0 || at-min(f.seen, at) > uint64(flightFor) {
		return 0
	}
	return at - min(f.start, at)
}

// placeOf returns a rank's position in the communicator that its steps are counted by. It is not known when an
// operation ended on the GPU, but it is known that the host waits.
func placeOf(row *store.RankSteps) health.Place {
	if row.Entered == 0 || row.Ended {
		return health.Place{}
	}
	return health.Place{
		Comm: max(1, uint32(row.Comm^row.Comm>>32)), Enqueued: row.Entered, Completed: row.Entered,
		Open: time.Duration(row.OpenNS),
	}
}
