package agent

import (
	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/account/memory"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// accounts add up what processes do, from their calls: memory and collective operations. They are
// told of an end when all calls before it have been.
type accounts struct {
	memory *memory.Tracker
	ranks  *collective.Tracker
	over   []uint32 // processes that ended, of which the recorder does not know yet
}

func newAccounts() *accounts {
	return &accounts{memory: memory.NewTracker(memory.MaxLive), ranks: collective.NewTracker()}
}

func (a *accounts) follower() follower {
	return follower{
		records: func(u *workItem) {
			a.observe(&u.records)
			a.tell(u)
		},
		ended:  a.ended,
		second: a.second,
	}
}

func (a *accounts) second(s *second) {
	a.tell(s.item)
	b, now := &s.item.batch, uint64(s.now.UnixNano())
	at := now
	if s.last {
		at = 0 // all of them
	}
	b.Collectives = a.ranks.Take(at, b.Collectives)
	b.Memory, b.MemorySites = a.memory.Take(now, b.Memory, b.MemorySites)
}

// observe takes what was drained.
func (a *accounts) observe(r *probe.Records) {
	a.memory.Calls(r.Calls)
	a.memory.Lives(r.Lives)
	a.ranks.Calls(r.Calls)
	a.ranks.Lives(r.Lives)
}

// ended takes threads and processes of which no more calls will come.
func (a *accounts) ended(ends []event.Life) {
	a.memory.Ended(ends)
	a.ranks.Ended(ends)
	for pid := range processesOf(ends) {
		a.over = append(a.over, pid)
	}
}

// tell has a work item tell the recorder of processes that ended, with the last of their memory.
func (a *accounts) tell(u *workItem) {
	if len(a.over) > 0 {
		u.batch.Ended, a.over = append(u.batch.Ended, a.over...), a.over[:0]
		u.batch.Memory = a.memory.TakeEnded(u.batch.Memory)
	}
}
