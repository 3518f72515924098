package agent

import (
	"github.com/ingero-io/ingero/collective"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/memory"
	"github.com/ingero-io/ingero/probe"
)

// accounts add up what processes do, from their calls. They are told of an end when all calls
// before it have been.
type accounts struct {
	memory          *memory.Tracker
	ranks           *collective.Tracker
	inFlightTracker *inFlightTracker
	inner           *innerLinks // nil: all calls of the driver are counted
	over            []uint32    // processes whose end is told, but not to the recorder yet
}

func newAccounts() accounts {
	return accounts{memory: memory.NewTracker(memory.MaxLive), ranks: collective.NewTracker(), inFlightTracker: newFlights()}
}

// observe takes what was drained.
func (a *accounts) observe(r *probe.Records) {
	a.memory.Calls(r.Calls)
	a.memory.Lives(r.Lives)
	a.ranks.Calls(r.Calls)
	a.ranks.Lives(r.Lives)
	if a.inner != nil {
		a.inner.lives(r.Lives)
		a.inner.calls(r.Calls)
	}
	a.inFlightTracker.calls(r.Calls)
	a.inFlightTracker.lives(r.Lives)
}

// ended takes threads and processes of which no more calls will come.
func (a *accounts) ended(ends []event.Life) {
	a.memory.Ended(ends)
	a.ranks.Ended(ends)
	if a.inner != nil {
		a.inner.ended(ends)
	}
	a.inFlightTracker.ended(ends)
	for i := range ends {
		if l := &ends[i]; l.PID == l.TID {
			a.over = append(a.over, l.PID)
		}
	}
}

// tell has a unit tell the recorder of processes that ended, with the last of their memory.
func (a *accounts) tell(u *unit) {
	if len(a.over) > 0 {
		u.batch.Ended, a.over = append(u.batch.Ended, a.over...), a.over[:0]
		u.batch.Memory = a.memory.TakeEnded(u.batch.Memory)
	}
}
