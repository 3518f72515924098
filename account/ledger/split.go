// Package ledger accounts for threads' time: how a span of it was spent, what a thread waited for, and which thread
// or process it waited for. It is arithmetic over recorded events, with no clock and no I/O. Package diagnose decides
// whether the result is a fault.
package ledger

import "github.com/ingero-io/ingero/event"

// Split says how a span of a thread's time was spent, ns. OnCPU and NS sum to Wall.
type Split struct {
	Wall  uint64
	OnCPU uint64
	NS    [event.NumClasses]uint64
}

// SplitOf splits a duration by its ledger. Time outside the ledger was spent on a CPU. A ledger longer than the
// duration (it counts in units of 16 ns) is cut to it.
func SplitOf(duration uint64, l *event.Ledger) Split {
	s := Split{Wall: duration}
	left := duration
	for c, v := range l.NS {
		s.NS[c] = min(v, left)
		left -= s.NS[c]
	}
	s.OnCPU = left
	return s
}

// Add adds another split.
func (s *Split) Add(o *Split) {
	s.Wall += o.Wall
	s.OnCPU += o.OnCPU
	for c, v := range o.NS {
		s.NS[c] += v
	}
}

// Of returns the time of one class, which may be event.OnCPU.
func (s *Split) Of(c event.Class) uint64 {
	if c == event.OnCPU {
		return s.OnCPU
	}
	return s.NS[c]
}

// Largest returns the class with the most time: the earlier one of two equal ones, and event.OnCPU only if it is
// larger than all others.
func (s *Split) Largest() event.Class {
	best := event.OnCPU
	for c := range event.NumClasses {
		if s.NS[c] > 0 && s.NS[c] >= s.Of(best) && (best == event.OnCPU || s.NS[c] > s.NS[best]) {
			best = c
		}
	}
	return best
}

// Diff returns the split of the time between two totals of a thread. It returns false if they belong to different
// threads, are out of order, or if the tracer restarted its counts between them.
func Diff(a, b *event.ThreadTime) (Split, bool) {
	if a.Thread != b.Thread || b.At < a.At || b.OnCPU < a.OnCPU {
		return Split{}, false
	}
	s := Split{Wall: b.At - a.At, OnCPU: b.OnCPU - a.OnCPU}
	for c := range s.NS {
		if b.NS[c] < a.NS[c] {
			return Split{}, false
		}
		s.NS[c] = b.NS[c] - a.NS[c]
	}
	return s, true
}

// Sum returns the split of the whole time that a thread's totals cover: the sum of the differences of neighbours,
// without pairs for which Diff is false. The totals must be ordered by time.
func Sum(totals []event.ThreadTime) Split {
	var s Split
	for i := 1; i < len(totals); i++ {
		if d, ok := Diff(&totals[i-1], &totals[i]); ok {
			s.Add(&d)
		}
	}
	return s
}
