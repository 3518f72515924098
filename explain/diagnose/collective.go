package diagnose

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// lateness is a part of a wait, ns: the time for which only one rank was missing, or, without a
// collective operation, the time until all the others had arrived.
type lateness struct {
	op *cluster.Operation
	ns uint64
}

// waited splits a call that waited for collectives into the parts for each late rank.
func (rs *rankWork) waited(t event.Thread, start, end uint64) (list []lateness) {
	at := start
	for _, m := range rs.collectiveOps.WaitedFor(t, start) {
		last := m.Last()
		from, to := max(at, m.Others()), min(last.At, end)
		if !rs.collectiveOps.Straggles(m) || last.PID == t.PID {
			from = to
		}
		if from > at {
			list = append(list, lateness{nil, from - at})
		}
		if to > from {
			list = append(list, lateness{m, to - from})
		}
		at = max(at, to)
	}
	return list
}

// usualCollectives returns what a thread's waits for collectives usually take, ns, by the start of the
// wait: the median of the operation, without the time for which a late rank is to blame. A program
// that accumulates gradients over several batches also has shorter waits, which are for other work.
func (rs *rankWork) usualCollectives(t *subject) map[uint64]uint64 {
	took, starts := map[event.Op][]uint64{}, map[event.Op][]uint64{}
	seen := map[uint64]bool{}
	for i := range rs.collectives {
		c := &rs.collectives[i]
		if c.SyncOp == 0 || c.PID != t.PID || c.SyncTID != t.TID || seen[c.SyncStart] {
			continue
		}
		seen[c.SyncStart] = true
		v := c.SyncEnd - c.SyncStart
		for _, l := range rs.waited(t.Thread, c.SyncStart, c.SyncEnd) {
			v -= min(v, l.ns)
		}
		took[c.SyncOp], starts[c.SyncOp] = append(took[c.SyncOp], v), append(starts[c.SyncOp], c.SyncStart)
	}
	usual := map[uint64]uint64{}
	for op, list := range took {
		if len(list) < minSameWork {
			continue
		}
		v := stats.Median(list)
		for _, start := range starts[op] {
			usual[start] = v
		}
	}
	return usual
}

var causeCollectiveWait = cause{
	kind:           event.CauseCollectiveWait,
	takes:          anyState &^ only(event.BlockIO, event.Fault),
	claimEpisode:   claimCollective,
	claimAggregate: aggregateCollectives,
	sharedRoot:     lateRank,
	gpuSide:        true,
	describe:       describeCollective,
	ownLosses:      true,
}

// lateRank names the rank that the others waited for.
func lateRank(_ *evidence, f *finding) string {
	return fmt.Sprintf("%s %d", f.kind, f.root().TID)
}

// claimCollective takes the time in which a synchronisation waited for the one rank that had not
// entered a collective yet. All of it is claimed, not only what is beyond the median: it is lost
// even if it is always so. The time until the others had arrived was no wait for the GPU either,
// but nobody is to blame for it.
func claimCollective(ev *evidence, a *account) (claims []claim) {
	if a.Call == nil || a.role != event.RoleSync {
		return nil
	}
	for _, l := range ev.ranks.waited(a.Thread, a.Start, a.End()) {
		var v uint64
		for _, c := range slices.Concat(soft, followed, []event.Class{event.OnCPU, event.RunQueue, event.Throttled}) {
			v += a.whole(c, l.ns-v)
		}
		claims = append(claims, ev.ranks.late(a, l.op, v)...)
	}
	// A wait that began before the last rank arrived was for that rank until its end.
	if ops := ev.ranks.collectiveOps.WaitedFor(a.Thread, a.Start); len(ops) > 0 {
		a.open = slices.DeleteFunc(a.open, func(o *event.OffCPU) bool {
			before := o.Start < ops[len(ops)-1].Last().At
			if before {
				a.take(o.Class, o.Duration)
			}
			return before
		})
	}
	return claims
}

// aggregateCollectives does what claimCollective does, for calls that were not stored one by one
// because they took no longer than usual.
func aggregateCollectives(ev *evidence, t *subject) (claims []claim) {
	asked := map[uint64]bool{}
	for i := range t.episodes {
		if t.episodes[i].Call != nil {
			asked[t.episodes[i].Start] = true
		}
	}
	ops := map[event.Op]int{}
	for i, o := range t.ops {
		ops[o.Op] = i + 1
	}
	for _, w := range ev.ranks.collectiveOps.Waits(t.Thread) {
		if asked[w.SyncStart] || w.SyncStart < t.from || w.SyncStart >= t.to {
			continue
		}
		n := ops[w.SyncOp]
		if n == 0 {
			continue
		}
		call := &event.Call{
			Start: w.SyncStart, Duration: w.SyncEnd - w.SyncStart, Thread: t.Thread, Op: w.SyncOp,
			GPU: event.NoGPU,
		}
		e := &ledger.Episode{Start: call.Start, Duration: call.Duration, Thread: t.Thread, Op: call.Op, Call: call}
		a := &account{Episode: e, sub: t, role: call.Op.Role()}
		for _, l := range ev.ranks.waited(t.Thread, w.SyncStart, w.SyncEnd) {
			for _, cl := range ev.ranks.late(a, l.op, t.take(t.ops[n-1], l.ns)) {
				cl.part = w
				claims = append(claims, cl)
			}
		}
	}
	return claims
}

// late claims a wait for the last rank of an operation. Ranks that are late in turn are one cause: it has the name of
// the one that cost most.
func (rs *rankWork) late(a *account, m *cluster.Operation, v uint64) []claim {
	if v == 0 || m == nil {
		return nil
	}
	to := m.Last().Thread
	if r := rs.collectiveOps.Rotation(m); r != nil {
		to = r.Turns[0].Thread
	}
	return []claim{{
		acc: a, key: key{kind: event.CauseCollectiveWait, Thread: to}, class: event.Other, lost: v,
		explained: v, stall: v, op: m,
	}}
}
