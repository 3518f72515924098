package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/store"
)

// A fault that is always there does not show against a median. It shows in the pattern of a
// thread's calls: how often it waits, captures or launches for the work it does. The numbers are
// exact, even where the recording is thinned.

// unattributed is the part of a thread's time that no claim on an episode has taken.
type unattributed struct {
	ops   map[event.Op]uint64 // inside calls, without waits that need no baseline
	taken map[event.Op]uint64 // by claims
	onGPU map[event.Op]uint64 // of taken, the waits for the GPU
	room  uint64              // of the thread's wall time
}

// unclaimed subtracts the claims from the exact sums. Waits that need no baseline are subtracted
// whether or not a claim took them. In a sync call, futex, pipe and network waits may be for the
// GPU: they are subtracted only if claimed.
func (ev *evidence) unclaimed(t *subject, claimed []claim) *unattributed {
	r := &unattributed{
		ops: map[event.Op]uint64{}, taken: map[event.Op]uint64{}, onGPU: map[event.Op]uint64{},
		room: t.wall(),
	}
	waits := map[event.Op]uint64{}
	for i := range claimed {
		cl := &claimed[i]
		r.room -= min(r.room, cl.lost)
		switch {
		case cl.acc.Call == nil:
		case needsNoBaseline(cl.class, cl.acc.Op):
			waits[cl.acc.Op] += cl.lost
		default:
			r.taken[cl.acc.Op] += cl.lost
			if causeOf(cl.key.kind).refinable {
				r.onGPU[cl.acc.Op] += cl.lost
			}
		}
	}
	for _, o := range t.ops {
		out := r.taken[o.Op] + max(o.SumNS-itself(o), waits[o.Op])
		r.ops[o.Op] = o.SumNS - min(o.SumNS, out)
	}
	return r
}

// itself returns the time of an operation's calls without the waits that need no baseline (disk, CPU
// quota, run queue and so on), ns.
func itself(o *store.OpStat) uint64 {
	var host uint64
	for c := range event.NumClasses {
		if needsNoBaseline(c, o.Op) {
			host += o.Ledger.NS[c]
		}
	}
	return o.SumNS - min(o.SumNS, host)
}

func needsNoBaseline(c event.Class, op event.Op) bool {
	switch c {
	case event.RunQueue, event.Throttled, event.BlockIO, event.Fault:
		return true
	case event.Futex, event.Pipe, event.Network:
		return op.Role() != event.RoleSync
	}
	return false
}

// take takes up to v ns of an operation's time that no claim has taken, and returns how much it
// was.
func (t *subject) take(o *store.OpStat, v uint64) uint64 {
	v = min(v, t.unattributed.ops[o.Op], t.unattributed.room)
	t.unattributed.ops[o.Op] -= v
	t.unattributed.room -= v
	return v
}

// aggregateClaims makes a claim of v ns that were taken from an operation's exact sums. It stands
// for count calls.
func (cs *callStats) aggregateClaims(t *subject, o *store.OpStat, kind string, class event.Class, v,
	count uint64,
) []claim {
	if v == 0 {
		return nil
	}
	return []claim{{
		acc: cs.typical(t, o), key: key{kind: kind}, class: class, lost: v, explained: v,
		count: int(min(count, 1<<31-1)), aggregate: true,
	}}
}

// aggregateBeside makes a claim of a thread's time that is outside an operation's calls, but caused
// by them.
func (cs *callStats) aggregateBeside(t *subject, o *store.OpStat, kind string, v, count uint64) []claim {
	v = min(v, t.unattributed.room)
	t.unattributed.room -= v
	claims := cs.aggregateClaims(t, o, kind, event.OnCPU, v, count)
	for i := range claims {
		claims[i].beside = true
	}
	return claims
}

// typical returns a call that stands for all calls of its operation: the longest with a known stack,
// else the longest, else one made up from the statistics.
func (cs *callStats) typical(t *subject, o *store.OpStat) *account {
	var best *ledger.Episode
	var known bool // the stack of the best
	for i := range t.episodes {
		e := &t.episodes[i]
		if e.Call == nil || e.Op != o.Op {
			continue
		}
		_, ok := cs.in.Stacks[e.Call.Stack]
		if best == nil || ok && !known || ok == known && e.Duration > best.Duration {
			best, known = e, ok
		}
	}
	if best == nil {
		c := &event.Call{Start: o.First, Duration: o.Hist.Quantile(0.5), Thread: t.Thread, Op: o.Op, GPU: event.NoGPU}
		best = &ledger.Episode{Start: c.Start, Duration: c.Duration, Thread: t.Thread, Op: o.Op, Call: c}
	}
	return &account{Episode: best, sub: t, role: o.Op.Role()}
}

// launches estimates how many kernels a thread launched. A graph holds many kernels; it counts as
// launchesPerStep.
func (t *subject) launches(ev *evidence) uint64 {
	var n, inner uint64
	for _, o := range t.ops {
		switch {
		case o.Op.Role() != event.RoleLaunch:
		case o.Op.GraphStep() != "":
			n += o.Calls * launchesPerStep
		default:
			n += o.Calls
		}
	}
	for i := range ev.in.Ops {
		if o := &ev.in.Ops[i]; o.Thread == t.Thread && o.Op.Role() == event.RoleLaunch &&
			o.Op.Source() == event.SourceDriver {
			inner += o.Calls
		}
	}
	return max(n, inner)
}

// launchesPerStep is assumed where steps are not known: fewer launches than any model's layer with
// its gradients needs.
const launchesPerStep = 20

// site describes where the calls of a finding come from: the innermost function that is in no CUDA
// library, Python functions before native ones. Empty if no stack is known.
func (cs *callStats) site(f *finding) string {
	for _, cl := range f.claims {
		if cl.acc.Call == nil || cl.acc.Call.Stack == 0 {
			continue
		}
		st := cs.in.Stacks[cl.acc.Call.Stack]
		if fr := event.Site(st.Frames); fr != nil {
			return called(fr.String())
		}
	}
	return ""
}

// spread distributes an aggregate claim over a timeline between two times, in proportion to what
// the calls of its operation took beyond the base in each second.
func (cs *callStats) spread(line pattern.Timeline, cl *claim, begin, stop uint64) {
	series := cs.series[threadOp{cl.acc.sub.Thread, cl.acc.Op}]
	excess := func(o *store.OpSecond) float64 { return float64(o.OwnNS() - min(o.OwnNS(), o.Calls*cl.acc.base)) }
	var sum float64
	for i := range series {
		sum += excess(&series[i])
	}
	if sum == 0 || stop <= begin {
		return
	}
	width := float64(stop-begin) / float64(len(line))
	for i := range series {
		o := &series[i]
		start := max(o.Second*1e9, begin, cl.acc.sub.from)
		end := min((o.Second+max(cs.in.SeriesStep, 1))*1e9, stop, cl.acc.sub.to)
		if start >= end {
			continue
		}
		from, to := float64(start-begin)/width, float64(end-begin)/width
		rate := float64(cl.lost) * excess(o) / sum / float64(end-start)
		for b := int(from); b < len(line) && float64(b) < to; b++ {
			line[b] += rate * (min(to, float64(b+1)) - max(from, float64(b)))
		}
	}
}
