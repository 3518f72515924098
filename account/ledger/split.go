// Package ledger accounts for threads' time: where a span of it went, what a thread waited for, and
// which thread delayed it. It is arithmetic over recorded events, with no clock and no I/O. Whether
// something is a fault is decided in package diagnose.
package ledger

import "github.com/ingero-io/ingero/event"

// Split says how a span of one thread's time was spent. OnCPU and NS sum to Wall.
type Split struct {
	Wall  uint64
	OnCPU uint64
	NS    [event.NumClasses]uint64
}

// SplitOf splits a duration by its ledger; the rest was spent on a CPU. A ledger longer than its
// span (its counts are in 16 ns units) is cut to it.
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

// Add sums two splits.
func (s *Split) Add(o *Split) {
	s.Wall += o.Wall
	s.OnCPU += o.OnCPU
	for c, v := range o.NS {
		s.NS[c] += v
	}
}

// Of returns the time of one class, or of event.OnCPU.
func (s *Split) Of(c event.Class) uint64 {
	if c == event.OnCPU {
		return s.OnCPU
	}
	return s.NS[c]
}

// Largest returns the class with the most time, the earlier one if two are
// equal, and event.OnCPU only if it beats every other.
func (s *Split) Largest() event.Class {
	best := event.OnCPU
	for c := range event.NumClasses {
		if s.NS[c] > 0 && s.NS[c] >= s.Of(best) && (best == event.OnCPU || s.NS[c] > s.NS[best]) {
			best = c
		}
	}
	return best
}

// Diff is the split of the time between two totals of one thread. It is false if they belong to
// different threads, are out of order, or if the tracer started to count again between them.
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

// Sum is the split of the whole time that a thread's totals cover: the sum of
// the differences of neighbours, without the pairs that do not subtract. The
// totals must be in order of time.
func Sum(totals []event.ThreadTime) Split {
	var s Split
	for i := 1; i < len(totals); i++ {
		if d, ok := Diff(&totals[i-1], &totals[i]); ok {
			s.Add(&d)
		}
	}
	return s
}
