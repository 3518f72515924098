package ownwork

import (
	"cmp"
	"time"

	"github.com/ingero-io/ingero/event"
)

// A rank may have several communicators: tensor parallel ranks reduce many times a step, data parallel
// ones once or a few times, and all ranks together perhaps once. Steps are counted by the outermost one
// that is used in each step: it has the most ranks, so the most peers; of those with as many, the one
// that is used least often. One that is used now and then only, such as for validation, is not asked.

const (
	// usedWithin is the time within which a communicator is used in each step.
	usedWithin = 10 * time.Second
	// rivalTakes is how many seconds another communicator must be the better one.
	rivalTakes = 10
	// minOps is the size that a ring of operations begins with.
	minOps = 64
	// lastSeq is the last number that is counted, so that none that is computed wraps.
	lastSeq = 1<<32 - 1<<16
)

// communicator is one communicator of a process.
type communicator struct {
	handle      uint64
	known       bool   // a collective told the following
	id          uint64 // 0: older than the tracing
	rank, ranks int32
	born        uint64 // Unix ns of its first operation

	// ops are the last operations, by number modulo their count, which is a power of two.
	ops         []op
	first, last uint32 // numbers of the oldest and newest

	every   uint32 // operations a step, 0: not known
	matched uint32 // operations since the last one that did not repeat the pattern
	looked  uint32 // number up to which a pattern was looked for
	full    bool   // as many operations as are kept were looked at

	next uint32 // number of the step to take next
}

// op is an operation.
type op struct {
	at       uint64 // Unix ns; 0: its record was dropped
	sign     uint32 // what it is, see signOf
	launches uint32 // of the process before it; it may wrap
	full     uint32 // us in which launches of the process found the queue full before it; it may wrap
}

func (m *communicator) op(seq uint32) *op { return &m.ops[seq&uint32(len(m.ops)-1)] }

// count is how many operations are kept.
func (m *communicator) count() uint32 { return m.last - m.first + 1 }

// whole reports whether no record of the operations from one number to another was dropped.
func (m *communicator) whole(from, to uint32) bool {
	for seq := from; seq <= to; seq++ {
		if m.op(seq).at == 0 {
			return false
		}
	}
	return true
}

// latest is the time of the last operation, Unix ns.
func (m *communicator) latest() uint64 {
	if m.born == 0 {
		return 0
	}
	return m.op(m.last).at
}

// add takes an operation.
func (m *communicator) add(x *event.Collective, launches, full uint32) {
	if x.Seq == 0 || x.Seq > lastSeq || x.Seq == m.last && m.born != 0 {
		return
	}
	switch {
	case m.born == 0:
		m.born = x.Start
		m.reset(x.Seq)
	case x.Seq < m.last: // the handle is another communicator's now
		*m = communicator{handle: m.handle, born: x.Start, ops: m.ops}
		m.reset(x.Seq)
	case x.Seq-m.last > maxOps: // as good as all were dropped
		m.reset(x.Seq)
	}
	for seq := m.last + 1; seq < x.Seq; seq++ { // their records were dropped
		m.put(op{sign: uint32(mix(uint64(seq)))})
	}
	m.put(op{x.At, signOf(x), launches, full})
}

// put appends an operation.
func (m *communicator) put(o op) {
	if m.count() == uint32(len(m.ops)) {
		m.room()
	}
	m.last++
	*m.op(m.last) = o
	if m.every == 0 {
		return
	}
	if m.count() > m.every && m.op(m.last-m.every).sign == o.sign {
		m.matched++
	} else {
		m.matched = 0
	}
}

// reset begins with an operation.
func (m *communicator) reset(seq uint32) {
	if len(m.ops) == 0 {
		m.ops = make([]op, minOps)
	}
	m.first, m.last, m.matched, m.looked, m.full = seq, seq-1, 0, 0, false
}

// room makes room for one operation.
func (m *communicator) room() {
	if len(m.ops) == maxOps {
		m.first++
		return
	}
	grown := communicator{ops: make([]op, 2*len(m.ops))}
	for seq := m.first; seq != m.last+1; seq++ {
		*grown.op(seq) = *m.op(seq)
	}
	m.ops = grown.ops
}

// lasts is how long a step takes, ns, on average of the operations that are kept.
func (m *communicator) lasts() float64 {
	first := m.first
	for m.op(first).at == 0 {
		first++
	}
	if first >= m.last {
		return 0
	}
	took := m.op(m.last).at - min(m.op(first).at, m.op(m.last).at)
	return float64(took) / float64(m.last-first) * float64(m.every)
}

// usable reports whether steps can be counted by the communicator now.
func (m *communicator) usable(at uint64) bool {
	if m.id == 0 || m.every == 0 || m.ranks == 1 {
		return false
	}
	return float64(m.latest())+max(float64(silentAfter), 4*m.lasts()) > float64(at)
}

// outer compares two usable communicators: below 0 if steps are rather counted by a.
func outer(a, b *communicator) int {
	each := func(m *communicator) int {
		if m.lasts() <= float64(usedWithin) {
			return 0
		}
		return 1
	}
	if c := cmp.Compare(each(a), each(b)); c != 0 {
		return c
	}
	if each(a) != 0 {
		return cmp.Or(cmp.Compare(a.lasts(), b.lasts()), cmp.Compare(a.id, b.id))
	}
	perOp := func(m *communicator) float64 { return m.lasts() / float64(m.every) }
	return cmp.Or(cmp.Compare(b.ranks, a.ranks), cmp.Compare(perOp(b), perOp(a)), cmp.Compare(a.id, b.id))
}

// choose decides by which communicator steps are counted. Another one must be better for a while.
func (p *process) choose(at uint64) {
	var best *communicator
	for _, m := range p.comms {
		if m.usable(at) && (best == nil || outer(m, best) < 0) {
			best = m
		}
	}
	now := p.chosen
	if now != nil && (p.comms[now.handle] != now || !now.usable(at)) {
		now = nil
	}
	switch {
	case best == now:
		p.rival, p.rivalFor = nil, 0
	case now == nil:
		p.begin(best)
	case p.rival != best:
		p.rival, p.rivalFor = best, 1
	default:
		if p.rivalFor++; p.rivalFor >= rivalTakes {
			p.begin(best)
		}
	}
	if best == nil {
		p.chosen = nil
	}
}

// begin begins to count steps by a communicator.
func (p *process) begin(m *communicator) {
	p.chosen, p.rival, p.rivalFor = m, nil, 0
	p.follow = follow{}
	m.next = 0
}

// several reports whether two communicators of the process are one: it has several ranks of it.
func (p *process) several() bool {
	for _, a := range p.comms {
		for _, b := range p.comms {
			if a != b && a.id != 0 && a.id == b.id && a.rank != b.rank {
				return true
			}
		}
	}
	return false
}
