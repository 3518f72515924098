package ownwork

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// A wait in collectives is the time in which a dispatching thread
//
//   - is in the first synchronisation after a collective (package account/collective matches them). This includes
//     the GPU's own work before and after the collective, because the host cannot see when the collective began;
//   - copies to the host just before such a synchronisation: a copy to pageable memory itself waits;
//   - is in a launch or a collective's call that found the launch queue full, while a collective had no
//     synchronisation yet.
//
// A synchronisation after no collective is own work: it waits for the rank's own GPU.

const (
	// fullQueue is the number of launches since the last synchronisation from which on the launch queue may be full.
	// Some may be in another stream's queue.
	fullQueue = event.LaunchQueue / 2
	// plainLaunch and collectiveLaunch bound a launch and a collective's call if the queue is not full, in ns on a CPU.
	// On an H100 launches took 4 us, and up to 2.8 ms in a full queue.
	plainLaunch, collectiveLaunch = 20_000, 200_000
	// copyLeast is the shortest copy that counts, ns.
	copyLeast = 10_000
)

// waits are the waits of a process's dispatching threads.
type waits struct {
	list   []span            // waits in collectives
	syncs  []span            // all synchronisations, also those that waited for no collective
	full   uint64            // total ns of launches that found the queue full: too many to list
	open   bool              // a collective had no synchronisation yet
	queued uint32            // launches since the last synchronisation
	copies map[uint64]uint64 // begin of the copy before a synchronisation, by the latter's begin; Unix ns
	kept   uint64            // Unix ns: waits that ended earlier are dropped
}

// launched takes in a call that adds to the launch queue and usually takes at most usual ns. A call that sleeps waits
// for something else.
func (w *waits) launched(c *event.Call, usual uint64) {
	w.queued += max(c.Weight, 1)
	if c.Duration <= usual || w.queued < fullQueue || !w.open {
		return
	}
	if c.Duration-min(c.Ledger.Total(), c.Duration) > usual {
		w.full += c.Duration
	}
}

// synchronised takes in a synchronisation; copied is when the copy to the host just before it began, 0 if there was
// none. It is not known yet whether it came after a collective.
func (w *waits) synchronised(c *event.Call, copied uint64) {
	w.queued, w.open = 0, false
	if len(w.syncs) < maxWaits {
		w.syncs = append(w.syncs, span{c.Start, c.End()})
	}
	if copied == 0 || c.Start-min(copied, c.Start) < copyLeast {
		return
	}
	if w.copies == nil {
		w.copies = map[uint64]uint64{}
	}
	if len(w.copies) < maxWaits {
		w.copies[c.Start] = copied
	}
}

// waited takes in a collective that was waited for.
func (w *waits) waited(x *event.Collective) {
	s := span{x.SyncStart, x.SyncEnd}
	if n := len(w.list); n > 0 && w.list[n-1] == s { // a wait for several collectives
		return
	}
	if at, ok := w.copies[x.SyncStart]; ok {
		if at < x.At {
			w.add(span{x.At, x.SyncStart})
		} else {
			w.add(span{at, x.SyncStart})
		}
	}
	w.add(s)
}

func (w *waits) add(s span) {
	if len(w.list) < maxWaits {
		w.list = append(w.list, s)
	}
}

// settle sorts the waits and merges those that overlap.
func (w *waits) settle() {
	clear(w.copies)
	w.list, w.syncs = merged(w.list), merged(w.syncs)
}

// merged sorts spans and merges those that overlap.
func merged(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, s := range list {
		if n > 0 && s.from <= list[n-1].to {
			list[n-1].to = max(list[n-1].to, s.to)
			continue
		}
		list[n] = s
		n++
	}
	return list[:n]
}

// within returns how much of an interval was waited, ns, and when the last wait in it ended (Unix ns; 0 if there was
// none). Ask for intervals in order: earlier waits are dropped.
func (w *waits) within(from, to uint64) (ns, until uint64) {
	w.forget(from)
	for _, s := range w.list {
		if s.from >= to {
			break
		}
		ns, until = ns+s.overlap(from, to), min(s.to, to)
	}
	return ns, until
}

// ownGPU returns how much of an interval was spent in synchronisations that waited for no collective, ns. Call it
// after within for the same interval.
func (w *waits) ownGPU(from, to uint64) (ns uint64) {
	waits := w.list
	for _, s := range w.syncs {
		if s.from >= to {
			break
		}
		ns += s.overlap(from, to)
		for len(waits) > 0 && waits[0].to <= s.from {
			waits = waits[1:]
		}
		for _, of := range waits {
			if of.from >= s.to {
				break
			}
			ns -= of.overlap(max(s.from, from), min(s.to, to))
		}
	}
	return ns
}

// forget drops the waits that ended before a time.
func (w *waits) forget(before uint64) {
	w.kept = max(w.kept, before)
	w.list, w.syncs = since(w.list, before), since(w.syncs, before)
}

// since returns the spans that do not end before a time.
func since(list []span, before uint64) []span {
	n := 0
	for n < len(list) && list[n].to <= before {
		n++
	}
	return slices.Delete(list, 0, n)
}
