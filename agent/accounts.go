package agent

import (
	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/account/memory"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// accounts sum up, from their calls, the memory and the collective operations of processes. They
// learn of a thread's end after all its calls.
type accounts struct {
	memory *memory.Tracker
	ranks  *collective.Tracker
	over   []uint32 // processes that ended, not yet reported to the recorder
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

// observe counts drained records.
func (a *accounts) observe(r *probe.Records) {
	a.memory.Calls(r.Calls)
	a.memory.Lives(r.Lives)
	a.ranks.Calls(r.Calls)
	a.ranks.Lives(r.Lives)
}

// ended handles threads and processes from which no more calls will come.
func (a *accounts) ended(ends []event.Life) {
	a.memory.Ended(ends)
	a.ranks.Ended(ends)
	for pid := range processesOf(ends) {
		a.over = append(a.over, pid)
	}
}

// tell reports ended processes to the recorder in a work item, with the last of their memory.
func (a *accounts) tell(u *workItem) {
	if len(a.over) > 0 {
		u.batch.Ended, a.over = append(u.batch.Ended, a.over...), a.over[:0]
		u.batch.Memory = a.memory.TakeEnded(u.batch.Memory)
	}
}
