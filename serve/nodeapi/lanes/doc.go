// Package lanes sums up what the threads of a recording did, so that any part of it can be drawn at
// once: a million calls are read once, into a bounded number of time buckets, from which every
// picture is made. If a window has few enough rows, the caller reads these one by one instead, and
// uses this package only for what began before it.
//
// Times are Unix nanoseconds. The width of a bucket is a power of two of them, and buckets begin at
// multiples of it, so that the same buckets are used for all requests.
package lanes

import (
	"math/bits"

	"github.com/ingero-io/ingero/event"
)

// Key is what a thread was doing: an operation, or a wait class.
type Key uint16

const waitBit Key = 1 << 15

// InCall is the key of an operation.
func InCall(op event.Op) Key { return Key(op) &^ waitBit }

// Waiting is the key of a class.
func Waiting(c event.Class) Key { return waitBit | Key(c) }

// Class is the class of a key, if it is a wait class.
func (k Key) Class() (event.Class, bool) { return event.Class(k &^ waitBit), k&waitBit != 0 }

// Op is the operation of a key, if it is not a class.
func (k Key) Op() event.Op { return event.Op(k &^ waitBit) }

// ID is a thread of a machine, counted from 0 in the order of the recording.
type ID struct {
	Machine int
	event.Thread
}

// Span is a call or wait. A call that stands for others counts Weight times; NS is their total
// time.
type Span struct {
	Start, Duration uint64
	NS              uint64
	Weight          uint32
	Key             Key
	Depth           uint8
}

// upTo is the part of NS before a time in the span: distributed evenly over its duration, so that
// the parts add up to it.
func (s *Span) upTo(at uint64) uint64 {
	passed := min(at-min(at, s.Start), s.Duration)
	if passed == s.Duration {
		return s.NS
	}
	if s.NS == s.Duration {
		return passed
	}
	hi, lo := bits.Mul64(s.NS, passed)
	ns, _ := bits.Div64(hi, lo, s.Duration) // cannot overflow, as passed is less
	return ns
}

// within is the part of NS between two times.
func (s *Span) within(from, to uint64) uint64 {
	if from <= s.Start {
		return s.upTo(to)
	}
	return s.upTo(to) - s.upTo(from)
}

// Part is one key's share of a bucket: the time in it, and how many calls or waits began in it.
// Nested calls are in neither.
type Part struct {
	Key Key
	NS  uint64
	N   uint64
}
