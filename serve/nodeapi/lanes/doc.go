// Package lanes sums up what the threads of a recording did, so that any part of it can
// be drawn at once: a million calls are read once, into buckets of time whose number is
// bounded, and every picture is made of those. Where few enough rows are left in a window
// the caller reads these one by one instead, and asks here only for what began before it.
//
// Times are Unix nanoseconds. The width of a bucket is a power of two of them, and buckets
// begin at multiples of it, so that the buckets of two questions are the same ones.
package lanes

import (
	"math/bits"

	"github.com/ingero-io/ingero/event"
)

// Key is what a thread was busy with: an operation, or a class of waiting.
type Key uint16

const waitBit Key = 1 << 15

// InCall is the key of an operation.
func InCall(op event.Op) Key { return Key(op) &^ waitBit }

// Waiting is the key of a class.
func Waiting(c event.Class) Key { return waitBit | Key(c) }

// Class is the class of a key, if it is one of waiting.
func (k Key) Class() (event.Class, bool) { return event.Class(k &^ waitBit), k&waitBit != 0 }

// Op is the operation of a key, if it is no class.
func (k Key) Op() event.Op { return event.Op(k &^ waitBit) }

// ID is a thread of a machine, counted from 0 in the order of the recording.
type ID struct {
	Machine int
	event.Thread
}

// Span is something that took a while. A call that stands for others counts Weight times, and
// NS is what all of them took.
type Span struct {
	Start, Duration uint64
	NS              uint64
	Weight          uint32
	Key             Key
	Depth           uint8
}

// upTo is what of NS is before a moment in the span: evenly over its duration, so that the parts
// add up to it.
func (s *Span) upTo(at uint64) uint64 {
	passed := min(at-min(at, s.Start), s.Duration)
	if passed == s.Duration {
		return s.NS
	}
	if s.NS == s.Duration {
		return passed
	}
	hi, lo := bits.Mul64(s.NS, passed)
	ns, _ := bits.Div64(hi, lo, s.Duration) // passed is less, so that it fits
	return ns
}

// within is what of NS is between two moments.
func (s *Span) within(from, to uint64) uint64 {
	if from <= s.Start {
		return s.upTo(to)
	}
	return s.upTo(to) - s.upTo(from)
}

// Part is one key's share of a bucket: the time in it, and how many began in it. Calls
// inside of others are in neither.
type Part struct {
	Key Key
	NS  uint64
	N   uint64
}
