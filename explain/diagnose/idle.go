package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeIdle = cause{
	kind:         idleKind,
	takes:        blocked,
	idle:         true,
	answered:     event.CausePeerWait,
	claimEpisode: claimIdle,
}

// claimIdle takes the waits for work out of the time between calls.
func claimIdle(_ *evidence, a *account) []claim {
	if a.Call != nil {
		return nil
	}
	claims := a.through(idleKind)
	for _, cl := range claims {
		a.sub.idle[cl.class.String()] += cl.lost
	}
	// The rest of a class, without the recorded waits, are waits too short to be recorded one by
	// one.
	for _, c := range followed {
		var open uint64
		for _, o := range a.open {
			if o.Class == c {
				open += o.Duration
			}
		}
		if a.sub.mostlyIdle[c] && a.left[c] > open {
			a.sub.idle[c.String()] += a.take(c, a.left[c]-open)
		}
	}
	return nil
}

// minIdlePct is the least share of its time for which a thread is listed as idle, percent.
const minIdlePct = 10

// idleThreads lists the threads that waited for work between calls.
func (ev *evidence) idleThreads() []report.Idle {
	var list []report.Idle
	for _, t := range ev.subjects {
		total, most := ev.calls.idleOf(t)
		if pct := percent(total, t.wall()); pct >= minIdlePct {
			list = append(list,
				report.Idle{
					Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID, NS: total, Pct: round(pct),
					On: ev.procs.idleOn(t.PID, most),
				})
		}
	}
	slices.SortStableFunc(list, func(a, b report.Idle) int { return cmp.Compare(b.NS, a.NS) })
	return list
}

// idleOf returns how long a thread waited for work, ns, and in which kind of wait most. The sums between
// calls are of whole seconds, which may begin before the window; what was lost in the window does
// not count as idle.
func (cs *callStats) idleOf(t *subject) (total uint64, most string) {
	on := cs.idleBy(t)
	for _, kind := range idleKinds {
		if v := on[kind]; v > 0 {
			total += v
			if most == "" || v > on[most] {
				most = kind
			}
		}
	}
	return min(total, t.wall()-min(t.wall(), t.lost)), most
}

// idleBy returns how long a thread waited for work, ns, by kind of wait.
func (cs *callStats) idleBy(t *subject) map[string]uint64 {
	on := map[string]uint64{}
	for k, v := range t.idle {
		on[k] += v
	}
	g := cs.gapStats[t.Thread]
	for _, c := range []event.Class{event.Poll, event.Sleep} {
		known := t.lostBetween[c] + t.idle[c.String()]
		on[c.String()] += g.ledger.NS[c] - min(known, g.ledger.NS[c])
	}
	return on
}

// idleKinds are the kinds of wait of threads without work: a class, or the wait for a
// communicator's other ranks.
var idleKinds = []string{
	event.Poll.String(), event.Network.String(), event.Pipe.String(), event.Futex.String(), event.Sleep.String(), joining,
}

func (ps *processes) idleOn(pid uint32, in string) string {
	c, ok := event.ClassByName(in)
	switch {
	case !ok:
		return "a new communicator: another rank joined it later"
	case c == event.Futex && ps.hostFuncs[pid] > 0:
		return c.Idle() + ", or the GPU was at work, of whose end host functions tell"
	}
	return c.Idle()
}
