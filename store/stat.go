package store

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
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
	// Nested are the sums of calls within other calls of the thread. Their time is also part of
	// those calls' time.
	Nested      Sums
	NestedKnown bool // Nested is recorded
}

// Sums are sums over calls.
type Sums struct {
	Calls  uint64
	NS     uint64
	Ledger event.Ledger
}

// Add adds other sums.
func (s *Sums) Add(o *Sums) {
	s.Calls += o.Calls
	s.NS += o.NS
	s.Ledger.Add(&o.Ledger)
}

// Outermost are the sums of calls that are not within another one, so that sums over operations
// count no time twice. Errors, bytes, histogram and maximum stay those of all calls.
func (o *OpStat) Outermost() OpStat {
	out := *o
	out.Calls -= min(out.Calls, o.Nested.Calls)
	out.SumNS -= min(out.SumNS, o.Nested.NS)
	out.Ledger.Sub(&o.Nested.Ledger)
	out.Nested = Sums{}
	return out
}

// OpSecond is the exact statistics of one operation on one thread in one or a few seconds.
type OpSecond struct {
	Second uint64 // Unix seconds at its start
	event.Thread
	Op    event.Op
	Calls uint64
	SumNS uint64
	// HeldNS is the part of SumNS in which the host delayed the thread, whatever it called: it
	// waited for a CPU, was throttled, or waited for the disk.
	HeldNS uint64
	MaxNS  uint64
	Bytes  uint64 // sum of the operation's bytes argument
}

// OwnNS is the calls' time without HeldNS.
func (o *OpSecond) OwnNS() uint64 { return o.SumNS - min(o.HeldNS, o.SumNS) }

// WaitSecond is the exact sum of the waits of a thread in an operation's calls, or between calls, in
// one or a few seconds.
type WaitSecond struct {
	Second uint64 // Unix seconds at its start
	event.Thread
	Op     event.Op // 0: between calls
	Ledger event.Ledger
}

// SiteSecond is the exact statistics of the waits of one operation on one thread from one call
// site, in one or a few seconds.
type SiteSecond struct {
	Second uint64 // Unix seconds at its start
	event.Thread
	Op    event.Op
	Site  uint64 // event.SiteArg; 0: unknown, or one of too many sites
	Calls uint64
	SumNS uint64
	MaxNS uint64
	Hist  *stats.Histogram // durations in ns
}

// GapStat sums the time between a thread's outermost calls over a window.
type GapStat struct {
	event.Thread
	Gaps   uint64 // gaps with a ledger
	SumNS  uint64 // total duration
	Ledger event.Ledger
}

// WaitNS is the part of a ledger that needs no baseline to be lost time: run
// queue, throttling, futex, block I/O, page fault, network and pipe waits.
func WaitNS(l *event.Ledger) uint64 {
	return l.NS[event.RunQueue] + l.NS[event.Throttled] + l.NS[event.Futex] + l.NS[event.BlockIO] +
		l.NS[event.Fault] + l.NS[event.Network] + l.NS[event.Pipe]
}
