// Package cluster joins what ranks did together, on one machine or on several: which parts of ranks are one
// collective operation, who entered it last, how much the clocks of machines differ, and the joint report of several
// machines. It does not say why a rank was late: package diagnose finds that out. It is pure.
package cluster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ingero-io/ingero/event"
)

const (
	minLate = 200_000 // ns after the others from which on a rank counts as late
	dearer  = 3       // times the other ranks' average cost that a straggler must cost
)

// Operation is one collective operation, or a send with its receive, of the recorded ranks: two or more, each once.
type Operation struct {
	Members []*event.Collective // by the time they entered
}

// Last returns the part of the rank that entered last.
func (o *Operation) Last() *event.Collective { return o.Members[len(o.Members)-1] }

// Others returns when the last rank but one entered, Unix ns.
func (o *Operation) Others() uint64 { return o.Members[len(o.Members)-2].At }

// Late returns how long all others had to wait for the last rank alone, ns.
func (o *Operation) Late() uint64 { return o.Last().At - o.Others() }

// operationKey is the same on all ranks of an operation.
type operationKey struct {
	id       uint64
	seq      uint32
	from, to int32 // of a send and its receive, otherwise -1
}

func keyOf(c *event.Collective) operationKey {
	k := operationKey{c.CommID, c.Seq, -1, -1}
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

// Limits say which lateness is reported, ns.
type Limits struct {
	Stall     uint64 // a single lateness this long always counts
	Beginning uint64 // after a rank's first entry, while it has only just begun
}

// Operations are the collective operations of a recording. The zero value has none.
type Operations struct {
	limits    Limits
	at        map[barrier][]*Operation
	straggler map[member]bool
	rotations map[uint64]*Rotation        // by communicator
	complete  map[uint32][]uint64         // by process: when the last rank entered its collectives, by time
	waits     map[event.Thread][]Interval // of threads for collectives, by time, without overlaps
	begun     map[member]uint64           // when ranks entered their communicator's first operation, Unix ns
	of        map[uint32]map[uint64]bool  // by process: its communicators
}

// Link joins the parts of ranks, to which it keeps pointers.
func Link(limits Limits, parts ...[]event.Collective) Operations {
	ops := Operations{
		limits: limits,
		at:     map[barrier][]*Operation{}, straggler: map[member]bool{}, rotations: map[uint64]*Rotation{},
		complete: map[uint32][]uint64{},
		waits:    map[event.Thread][]Interval{}, begun: map[member]uint64{}, of: map[uint32]map[uint64]bool{},
	}
	cost := map[member]uint64{}
	all := map[uint64][]*Operation{}
	ranks := map[uint64]map[int32]bool{}
	for k, o := range ops.gather(parts) {
		slices.SortFunc(o.Members, func(a, b *event.Collective) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Rank, b.Rank))
		})
		if !o.sound() {
			continue
		}
		if ranks[k.id] == nil {
			ranks[k.id] = map[int32]bool{}
		}
		for _, c := range o.Members {
			ranks[k.id][c.Rank] = true
			ops.complete[c.PID] = append(ops.complete[c.PID], o.Last().At)
			if b := (barrier{event.Thread{PID: c.PID, TID: c.SyncTID}, c.SyncStart}); c.SyncOp != 0 && c != o.Last() {
				ops.at[b] = append(ops.at[b], o)
			}
		}
		if ops.begins(o) {
			continue
		}
		all[k.id] = append(all[k.id], o)
		if o.Late() >= minLate {
			cost[member{k.id, o.Last().Rank}] += o.Late()
		}
	}
	ops.order()
	for who, ns := range cost {
		var rest uint64
		for r := range ranks[who.id] {
			if r != who.rank {
				rest += cost[member{who.id, r}]
			}
		}
		n := uint64(len(ranks[who.id]) - 1)
		ops.straggler[who] = n > 0 && ns*n >= dearer*rest
	}
	for id, list := range all {
		named := slices.ContainsFunc(list, func(o *Operation) bool { return ops.straggler[member{id, o.Last().Rank}] })
		if !named {
			ops.rotations[id] = rotation(list)
		}
	}
	return ops
}

