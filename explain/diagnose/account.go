package diagnose

import (
	"time"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// account is the lost time of one episode. Causes take from it what they explain.
type account struct {
	*ledger.Episode
	sub    *subject
	split  ledger.Split                 // all of its time
	taken  [event.NumClasses + 1]uint64 // of that, by class; the last is on-CPU time
	left   [event.NumClasses + 1]uint64 // lost and not taken yet
	open   []*event.OffCPU              // waits for other threads that no cause has claimed yet
	base   uint64                       // what the call usually takes, 0 if unknown
	bySite bool                         // base is that of calls from the same call site, in the same phase
	role   event.Role
	first  bool   // the process had just begun with the call's operation
	may    states // what the cause that claims now may take
}

// loads reports whether the call is a first one that does not wait for the GPU. Only such a first
// call is known to be slow without a usual duration to compare it with.
func (a *account) loads() bool {
	return a.first && a.role != event.RoleSync && a.role != event.RoleCopy && a.Call.Duration >= uint64(minStall)
}

// Classes of waits for other threads; they are claimed row by row.
var followed = []event.Class{event.Futex, event.Pipe, event.Network}

// soft are the classes that are lost time only in excess of the usual.
var soft = []event.Class{event.Sleep, event.Poll, event.Ioctl, event.Other}

func (ev *evidence) account(sub *subject, e *ledger.Episode) *account {
	a := &account{Episode: e, sub: sub}
	split := e.Split()
	a.left[event.Throttled] = split.NS[event.Throttled]
	a.left[event.RunQueue] = queued(e, split.NS[event.RunQueue])
	a.left[event.BlockIO] = split.NS[event.BlockIO]
	a.left[event.Fault] = split.NS[event.Fault]
	for _, c := range followed {
		a.left[c] = split.NS[c]
	}
	for _, o := range e.Rows {
		if !ev.procs.follows(o) {
			continue
		}
		a.open = append(a.open, o)
		if !ledger.Followable(o.Class) {
			b, m := ledger.Blocked(o)
			a.left[o.Class] = min(a.left[o.Class]+m-min(b, m), split.NS[o.Class])
		}
	}
	a.split = split
	if e.Call == nil {
		return a
	}
	a.role = e.Op.Role()
	if a.role == event.RoleSync {
		a.assignToGPU(&split)
		a.split = split
	}
	a.first = ev.first(e.Call)
	if usual, ok := ev.calls.siteUsual(sub, e.Call); ok {
		a.base, a.bySite = max(usual, sub.usualCollective[e.Start]), true
	} else {
		a.base = max(ev.calls.baseline(e.Call, a.first), sub.usualFor(e.Call), sub.variable[e.Op])
		if l, ok := sub.levels[e.Op]; ok && a.base > l.usual {
			a.base = l.usual
		}
	}
	a.excess(&split)
	return a
}

// queued returns the run-queue time that has to be explained, ns. Waits too short for a row of their own
// count as wake-up latency, unless they add up within the episode and are long on average.
func queued(e *ledger.Episode, ns uint64) uint64 {
	var listed uint64
	for _, o := range e.Rows {
		if o.Class != event.Throttled {
			listed += min(o.RunQueue, o.Duration)
		}
	}
	if listed >= ns {
		return ns
	}
	rest := ns - listed
	switches := uint64(e.Ledger.Voluntary) + uint64(e.Ledger.Involuntary)
	if rest < uint64(store.SlowExcess) || rest < switches*uint64(store.NotableWait) {
		return listed
	}
	return ns
}

// assignToGPU counts futex, pipe and socket waits inside a sync call as GPU wait if the waker is
// unknown: drivers wait for the GPU that way, too.
func (a *account) assignToGPU(split *ledger.Split) {
	var kept [event.NumClasses]uint64
	open := a.open[:0]
	for _, o := range a.open {
		r := a.sub.waits[o]
		if c := causeOf(r.kind); c.unexplained || c.idle {
			continue
		}
		open = append(open, o)
		kept[o.Class] += o.Duration
	}
	a.open = open
	for _, c := range followed {
		a.left[c] = min(split.NS[c], kept[c])
		split.NS[event.Other] += split.NS[c] - a.left[c]
		split.NS[c] = a.left[c]
	}
}

// excess adds the time that the call took beyond the usual, without the waits that need no
// baseline. Off-CPU time comes first, because on-CPU time is a remainder.
func (a *account) excess(split *ledger.Split) {
	var waits uint64
	for _, c := range []event.Class{
		event.RunQueue, event.Throttled, event.BlockIO, event.Fault, event.Futex, event.Pipe,
		event.Network,
	} {
		waits += split.NS[c]
	}
	followed := a.left // of the soft classes: waits for other threads
	for _, c := range soft {
		waits += followed[c]
	}
	rest := split.Wall - min(waits, split.Wall)
	if !store.IsSlow(rest, a.base) || a.base == 0 && !a.loads() {
		return
	}
	over := a.sub.excess(a.Call, rest-a.base)
	if a.base != 0 && !store.IsSlow(a.base+over, a.base) {
		return
	}
	for _, c := range soft {
		v := min(over, split.NS[c]-followed[c])
		a.left[c] += v
		over -= v
	}
	a.left[event.OnCPU] += over
}

// minCalls is the least number of calls whose median is used as the usual duration.
const minCalls = 10

// baseline returns what a call of this kind usually takes on its thread, ns; 0 if there are too few calls. For a
// first call, two calls are enough. A copy is compared with copies of its size.
func (cs *callStats) baseline(c *event.Call, first bool) uint64 {
	st := cs.stats[threadOp{c.Thread, c.Op}]
	if st == nil || st.Hist == nil || st.Calls < 2 || st.Calls < minCalls && !first {
		return 0
	}
	base := cs.median(st)
	i := c.Op.Info()
	if i == nil || i.Role != event.RoleCopy || i.BytesArg() < 0 || st.Bytes == 0 {
		return base
	}
	if scale := float64(c.Args[i.BytesArg()]) * float64(st.Calls) / float64(st.Bytes); scale > 1 && scale < 1e9 {
		return uint64(float64(base) * scale)
	}
	return base
}

// manyEmpty is the share of empty waits from which on the median of all says too little about the others. If it is
// more than half, see gpu_work.go.
const manyEmpty = 0.2

// median returns the median duration of an operation's calls, ns. If many waits for the GPU found nothing queued, it
// is the median of the others: a program that waits elsewhere from some time on finds nothing left to wait for.
func (cs *callStats) median(st *store.OpStat) uint64 {
	v, ok := cs.medians[st]
	if !ok {
		v = st.Hist.Quantile(0.5)
		if st.Op.Role() == event.RoleSync && v > emptyWait {
			n, _ := st.Hist.Below(emptyWait)
			if empty := share(n, st.Hist.Count()); empty >= manyEmpty {
				v = st.Hist.Quantile((1 + empty) / 2)
			}
		}
		cs.medians[st] = v
	}
	return v
}

// take claims up to v ns of the time that was lost in a class, and returns the claimed amount.
func (a *account) take(c event.Class, v uint64) uint64 {
	if !a.may.has(c) {
		return 0
	}
	v = min(v, a.left[c])
	a.left[c] -= v
	a.taken[c] += v
	return v
}

// whole claims up to v ns of all the time in a class that nobody has claimed. It is for causes that
// explain all of a call's time, not only what is beyond the usual. The part beyond the usual is
// taken first.
func (a *account) whole(c event.Class, v uint64) uint64 {
	if !a.may.has(c) {
		return 0
	}
	all := a.split.Of(c)
	v = min(v, all-min(all, a.taken[c]))
	a.left[c] -= min(a.left[c], v)
	a.taken[c] += v
	return v
}

// through claims the waits for other threads whose root cause is of the kind.
func (a *account) through(kind string) []claim {
	var claims []claim
	open := a.open[:0]
	for _, o := range a.open {
		r := a.sub.waits[o]
		if r.kind != kind {
			open = append(open, o)
			continue
		}
		b, e := ledger.Blocked(o)
		v := a.take(o.Class, e-min(b, e))
		if v == 0 {
			continue
		}
		cl := claim{acc: a, class: o.Class, lost: v, explained: min(v, r.explained), stall: v}
		cl.threadWait = threadWait{row: o, chain: r.chain, reach: r.reach}
		cl.freed = max(cl.explained, min(v, r.freed))
		if cl.newborn = r.newborn; cl.newborn {
			cl.stall = 0 // workers begin once, which is no stall: only what they cost in all counts
		}
		cl.key = key{kind: kind}
		if len(r.chain) > 1 {
			cl.key.Thread = r.last().Thread
		}
		claims = append(claims, cl)
	}
	a.open = open
	return claims
}

// When a finding is reported.
const (
	minStall   = 100 * time.Millisecond // a single stall this long is always reported
	minPct     = 2.0                    // of the thread's wall time
	minSample  = 10                     // waits or slow calls of the finding
	minRelated = 3                      // enough with this cause, if minSample waits were for the same thread
	minShare   = 50.0                   // the least explained_pct for which a culprit is named
)
