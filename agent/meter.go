package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// meter keeps the statistics for the adaptive limits, and reports them to the sinks: one histogram
// for each operation of each process.
//
// Package live counts other things about operations for live views: where their calls' time went.
// It is a sink, behind the recorder, and exists only with a live view. The meter is in the loop, in
// every run, as limits must not wait for a disk. So each has its own table of operations by
// process, and nothing is counted in both.
type meter struct {
	total uint64
	procs map[uint32]*procMeter
	last  *procMeter
	ended []uint32                      // processes that ended, oldest first
	past  map[event.Op]*stats.Histogram // calls of processes that are no longer listed
	prev  uint64                        // total at the end of the last second

	stacks map[event.Op]*stackCount // of this second
}

// stackCount is how many calls of an operation had a stack in this second.
type stackCount struct {
	n      int
	listed int // n when overLimit last returned the operation
}

type procMeter struct {
	pid uint32
	ops [event.OpSlots]*opMeter
}

type opMeter struct {
	op            event.Op
	calls, errors uint64
	prev          uint64
	max, longest  uint64 // ns, since the start and in this second
	hist          stats.Histogram
}

func newMeter() *meter {
	return &meter{
		procs: map[uint32]*procMeter{}, past: map[event.Op]*stats.Histogram{}, stacks: map[event.Op]*stackCount{},
	}
}

// follower sets the first limits of a run.
func (m *meter) follower(s *shared, names *processTable) follower {
	set := func(op event.Op, l threshold) {
		if err := s.tracer.SetLimit(op, l.stack, l.off); err != nil {
			s.log.Warn("cannot set limits", "op", op, "err", err)
		}
	}
	setLimits := func(span time.Duration) {
		for op, l := range m.limits(span) {
			set(op, l)
		}
	}
	setLimits(time.Second)
	return follower{
		records: func(u *workItem) {
			m.calls(u.records.Calls)
			for _, op := range m.overLimit() {
				set(op, m.limit(op, time.Second))
			}
		},
		ended: func(ends []event.Life) {
			for pid := range processesOf(ends) {
				m.exited(pid)
			}
		},
		second: func(t *second) {
			setLimits(t.span)
			m.status(t.status, t.span, names.name)
		},
	}
}

// keptEnded is how many ended processes stay listed: a machine may run many short ones for weeks.
const keptEnded = 32

// exited notes that a process ended. The calls of processes beyond keptEnded are kept as one sum.
func (m *meter) exited(pid uint32) {
	if m.procs[pid] == nil {
		return
	}
	m.ended = append(m.ended, pid)
	if len(m.ended) <= keptEnded {
		return
	}
	pid, m.ended = m.ended[0], m.ended[1:]
	p := m.procs[pid]
	if p == nil { // listed twice: the pid was reused
		return
	}
	for _, o := range p.ops {
		if o == nil {
			continue
		}
		if m.past[o.op] == nil {
			m.past[o.op] = new(stats.Histogram)
		}
		m.past[o.op].Merge(&o.hist)
	}
	delete(m.procs, pid)
	m.last = nil
}

func (m *meter) calls(calls []event.Call) {
	m.total += uint64(len(calls))
	for i := range calls {
		c := &calls[i]
		if m.last == nil || m.last.pid != c.PID {
			m.last = m.process(c.PID)
		}
		o := m.last.ops[c.Op.Slot()]
		if o == nil {
			o = &opMeter{op: c.Op}
			m.last.ops[c.Op.Slot()] = o
		}
		o.calls++
		o.hist.Add(c.Duration)
		o.longest = max(o.longest, c.Duration)
		if c.Stack != 0 {
			k := m.stacks[c.Op]
			if k == nil {
				k = &stackCount{}
				m.stacks[c.Op] = k
			}
			k.n++
		}
		if c.Failed() {
			o.errors++
		}
	}
}

func (m *meter) process(pid uint32) *procMeter {
	p := m.procs[pid]
	if p == nil {
		p = &procMeter{pid: pid}
		m.procs[pid] = p
	}
	return p
}

// threshold is the duration from which a call of an operation is unusual.
type threshold struct{ stack, off time.Duration }

