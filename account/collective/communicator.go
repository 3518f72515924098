package collective

import "github.com/ingero-io/ingero/event"

// derive handles a communicator that is derived from another one. All ranks derive the same ones in the same order,
// so the parent, the sequence number and the part identify it. Ranks keep their numbers in the parent: the job knows
// them by those.
func (p *process) derive(c *event.Call, k kind) {
	parent := p.comms[c.Args[1]]
	if parent == nil {
		return
	}
	parent.children++
	if c.Args[0] == 0 {
		return // not in any part
	}
	m := &communicator{rank: parent.rank, child: true}
	part := c.Args[2]
	if k == shrink {
		m.ranks = parent.ranks - int32(c.Args[2])
		part |= 1 << 32
	}
	if parent.id != 0 {
		m.id = mix(mix(parent.id, parent.children), part)
	}
	p.made(c.Args[0], m)
}

// made keeps a communicator. A program that makes more than any needs loses what is known of its others.
func (p *process) made(handle uint64, m *communicator) {
	if p.comms[handle] == nil && len(p.comms) >= maxComms {
		clear(p.comms)
	}
	p.comms[handle] = m
}

// mix returns an id from an id and a number. It is never 0.
func mix(id, n uint64) uint64 {
	id = (id ^ n) * 1099511628211
	id ^= id >> 32
	return max(id>>1, 1)
}

// number assigns a sequence number to an operation that the tracer did not number.
func (m *communicator) number(x *event.Collective) uint32 {
	var l lane
	if x.PairWise() {
		l = lane{x.Op, x.Peer}
	}
	if m.counted == nil || len(m.counted) >= max(maxLanes, lanesOfRank*int(min(m.ranks, mostRanks))) {
		m.counted = map[lane]uint32{}
	}
	m.counted[l]++
	return m.counted[l]
}