// gather joins the ranks' parts of each operation, and notes who waited for collectives, when ranks entered their
// first one, and which processes are in a communicator.
func (ops *Operations) gather(parts [][]event.Collective) map[operationKey]*Operation {
	by := map[operationKey]*Operation{}
	for _, list := range parts {
		for i := range list {
			c := &list[i]
			if c.SyncOp != 0 {
				t := event.Thread{PID: c.PID, TID: c.SyncTID}
				ops.waits[t] = append(ops.waits[t], Interval{c.SyncStart, c.SyncEnd})
			}
			if !matched(c) {
				continue
			}
			if c.Seq == 1 {
				ops.begun[member{c.CommID, c.Rank}] = c.At
			}
			k := keyOf(c)
			if by[k] == nil {
				by[k] = &Operation{}
			}
			if ops.of[c.PID] == nil {
				ops.of[c.PID] = map[uint64]bool{}
			}
			ops.of[c.PID][c.CommID] = true
			by[k].Members = append(by[k].Members, c)
		}
	}
	return by
}

// order sorts the lists by time.
func (ops *Operations) order() {
	for _, list := range ops.complete {
		slices.Sort(list)
	}
	for t, list := range ops.waits {
		ops.waits[t] = Joined(list)
	}
	for _, list := range ops.at {
		slices.SortFunc(list, func(a, b *Operation) int {
			x, y := a.Last(), b.Last()
			return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Comm, y.Comm))
		})
	}
}

// matched reports whether it is known which operation a rank's part belongs to.
func matched(c *event.Collective) bool {
	return c.Ret == 0 && c.CommID != 0 && c.Seq != 0 && c.Rank >= 0
}

// sound reports whether a collective operation has two members or more, each rank once.
func (o *Operation) sound() bool {
	seen := map[int32]bool{}
	for _, c := range o.Members {
		if seen[c.Rank] {
			return false
		}
		seen[c.Rank] = true
	}
	return len(o.Members) > 1
}

// Together reports whether two processes are ranks of one communicator. NCCL refuses
// two ranks on one GPU.
func (ops *Operations) Together(a, b uint32) bool {
	for id := range ops.of[a] {
		if ops.of[b][id] {
			return true
		}
	}
	return false
}

// WaitedFor returns the operations that a call waited for and others entered later, in the order in which they were
// complete. The call is identified by its thread and its start, Unix ns.
func (ops *Operations) WaitedFor(t event.Thread, start uint64) []*Operation {
	return ops.at[barrier{t, start}]
}

// Waits returns a thread's own parts in operations that it waited for in a call: one for each such call, by the
// call's start.
func (ops *Operations) Waits(t event.Thread) []*event.Collective {
	first := map[uint64]*event.Collective{}
	for b, list := range ops.at {
		if b.Thread != t {
			continue
		}
		for _, o := range list {
			for _, c := range o.Members {
				if c.SyncStart == b.start && c.PID == t.PID && c.SyncTID == t.TID && first[b.start] == nil {
					first[b.start] = c
				}
			}
		}
	}
	list := make([]*event.Collective, 0, len(first))
	for _, start := range slices.Sorted(maps.Keys(first)) {
		list = append(list, first[start])
	}
	return list
}

// Waiting returns when a thread waited for collectives, whether or not others were late: by time, without overlaps.
func (ops *Operations) Waiting(t event.Thread) []Interval { return ops.waits[t] }

// CompleteBefore returns when the last rank had entered the latest of a process's operations before a time, Unix ns;
// false if there is none.
func (ops *Operations) CompleteBefore(pid uint32, at uint64) (uint64, bool) {
	ends := ops.complete[pid]
	i, _ := slices.BinarySearch(ends, at)
	if i == 0 {
		return 0, false
	}
	return ends[i-1], true
}

// Straggles reports whether the last rank is reported: it is late repeatedly, in turn with others, or very late. Small
// delays of one rank after another are normal.
func (ops *Operations) Straggles(o *Operation) bool {
	last := o.Last()
	again := o.Late() >= minLate && ops.straggler[member{last.CommID, last.Rank}] || ops.Rotation(o) != nil
	return (again || o.Late() >= ops.limits.Stall) && !ops.begins(o)
}

// begins reports whether the last rank had only just come to its communicator's first operation, and was very late:
// it loaded its code after others. That does not recur.
func (ops *Operations) begins(o *Operation) bool {
	last := o.Last()
	at, ok := ops.begun[member{last.CommID, last.Rank}]
	return ok && o.Late() >= ops.limits.Stall && last.At < at+ops.limits.Beginning
}
