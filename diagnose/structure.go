package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/store"
)

// Faults that are always there cannot be held against a median. They show in the
// structure of a thread's calls: how often it waits, captures or launches for what
// it gets done. The numbers are exact, whatever the recording thinned.

// rest is what of a thread's time no episode's claim has taken.
type rest struct {
	ops   map[event.Op]uint64 // inside calls, waits that need no baseline left out
	taken map[event.Op]uint64 // by claims
	onGPU map[event.Op]uint64 // of that, in which the GPU was at work
	room  uint64              // of the thread's wall time
}

// unclaimed subtracts the claims from the exact sums. What an operation waited for
// that needs no baseline belongs to the claims, whether or not they took it; in a
// sync call other waits may be for the GPU.
func (s *scene) unclaimed(t *subject, claimed []piece) *rest {
	r := &rest{ops: map[event.Op]uint64{}, taken: map[event.Op]uint64{}, onGPU: map[event.Op]uint64{}, room: t.wall()}
	waits := map[event.Op]uint64{}
	for i := range claimed {
		p := &claimed[i]
		r.room -= min(r.room, p.lost)
		switch {
		case p.acc.Call == nil:
		case needsNoBaseline(p.class, p.acc.Op):
			waits[p.acc.Op] += p.lost
		default:
			r.taken[p.acc.Op] += p.lost
			if p.key.kind == GPUWait {
				r.onGPU[p.acc.Op] += p.lost
			}
		}
	}
	for _, o := range t.ops {
		out := r.taken[o.Op] + max(o.SumNS-itself(o), waits[o.Op])
		r.ops[o.Op] = o.SumNS - min(o.SumNS, out)
	}
	return r
}

// itself is what an operation's calls took without waits that need no baseline, ns.
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

// take claims up to v of an operation's time for a structure.
func (t *subject) take(o *store.OpStat, v uint64) uint64 {
	v = min(v, t.rest.ops[o.Op], t.rest.room)
	t.rest.ops[o.Op] -= v
	t.rest.room -= v
	return v
}

// stand makes a piece of what a structure took of an operation. It stands for
// count calls.
func (s *scene) stand(t *subject, o *store.OpStat, kind string, class event.Class, v, count uint64) []piece {
	if v == 0 {
		return nil
	}
	return []piece{{
		acc: s.typical(t, o), key: key{kind: kind}, class: class, lost: v, explained: v,
		count: int(min(count, 1<<31-1)), standing: true,
	}}
}

// standBeside makes a piece of a thread's time that is not within an operation's calls, but
// belongs to them.
func (s *scene) standBeside(t *subject, o *store.OpStat, kind string, v, count uint64) []piece {
	v = min(v, t.rest.room)
	t.rest.room -= v
	pieces := s.stand(t, o, kind, event.OnCPU, v, count)
	for i := range pieces {
		pieces[i].beside = true
	}
	return pieces
}

// typical is a call that stands for all of its operation: the longest one whose
// stack is known, else the longest one known, else the first.
func (s *scene) typical(t *subject, o *store.OpStat) *account {
	var best *ledger.Episode
	var known bool // the stack of the best
	for i := range t.episodes {
		e := &t.episodes[i]
		if e.Call == nil || e.Op != o.Op {
			continue
		}
		_, ok := s.in.Stacks[e.Call.Stack]
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

// launches is how many kernels a thread handed over, as far as can be told. A
// graph holds many; it counts as those of a short step.
func (t *subject) launches(s *scene) uint64 {
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
	for i := range s.in.Ops {
		if o := &s.in.Ops[i]; o.Thread == t.Thread && o.Op.Role() == event.RoleLaunch && o.Op.Source() == event.SourceDriver {
			inner += o.Calls
		}
	}
	return max(n, inner)
}

// launchesPerStep is taken for the launches of a step where steps cannot be told:
// fewer than those of any model's layer and its gradients.
const launchesPerStep = 20

// site words where the calls of a finding come from: the innermost function that
// is in no CUDA library, Python's before native ones. Empty if no stack is known.
func (s *scene) site(f *finding) string {
	for _, p := range f.pieces {
		if p.acc.Call == nil || p.acc.Call.Stack == 0 {
			continue
		}
		st := s.in.Stacks[p.acc.Call.Stack]
		if fr := event.Site(st.Frames); fr != nil {
			return called(fr.String())
		}
	}
	return ""
}

// spread puts a standing piece on a timeline between two times: where its operation's calls were,
// by what they took beyond the base.
func (s *scene) spread(line timeline, p *piece, begin, stop uint64) {
	series := s.series[threadOp{p.acc.sub.Thread, p.acc.Op}]
	excess := func(o *store.OpSecond) float64 { return float64(o.OwnNS() - min(o.OwnNS(), o.Calls*p.acc.base)) }
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
		start := max(o.Second*1e9, begin, p.acc.sub.from)
		end := min((o.Second+max(s.in.SeriesStep, 1))*1e9, stop, p.acc.sub.to)
		if start >= end {
			continue
		}
		from, to := float64(start-begin)/width, float64(end-begin)/width
		rate := float64(p.lost) * excess(o) / sum / float64(end-start)
		for b := int(from); b < len(line) && float64(b) < to; b++ {
			line[b] += rate * (min(to, float64(b+1)) - max(from, float64(b)))
		}
	}
}
