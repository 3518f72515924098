package ownwork

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// What is taken for a wait in collectives is the time in which a thread that dispatches
//
//   - is in the first synchronisation that comes after a collective (package account/collective matches
//     them); the GPU's own work before and after the collective is part of it, because it cannot be seen
//     from the host when the collective began;
//   - copies to the host just before such a synchronisation: a copy to pageable memory waits itself;
//   - is in a launch, or a collective's call, that found the launch queue full while a collective was not
//     waited for yet.
//
// A synchronisation that comes after no collective is own work: it waits for the rank's own GPU.

const (
	// fullQueue is from how many launches since the last synchronisation on the launch queue may be full.
	// Some may be in another stream's queue.
	fullQueue = event.LaunchQueue / 2
	// plainLaunch and collectiveLaunch are what a launch and a collective's call take at most if the queue
	// is not full, ns on a CPU. On an H100 launches took 4 us, and up to 2.8 ms in a full queue.
	plainLaunch, collectiveLaunch = 20_000, 200_000
	// copyLeast is the shortest copy that counts, ns.
	copyLeast = 10_000
)

// waits are the waits of a process's threads that dispatch.
type waits struct {
	list   []span            // of synchronisations
	syncs  []span            // all synchronisations, those that waited for no collective too
	full   uint64            // ns of launches that found the queue full, in all: they are too many to list
	open   bool              // there is a collective that no synchronisation came after
	queued uint32            // launches since the last synchronisation
	copies map[uint64]uint64 // by the begin of a synchronisation, that of the copy before it; Unix ns
	kept   uint64            // Unix ns: waits that ended before are forgotten
}

// launched takes a call that adds to the launch queue and usually takes so many ns at most. Calls that
// sleep wait for something else.
func (w *waits) launched(c *event.Call, usual uint64) {
	w.queued += max(c.Weight, 1)
	if c.Duration <= usual || w.queued < fullQueue || !w.open {
		return
	}
	if c.Duration-min(c.Ledger.Total(), c.Duration) > usual {
		w.full += c.Duration
	}
}

// synchronised takes a synchronisation, and when the copy to the host just before it began, 0 if there was
// none. Whether it came after a collective is not known yet.
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

// waited takes a collective that was waited for.
func (w *waits) waited(x *event.Collective) {
	s := span{x.SyncStart, x.SyncEnd}
	if n := len(w.list); n > 0 && w.list[n-1] == s { // one of several
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

// settle orders the waits, and makes one of those that overlap.
func (w *waits) settle() {
	clear(w.copies)
	w.list, w.syncs = merged(w.list), merged(w.syncs)
}

// merged orders spans, and makes one of those that overlap.
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

// within is how much of a time was waited, ns, and when the last wait in it ended (Unix ns; 0 if there was
// none). Times must be asked in order: waits before them are forgotten.
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

// ownGPU is how much of a time was spent in synchronisations that waited for no collective, ns. It is asked as, and
// after, within.
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

// forget forgets the waits that ended before a time.
func (w *waits) forget(before uint64) {
	w.kept = max(w.kept, before)
	w.list, w.syncs = since(w.list, before), since(w.syncs, before)
}

// since is what does not end before a time.
func since(list []span, before uint64) []span {
	n := 0
	for n < len(list) && list[n].to <= before {
		n++
	}
	return slices.Delete(list, 0, n)
}
