package compare

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/difference"
)

// unit is what two threads are measured by.
type unit struct {
	name string
	op   event.Op // whose calls are counted; 0: steps as they were found, or seconds
	per  float64  // calls of op per unit
	time bool     // seconds
}

// Values of Thread.Unit, beside the names of operations.
const (
	step   = "step"
	second = "second"
)

// commonUnit returns the step of both threads, if the same operation ends it or occurs equally often in it. If steps
// differ too much for that, or only one thread has steps, it is a call of the operation that ends a step in one, or
// of the one that launches most work in both; without one, a second. An operation that both call in a fixed
// proportion to others is preferred: the number of another one's calls per step may be what changed.
func commonUnit(a, b *diagnose.Profile) unit {
	if a.Count > 0 && b.Count > 0 {
		if a.Steps.Op == b.Steps.Op && (a.Steps.Least == 0) == (b.Steps.Least == 0) {
			return unit{name: step}
		}
		if op, n := equallyOften(a, b); op != 0 {
			return unit{name: step, op: op, per: float64(n)}
		}
	}
	agree := inProportion(a, b)
	for _, p := range []*diagnose.Profile{a, b} { // what ends the steps of one may do so in the other
		op := p.Steps.Op
		if p.Count > 0 && p.Steps.Least == 0 && called(a, op) >= minUnits && called(b, op) >= minUnits &&
			(len(agree) == 0 || slices.Contains(agree, op)) {
			return unit{name: op.String(), op: op, per: 1}
		}
	}
	if len(agree) > 0 {
		return unit{name: agree[0].String(), op: agree[0], per: 1}
	}
	if op := mostLaunched(a, b); op != 0 {
		return unit{name: op.String(), op: op, per: 1}
	}
	return unit{name: second, time: true}
}

// minUnits is how often both must call the operation that they are measured by.
const minUnits = 8

func called(p *diagnose.Profile, op event.Op) uint64 {
	for _, o := range p.Ops {
		if o.Op == op {
			return o.Calls
		}
	}
	return 0
}

// equallyOften returns an operation that both call equally often per step, the rarest first, and how often.
func equallyOften(a, b *diagnose.Profile) (op event.Op, n int) {
	for _, x := range a.Steps.Calls {
		for _, y := range b.Steps.Calls {
			if x.Op == y.Op && x.N == y.N && x.N > 0 && (op == 0 || x.N < n) {
				op, n = x.Op, x.N
			}
		}
	}
	return op, n
}

// sameProportion bounds how much the ratios of two operations' calls in B and A may differ.
const sameProportion = 1.01

// inProportion returns the operations that both threads call in a fixed proportion to each other, the rarest first:
// the largest such group. It is nil if there are not two, or if none is a launch, since the others may be unrelated
// to the work. Operations that are called only now and then do not count.
func inProportion(a, b *diagnose.Profile) []event.Op {
	var ops []event.Op
	ratio := map[event.Op]float64{}
	for _, o := range a.Ops {
		if n := called(b, o.Op); min(o.Calls, n) >= minUnits && throughout(a, o.Op) && throughout(b, o.Op) {
			ops, ratio[o.Op] = append(ops, o.Op), float64(n)/float64(o.Calls)
		}
	}
	slices.SortFunc(ops, func(x, y event.Op) int { return cmp.Or(cmp.Compare(ratio[x], ratio[y]), cmp.Compare(x, y)) })
	var most []event.Op
	for i := range ops {
		j := i
		for j < len(ops) && ratio[ops[j]] <= ratio[ops[i]]*sameProportion {
			j++
		}
		launches := slices.ContainsFunc(ops[i:j], func(op event.Op) bool { return op.Role() == event.RoleLaunch })
		if j-i > max(1, len(most)) && launches {
			most = ops[i:j]
		}
	}
	most = slices.Clone(most)
	slices.SortFunc(most, func(x, y event.Op) int {
		return cmp.Or(cmp.Compare(called(a, x), called(a, y)), cmp.Compare(x, y))
	})
	return most
}

// throughout reports whether a thread calls an operation in most of the seconds in which it calls any.
func throughout(p *diagnose.Profile, op event.Op) bool {
	all, with := map[uint64]bool{}, 0
	for i := range p.Series {
		o := &p.Series[i]
		if o.Calls == 0 {
			continue
		}
		all[o.Second] = true
		if o.Op == op {
			with++
		}
	}
	return 2*with > len(all)
}

func mostLaunched(a, b *diagnose.Profile) (op event.Op) {
	var most uint64
	for _, o := range a.Ops {
		if o.Op.Role() != event.RoleLaunch {
			continue
		}
		for _, p := range b.Ops {
			if n := min(o.Calls, p.Calls); p.Op == o.Op && n >= minUnits && n > most {
				op, most = o.Op, n
			}
		}
	}
	return op
}

// units returns how many units a thread did.
func (u *unit) units(p *diagnose.Profile) float64 {
	switch {
	case u.time:
		return float64(p.To-min(p.From, p.To)) / 1e9
	case u.op == 0:
		return float64(p.Count)
	}
	return float64(called(p, u.op)) / u.per
}

// share returns a thread's mean unit.
func (u *unit) share(p *diagnose.Profile, units float64) *difference.Share {
	s := &difference.Share{Ops: map[event.Op]*difference.OpShare{}}
	n := units
	if n <= 0 {
		n = 1
	}
	in := 0.0
	for _, o := range p.Ops {
		x := &difference.OpShare{Calls: float64(o.Calls) / n, NS: float64(o.SumNS) / n}
		on := float64(o.SumNS)
		for c := range event.NumClasses {
			x.By[c] = float64(o.Ledger.NS[c]) / n
			on -= float64(o.Ledger.NS[c])
		}
		x.By[event.OnCPU] = on / n
		s.Ops[o.Op] = x
		in += float64(o.SumNS)
	}
	on := float64(p.To-min(p.From, p.To)) - in
	total := in
	for c := range event.NumClasses {
		ns := float64(p.Between.NS[c])
		on -= ns
		ns -= float64(p.Idle.NS[c])
		s.Between[c] = ns / n
		total += ns
	}
	s.Between[event.OnCPU] = on / n
	s.NS = (total + on) / n
	return s
}
