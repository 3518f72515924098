package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

const (
	minLate           = 200_000 // ns after the others from which a rank counts as late
	mutuallyExclusive = 3       // times what the other ranks cost on average that a straggler must
)

// collectiveOp is one collective operation, or a send with its receive, of the ranks
// that were recorded.
type collectiveOp struct {
	members []*event.Collective // by the time they entered
}

func (m *collectiveOp) last() *event.Collective { return m.members[len(m.members)-1] }

// others is when the last rank but one entered.
func (m *collectiveOp) others() uint64 { return m.members[len(m.members)-2].At }

// late is how long everybody else had to wait for the last rank alone.
func (m *collectiveOp) late() uint64 { return m.last().At - m.others() }

// collectiveKey is the same on all ranks of an operation.
type collectiveKey struct {
	id       uint64
	seq      uint32
	from, to int32 // of a send and its receive, else -1
}

func keyOf(c *event.Collective) collectiveKey {
	k := collectiveKey{c.CommID, c.Seq, -1, -1}
	switch c.Op {
	case event.OpSend:
		k.from, k.to = c.Rank, c.Peer
	case event.OpRecv:
		k.from, k.to = c.Peer, c.Rank
	}
	return k
}

// barrier is a call that waited for collectives.
type barrier struct {
	event.Thread
	start uint64
}

type member struct {
	id   uint64
	rank int32
}

// collectiveOps are the collective operations of a recording.
type collectiveOps struct {
	at        map[barrier][]*collectiveOp
	straggler map[member]bool
	complete  map[uint32][]uint64         // by process: when the last rank entered its collectives, by time
	waits     map[event.Thread][]interval // of threads for collectives, by time, of which none overlap
	begun     map[member]uint64           // when ranks entered their communicator's first operation, Unix ns
	of        map[uint32]map[uint64]bool  // by process: its communicators
}

// together reports whether two processes are ranks of one communicator. NCCL refuses
// two ranks on one GPU.
func (m *collectiveOps) together(a, b uint32) bool {
	for id := range m.of[a] {
		if m.of[b][id] {
			return true
		}
	}
	return false
}

func (ev *evidence) readCollectives() {
	ev.collectiveOps = collectiveOps{
		at: map[barrier][]*collectiveOp{}, straggler: map[member]bool{}, complete: map[uint32][]uint64{},
		waits: map[event.Thread][]interval{}, begun: map[member]uint64{}, of: map[uint32]map[uint64]bool{},
	}
	cost := map[member]uint64{}
	ranks := map[uint64]map[int32]bool{}
	for k, m := range ev.gather() {
		slices.SortFunc(m.members, func(a, b *event.Collective) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Rank, b.Rank))
		})
		if !m.sound() {
			continue
		}
		if ranks[k.id] == nil {
			ranks[k.id] = map[int32]bool{}
		}
		for _, c := range m.members {
			ranks[k.id][c.Rank] = true
			ev.collectiveOps.complete[c.PID] = append(ev.collectiveOps.complete[c.PID], m.last().At)
			if b := (barrier{event.Thread{PID: c.PID, TID: c.SyncTID}, c.SyncStart}); c.SyncOp != 0 && c != m.last() {
				ev.collectiveOps.at[b] = append(ev.collectiveOps.at[b], m)
			}
		}
		if m.late() >= minLate && !ev.collectiveOps.begins(m) {
			cost[member{k.id, m.last().Rank}] += m.late()
		}
	}
	ev.collectiveOps.order()
	for who, ns := range cost {
		var rest uint64
		for r := range ranks[who.id] {
			if r != who.rank {
				rest += cost[member{who.id, r}]
			}
		}
		n := uint64(len(ranks[who.id]) - 1)
		ev.collectiveOps.straggler[who] = n > 0 && ns*n >= mutuallyExclusive*rest
	}
}

// gather puts the ranks' parts of each operation together, and notes who waited for collectives,
// when ranks entered their first one, and which processes are in a communicator.
func (ev *evidence) gather() map[collectiveKey]*collectiveOp {
	by := map[collectiveKey]*collectiveOp{}
	own := len(ev.collectives)
	for i := range own + len(ev.remoteCollectives) {
		var c *event.Collective
		if i < own {
			c = &ev.collectives[i]
		} else {
			c = &ev.remoteCollectives[i-own]
		}
		if c.SyncOp != 0 {
			t := event.Thread{PID: c.PID, TID: c.SyncTID}
			ev.collectiveOps.waits[t] = append(ev.collectiveOps.waits[t], interval{c.SyncStart, c.SyncEnd})
		}
		if !matched(c) {
			continue
		}
		if c.Seq == 1 {
			ev.collectiveOps.begun[member{c.CommID, c.Rank}] = c.At
		}
		k := keyOf(c)
		if by[k] == nil {
			by[k] = &collectiveOp{}
		}
		if ev.collectiveOps.of[c.PID] == nil {
			ev.collectiveOps.of[c.PID] = map[uint64]bool{}
		}
		ev.collectiveOps.of[c.PID][c.CommID] = true
		by[k].members = append(by[k].members, c)
	}
	return by
}

// order sorts the lists by time.
func (m *collectiveOps) order() {
	for _, list := range m.complete {
		slices.Sort(list)
	}
	for t, list := range m.waits {
		m.waits[t] = joined(list)
	}
	for _, list := range m.at {
		slices.SortFunc(list, func(a, b *collectiveOp) int {
			x, y := a.last(), b.last()
			return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Comm, y.Comm))
		})
	}
}

// matched reports whether it is known which operation a rank's part belongs to.
func matched(c *event.Collective) bool {
	return c.Ret == 0 && c.CommID != 0 && c.Seq != 0 && c.Rank >= 0
}

// sound reports whether a collective operation has two members or more, each rank once.
func (m *collectiveOp) sound() bool {
	seen := map[int32]bool{}
	for _, c := range m.members {
		if seen[c.Rank] {
			return false
		}
		seen[c.Rank] = true
	}
	return len(m.members) > 1
}

// straggles reports whether the last rank is to be named: it is so again and again,
// or very late. Small delays of one rank after another are normal.
func (m *collectiveOps) straggles(x *collectiveOp) bool {
	last := x.last()
	again := x.late() >= minLate && m.straggler[member{last.CommID, last.Rank}]
	return (again || x.late() >= uint64(minStall)) && !m.begins(x)
}

// begins reports whether the last rank had only just come to its communicator's first
// operation, and was very late: it loaded its code after others. That is over then.
func (m *collectiveOps) begins(x *collectiveOp) bool {
	last := x.last()
	at, ok := m.begun[member{last.CommID, last.Rank}]
	return ok && x.late() >= uint64(minStall) && last.At < at+uint64(beginning)
}