const (
	minStack   = 50 * time.Microsecond
	minOff     = 100 * time.Microsecond
	firstSlow  = 10 * time.Millisecond // of an operation with too few samples
	firstOff   = time.Millisecond      // of a wait for the device in it, likewise
	unusual    = 4                     // times the median
	minSamples = 32                    // before a median is trusted
	// maxStacks is how many allocations a second get a stack, by operation: it shows where
	// leaked memory was allocated. A stack takes some microseconds.
	maxStacks = 500
	// maxSlow is how many calls of an operation a second may count as slow: if durations have
	// two modes, many are above any multiple of the median.
	maxSlow = 100
)

// limits derives each operation's limits from the medians so far, and from its rate in the last
// span. Call it before ops.
func (m *meter) limits(span time.Duration) map[event.Op]threshold {
	r := make(map[event.Op]threshold, len(event.Catalog))
	for i := range event.Catalog {
		r[event.Catalog[i].Op] = m.limit(event.Catalog[i].Op, span)
	}
	return r
}

// limit is that of one operation.
func (m *meter) limit(op event.Op, span time.Duration) threshold {
	var h stats.Histogram
	var recent uint64
	if past := m.past[op]; past != nil {
		h.Merge(past)
	}
	for _, p := range m.procs {
		if o := p.ops[op.Slot()]; o != nil {
			h.Merge(&o.hist)
			recent += o.calls - o.prev
		}
	}
	l := threshold{stack: firstSlow, off: firstOff} // until there are enough samples
	if h.Count() >= minSamples {
		u := time.Duration(unusual * h.Quantile(0.5))
		l = threshold{stack: max(u, minStack, slowest(&h, recent, span)), off: max(u, minOff)}
	}
	if op.Role() == event.RoleAlloc && float64(recent) < maxStacks*span.Seconds() {
		l.stack = 1 // 0 would mean never
	}
	return l
}

// manyStacks is how many calls of an operation may get a stack in a second before its limit is derived
// again: calls became more, or slower, than in the second before. Without that, the first of
// them would get all stacks that a CPU takes in a second, and the slowest, which come later, none.
const manyStacks = 3 * maxSlow

// overLimit lists the operations whose limits are to be derived again within the second.
func (m *meter) overLimit() (list []event.Op) {
	for op, k := range m.stacks {
		if k.n >= manyStacks && k.n >= k.listed+maxSlow {
			k.listed = k.n
			list = append(list, op)
		}
	}
	return list
}

const (
	stall     = 100 * time.Millisecond // shorter calls need not be reported at once
	farLonger = 10                     // times the 99th percentile of the operation
)

// unusual reports whether a call since the last ops took far longer than usual. Call it before ops.
func (m *meter) unusual() bool {
	for _, p := range m.procs {
		for _, o := range p.ops {
			if o == nil || o.longest < uint64(stall) || o.hist.Count() < minSamples {
				continue
			}
			if o.longest > farLonger*o.hist.Quantile(0.99) {
				return true
			}
		}
	}
	return false
}

// slowest is the duration that at most maxSlow calls a second exceed, of n calls in the last span
// with durations as in h. It is not below the usual long calls, such as the wait at the end of each
// token.
func slowest(h *stats.Histogram, n uint64, span time.Duration) time.Duration {
	share := maxSlow * span.Seconds() / float64(max(n, 1))
	if share >= 1 {
		return 0
	}
	return time.Duration(h.Covers(1-share)) + 1
}

// ops lists the operations, busiest in the last second first, then by calls.
func (m *meter) ops(span time.Duration, name func(uint32) string) []OpStatus {
	var r []OpStatus
	for pid, p := range m.procs {
		for _, o := range p.ops {
			if o == nil {
				continue
			}
			o.max, o.longest = max(o.max, o.longest), 0
			r = append(r, OpStatus{
				PID: pid, Comm: name(pid), Op: o.op, Calls: o.calls, Errors: o.errors,
				PerSecond: float64(o.calls-o.prev) / span.Seconds(),
				P50:       time.Duration(o.hist.Quantile(0.5)), P99: time.Duration(o.hist.Quantile(0.99)),
				Max: time.Duration(o.max),
			})
			o.prev = o.calls
		}
	}
	slices.SortFunc(r, func(a, b OpStatus) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.PID, b.PID),
			cmp.Compare(a.Op, b.Op))
	})
	return r
}

// status fills in the calls up to the end of a second.
func (m *meter) status(s *Status, span time.Duration, name func(uint32) string) {
	s.Unusual = m.unusual()
	s.Calls, s.PerSecond = m.total, float64(m.total-m.prev)/span.Seconds()
	s.Ops = m.ops(span, name)
	m.prev = m.total
	clear(m.stacks)
}
