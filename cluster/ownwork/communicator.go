package ownwork

import (
	"cmp"
	"time"

	"github.com/ingero-io/ingero/event"
)

// A rank may have several communicators: tensor parallel ranks reduce many times per step, data parallel ranks once
// or a few times, and all ranks together perhaps once. Steps are counted by the outermost communicator that is used
// in each step: the one with the most ranks, so the most peers; among equals, the one that is used least often. A
// communicator that is only used now and then, such as for validation, does not count.

const (
	// usedWithin is the time within which a communicator that is used in each step is used again.
	usedWithin = 10 * time.Second
	// rivalTakes is for how many seconds another communicator must be the better one.
	rivalTakes = 10
	// minOps is the initial size of a ring of operations.
	minOps = 64
	// lastSeq is the last number that is counted, so that no computed number wraps.
	lastSeq = 1<<32 - 1<<16
)

// communicator is one communicator of a process.
type communicator struct {
	handle      uint64
	known       bool   // what follows is known from a collective
	id          uint64 // 0: older than the tracing
	rank, ranks int32
	born        uint64 // Unix ns of its first operation

	// ops is a ring of the last operations, by number modulo its size, which is a power of two.
	ops         []op
	first, last uint32 // numbers of the oldest and newest

	every   uint32 // operations per step, 0: not known
	matched uint32 // operations since the last one that broke the pattern
	looked  uint32 // number up to which a pattern was searched
	full    bool   // as many operations as can be kept were searched

	next uint32 // number of the step to be taken next
}

// op is an operation.
type op struct {
	at       uint64 // Unix ns; 0: its record was dropped
	sign     uint32 // hash of its kind and size, see signOf
	launches uint32 // launches of the process before it; may wrap
	full     uint32 // us that the process spent before it in launches that found the queue full; may wrap
}

func (m *communicator) op(seq uint32) *op { return &m.ops[seq&uint32(len(m.ops)-1)] }

// length returns how many operations are kept.
func (m *communicator) length() uint32 { return m.last - m.first + 1 }

// whole reports whether the records of all operations from one number to another are there.
func (m *communicator) whole(from, to uint32) bool {
	for seq := from; seq <= to; seq++ {
		if m.op(seq).at == 0 {
			return false
		}
	}
	return true
}

// latest returns the time of the last operation, Unix ns.
func (m *communicator) latest() uint64 {
	if m.born == 0 {
		return 0
	}
	return m.op(m.last).at
}

// add takes in an operation.
func (m *communicator) add(x *event.Collective, launches, full uint32) {
	if x.Seq == 0 || x.Seq > lastSeq || x.Seq == m.last && m.born != 0 {
		return
	}
	switch {
	case m.born == 0:
		m.born = x.Start
		m.reset(x.Seq)
	case x.Seq < m.last: // the handle belongs to another communicator now
		*m = communicator{handle: m.handle, born: x.Start, ops: m.ops}
		m.reset(x.Seq)
	case x.Seq-m.last > maxOps: // nearly all records were dropped
		m.reset(x.Seq)
	}
	for seq := m.last + 1; seq < x.Seq; seq++ { // their records were dropped
		m.put(op{sign: uint32(mix(uint64(seq)))})
	}
	m.put(op{x.At, signOf(x), launches, full})
}

// put appends an operation.
func (m *communicator) put(o op) {
	if m.length() == uint32(len(m.ops)) {
		m.room()
	}
	m.last++
	*m.op(m.last) = o
	if m.every == 0 {
		return
	}
	if m.length() > m.every && m.op(m.last-m.every).sign == o.sign {
		m.matched++
	} else {
		m.matched = 0
	}
}

// reset makes seq the first operation.
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

// lasts returns the mean length of a step in ns, over the operations that are kept.
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

// outer compares two usable communicators: negative if steps should be counted by a.
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

// choose decides which communicator steps are counted by. Another one must be better for a while.
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

// begin starts to count steps by a communicator.
func (p *process) begin(m *communicator) {
	p.chosen, p.rival, p.rivalFor = m, nil, 0
	p.follow = follow{}
	m.next = 0
}

// several reports whether the process has several ranks of one communicator.
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
