package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Part is a part of the difference between the durations of two units. What says which of the
// other fields apply.
type Part struct {
	// What is "calls": more or fewer calls of Op; "time in calls": each call of Op took more or less
	// time, of Class; or "between calls": more or less time of Class between calls.
	What  string  `json:"what"`
	Op    string  `json:"op,omitempty"`
	Class string  `json:"class,omitempty"`
	A     float64 `json:"a"` // calls in a unit; or ns in a call, or in a unit
	B     float64 `json:"b"`
	NS    int64   `json:"ns"` // its part of the difference
	Text  string  `json:"text"`
}

// Values of Part.What.
const (
	calls        = "calls"
	timeInCalls  = "time in calls"
	betweenCalls = "between calls"
)

type part struct {
	what  string
	op    event.Op
	class event.Class
	a, b  float64
	ns    float64
}

// split splits the difference of two mean units into parts that add up to it. A change of the number
// of calls counts with the mean of both sides' durations, and a change of a call's duration with the
// mean of both sides' numbers, so that neither side is preferred and nothing is left over.
func split(a, b *share) []part {
	var list []part
	ops := map[event.Op]bool{}
	for op := range a.ops {
		ops[op] = true
	}
	for op := range b.ops {
		ops[op] = true
	}
	for op := range ops {
		list = append(list, splitOp(op, a.ops[op], b.ops[op])...)
	}
	for c := range event.NumClasses + 1 {
		list = append(list, part{what: betweenCalls, class: c, a: a.between[c], b: b.between[c], ns: b.between[c] - a.between[c]})
	}
	list = slices.DeleteFunc(list, func(p part) bool { return p.ns == 0 })
	slices.SortFunc(list, func(x, y part) int {
		return cmp.Or(cmp.Compare(math.Abs(y.ns), math.Abs(x.ns)), cmp.Compare(x.what, y.what), cmp.Compare(x.op, y.op),
			cmp.Compare(x.class, y.class))
	})
	return list
}

func splitOp(op event.Op, a, b *opShare) []part {
	switch {
	case a == nil || a.calls == 0:
		return []part{{what: calls, op: op, b: b.calls, ns: b.ns}}
	case b == nil || b.calls == 0:
		return []part{{what: calls, op: op, a: a.calls, ns: -a.ns}}
	}
	mean := (a.ns/a.calls + b.ns/b.calls) / 2
	list := []part{{what: calls, op: op, a: a.calls, b: b.calls, ns: (b.calls - a.calls) * mean}}
	for c := range event.NumClasses + 1 {
		x, y := a.by[c]/a.calls, b.by[c]/b.calls
		list = append(list, part{what: timeInCalls, op: op, class: c, a: x, b: y, ns: (y - x) * (a.calls + b.calls) / 2})
	}
	return list
}

// The parts that are listed: so many at most, and none below this share of the difference.
const (
	maxParts  = 8
	leastPart = 0.02
)

// listed are the parts worth listing, and the sum of the others. A part below the noise is worth
// nothing if the whole difference is.
func listed(parts []part, difference int64, noise float64) (list []Part, rest int64) {
	list = []Part{}
	rest = difference
	least := math.Max(leastPart*math.Abs(float64(difference)), noise/4)
	for _, p := range parts {
		if len(list) == maxParts || math.Abs(p.ns) < least {
			break
		}
		list = append(list, p.part())
		rest -= list[len(list)-1].NS
	}
	return list, rest
}

func (p *part) part() Part {
	out := Part{What: p.what, A: p.a, B: p.b, NS: int64(math.Round(p.ns))}
	if p.op != 0 {
		out.Op = p.op.String()
	}
	if p.what != calls {
		out.Class = p.class.String()
	}
	out.Text = p.words()
	return out
}

func (p *part) words() string {
	ns := func(v float64) string {
		if v < 0.5 {
			return "none"
		}
		return report.Duration(uint64(math.Round(v)))
	}
	switch p.what {
	case calls:
		switch {
		case p.a == 0:
			return fmt.Sprintf("%s %s, none before", number(p.b), p.op)
		case p.b == 0:
			return fmt.Sprintf("no %s instead of %s", p.op, number(p.a))
		}
		return fmt.Sprintf("%s instead of %s %s", number(p.b), number(p.a), p.op)
	case timeInCalls:
		return fmt.Sprintf("%s in each %s: %s instead of %s", p.class.Title(), p.op, ns(p.b), ns(p.a))
	}
	return fmt.Sprintf("%s between calls: %s instead of %s", p.class.Title(), ns(p.b), ns(p.a))
}

// number is a count that may be a fraction.
func number(v float64) string {
	if v >= 9.95 || math.Abs(v-math.Round(v)) < 0.005 {
		return report.Count(uint64(math.Round(v)))
	}
	return fmt.Sprintf("%.2f", v)
}
