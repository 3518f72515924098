package store

import (
	"github.com/ingero-io/ingero/account/stats"
	"github.com/ingero-io/ingero/event"
)

// OpStat is the exact statistics of one operation on one thread over a window
// of whole seconds, from the roll-ups.
type OpStat struct {
	event.Thread
	Op     event.Op
	Calls  uint64
	Errors uint64
	SumNS  uint64
	MaxNS  uint64
	Bytes  uint64           // sum of the operation's bytes argument
	First  uint64           // Unix ns of the earliest call
	Last   uint64           // Unix ns of the latest call's end
	Ledger event.Ledger     // sum over all calls
	Hist   *stats.Histogram // durations in ns
	// Nested are those of the calls that were within other calls of the thread: their time
	// counts in those, too.
	Nested      Sums
	NestedKnown bool // Nested is recorded
}

// Sums are calls added up.
type Sums struct {
	Calls  uint64
	NS     uint64
	Ledger event.Ledger
}

// Add adds others.
func (s *Sums) Add(o *Sums) {
	s.Calls += o.Calls
	s.NS += o.NS
	s.Ledger.Add(&o.Ledger)
}

// Outermost are the calls that are within no other one, so that sums over operations count
// no time twice. Errors, bytes, histogram and maximum remain those of all calls.
func (o *OpStat) Outermost() OpStat {
	out := *o
	out.Calls -= min(out.Calls, o.Nested.Calls)
	out.SumNS -= min(out.SumNS, o.Nested.NS)
	out.Ledger.Sub(&o.Nested.Ledger)
	out.Nested = Sums{}
	return out
}

// OpSecond is the exact statistics of one operation on one thread in one second,
// or in a few.
type OpSecond struct {
	Second uint64 // Unix seconds at its start
	event.Thread
	Op    event.Op
	Calls uint64
	SumNS uint64
	// HeldNS is the part of SumNS in which the host held the thread up, whatever it called: it waited for a
	// CPU, was throttled, or waited for the disk.
	HeldNS uint64
	MaxNS  uint64
}

// OwnNS is what the calls took without that.
func (o *OpSecond) OwnNS() uint64 { return o.SumNS - min(o.HeldNS, o.SumNS) }

// SiteSecond is the exact statistics of the waits of one operation on one thread from one place in
// the program, in one second or in a few.
type SiteSecond struct {
	Second uint64 // Unix seconds at its start
	event.Thread
	Op    event.Op
	Site  uint64 // event.SiteArg; 0: places beyond those that are told apart, or not known
	Calls uint64
	SumNS uint64
	MaxNS uint64
	Hist  *stats.Histogram // durations in ns
}

// GapStat sums the time between a thread's outermost calls over a window.
type GapStat struct {
	event.Thread
	Gaps   uint64 // gaps with a ledger
	SumNS  uint64 // their durations
	Ledger event.Ledger
}

// WaitNS is the part of a ledger that needs no baseline to be lost time: run
// queue, throttling, futex, block I/O, page fault, network and pipe waits.
func WaitNS(l *event.Ledger) uint64 {
	return l.NS[event.RunQueue] + l.NS[event.Throttled] + l.NS[event.Futex] + l.NS[event.BlockIO] +
		l.NS[event.Fault] + l.NS[event.Network] + l.NS[event.Pipe]
}
