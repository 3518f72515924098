// Package difference splits the difference of two mean steps of a thread into parts that add up to it.
package difference

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Unknown is the class of time whose class is not known.
const Unknown = event.NumClasses + 1

// numClasses counts those of event, on a CPU, and Unknown.
const numClasses = event.NumClasses + 2

// Share is a thread's time and calls in a mean step, or in a mean unit of another kind.
type Share struct {
	NS      float64 // duration, without waits for work
	Ops     map[event.Op]*OpShare
	Between [numClasses]float64 // time between calls, ns by class
}

// OpShare is an operation's part of a mean step.
type OpShare struct {
	Calls float64
	NS    float64
	By    [numClasses]float64 // of NS, by class; adds up to NS
}

// What is the kind of a part.
type What string

// Kinds of parts.
const (
	Calls        What = "calls"         // more or fewer calls of an operation
	TimeInCalls  What = "time in calls" // each call took more or less time of a class
	BetweenCalls What = "between calls" // more or less time of a class between calls
)

// Part is a part of a difference.
type Part struct {
	What  What
	Op    event.Op    // 0 between calls
	Class event.Class // unless What is Calls
	A, B  float64     // calls per step; ns of the class per call; or ns of the class per step
	NS    float64     // of the difference
}

// Split splits the difference of two mean steps into parts that add up to it, the largest first. A change of the
// number of calls counts with the mean of both sides' durations, and a change of a call's duration with the mean of
// both sides' numbers, so that neither side is preferred and nothing is left over.
func Split(a, b *Share) []Part {
	var list []Part
	ops := map[event.Op]bool{}
	for op := range a.Ops {
		ops[op] = true
	}
	for op := range b.Ops {
		ops[op] = true
	}
	for op := range ops {
		list = append(list, splitOp(op, a.Ops[op], b.Ops[op])...)
	}
	for c := range numClasses {
		list = append(list, Part{
			What: BetweenCalls, Class: c, A: a.Between[c], B: b.Between[c], NS: b.Between[c] - a.Between[c],
		})
	}
	list = slices.DeleteFunc(list, func(p Part) bool { return p.NS == 0 })
	slices.SortFunc(list, func(x, y Part) int {
		return cmp.Or(cmp.Compare(math.Abs(y.NS), math.Abs(x.NS)), cmp.Compare(x.What, y.What), cmp.Compare(x.Op, y.Op),
			cmp.Compare(x.Class, y.Class))
	})
	return list
}

func splitOp(op event.Op, a, b *OpShare) []Part {
	switch {
	case a == nil || a.Calls == 0:
		return []Part{{What: Calls, Op: op, B: b.Calls, NS: b.NS}}
	case b == nil || b.Calls == 0:
		return []Part{{What: Calls, Op: op, A: a.Calls, NS: -a.NS}}
	}
	mean := (a.NS/a.Calls + b.NS/b.Calls) / 2
	list := []Part{{What: Calls, Op: op, A: a.Calls, B: b.Calls, NS: (b.Calls - a.Calls) * mean}}
	for c := range numClasses {
		x, y := a.By[c]/a.Calls, b.By[c]/b.Calls
		list = append(list, Part{
			What: TimeInCalls, Op: op, Class: c, A: x, B: y, NS: (y - x) * (a.Calls + b.Calls) / 2,
		})
	}
	return list
}

// Words describes what changed: "17 instead of 1 cudaStreamSynchronize".
func (p *Part) Words() string {
	ns := func(v float64) string {
		if v < 0.5 {
			return "none"
		}
		return report.Duration(uint64(math.Round(v)))
	}
	class := p.Class.Title() + " in each"
	if p.Class == Unknown {
		class = "in each"
	}
	switch p.What {
	case Calls:
		switch {
		case p.A == 0:
			return fmt.Sprintf("%s %s, none before", Number(p.B), p.Op)
		case p.B == 0:
			return fmt.Sprintf("no %s instead of %s", p.Op, Number(p.A))
		}
		return fmt.Sprintf("%s instead of %s %s", Number(p.B), Number(p.A), p.Op)
	case TimeInCalls:
		return fmt.Sprintf("%s %s: %s instead of %s", class, p.Op, ns(p.B), ns(p.A))
	}
	if p.Class == Unknown {
		return fmt.Sprintf("between calls: %s instead of %s", ns(p.B), ns(p.A))
	}
	return fmt.Sprintf("%s between calls: %s instead of %s", p.Class.Title(), ns(p.B), ns(p.A))
}

// Number formats a count that may be a fraction.
func Number(v float64) string {
	if v >= 9.95 || math.Abs(v-math.Round(v)) < 0.005 {
		return report.Count(uint64(math.Round(v)))
	}
	return fmt.Sprintf("%.2f", v)
}
