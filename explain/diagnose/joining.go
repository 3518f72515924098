package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// A rank that joins a communicator waits in the call until all ranks have joined. If another rank
// comes later, for example because it still loads code, that is only the order of the start, and
// happens once. So the waiting time counts as time without work, not as a first call that takes
// long.

// joining is the key of such waits in subject.idle.
const joining = "joining"

// joins are the calls that joined each communicator, by the communicator's id, which all ranks
// share.
type joins map[uint64][]*event.Call

// joinID returns the id of the communicator that a call joins, 0 if it joins none.
func joinID(c *event.Call) uint64 {
	info := c.Op.Info()
	if info == nil || c.Ret != 0 || info.Shape != event.ShapeInitRank && info.Shape != event.ShapeInitScalable {
		return 0
	}
	return c.Args[3]
}

func (ev *evidence) readJoins() {
	ev.joins = joins{}
	for i := range ev.in.Calls {
		if c := &ev.in.Calls[i]; joinID(c) != 0 {
			ev.joins[joinID(c)] = append(ev.joins[joinID(c)], c)
		}
	}
}

var causeJoining = cause{
	kind:         idleKind,
	takes:        blocked | onCPU,
	idle:         true,
	answered:     event.CausePeerWait,
	claimEpisode: claimJoining,
}

// claimJoining takes the time in which a rank waited for ranks that joined later.
func claimJoining(ev *evidence, a *account) []claim {
	if a.Call == nil || joinID(a.Call) == 0 {
		return nil
	}
	var last uint64
	for _, c := range ev.joins[joinID(a.Call)] {
		if c.PID != a.sub.PID {
			last = max(last, min(c.Start, a.End()))
		}
	}
	left := last - min(last, a.Start)
	for _, o := range a.open {
		if o.Start < last {
			v := a.take(o.Class, min(o.Duration, left))
			a.sub.idle[joining] += v
			left -= v
		}
	}
	a.open = slices.DeleteFunc(a.open, func(o *event.OffCPU) bool { return o.Start < last })
	for _, c := range slices.Concat(soft, followed, []event.Class{event.OnCPU}) {
		v := a.take(c, left)
		a.sub.idle[joining] += v
		left -= v
	}
	return nil
}
