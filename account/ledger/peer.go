package ledger

import "github.com/ingero-io/ingero/event"

// Keys of Index.peers.
type (
	inodeOf struct {
		tid   uint32
		inode uint64
	}
	portsOf   struct{ local, remote uint16 } // of this machine
	condition struct {
		pid   uint32
		words uint64
	}
)

// minSignals is how often a thread must have been seen to release a futex to count as its usual releaser.
const minSignals = 3

// conditionOf returns the condition variable of a futex. One of glibc has two adjacent futexes, on which waiters wait
// alternately.
func conditionOf(o *event.OffCPU) condition { return condition{o.PID, o.Futex &^ 7} }

// renewGap is how soon after a time-out a thread waits again if it continues the same wait, ns.
const renewGap = 1_000_000

// renewals adds, for the waits of a thread that timed out and that it continued at once, the later wait whose waker is
// known. CPython waits for its interpreter lock like this, with a time-out of 5 ms. The rows are those of one thread,
// by start.
func renewals(rows []*event.OffCPU, into map[*event.OffCPU]*event.OffCPU) {
	for i := len(rows) - 2; i >= 0; i-- {
		o, next := rows[i], rows[i+1]
		if o.Class != event.Futex || o.Futex == 0 || o.WakerFutex != 0 ||
			next.Class != event.Futex || conditionOf(next) != conditionOf(o) || next.Start > end(o)+renewGap {
			continue
		}
		if later := into[next]; later != nil {
			into[o] = later
		} else if next.WakerFutex == next.Futex {
			into[o] = next
		}
	}
}

// learnPeers finds the threads at the other end of sockets: the thread that mostly ends the waits, or, for a
// connection within the machine, the thread that mostly waits at the other end. For a futex it is the thread that
// released it in most of the waits that did not time out.
func (x *Index) learnPeers(rows []event.OffCPU) map[any]uint32 {
	by := map[any]map[uint32]uint64{}
	add := func(key any, tid uint32, ns uint64) {
		if by[key] == nil {
			by[key] = map[uint32]uint64{}
		}
		by[key][tid] += ns
	}
	for i := range rows {
		o := &rows[i]
		if o.Class == event.Futex && o.Futex != 0 && o.WakerFutex&^7 == o.Futex&^7 && o.Waker.TID != 0 &&
			o.Waker.PID == o.PID {
			add(conditionOf(o), o.Waker.TID, 1)
		}
		if o.Class != event.Network {
			continue
		}
		if o.Inode != 0 && x.delivers(o) {
			add(inodeOf{o.TID, o.Inode}, o.Waker.TID, 1)
		}
		if k := &o.Socket; k.RemotePort != 0 && !k.IsRemote() {
			add(portsOf{k.LocalPort, k.RemotePort}, o.TID, o.Duration)
		}
	}
	peers := map[any]uint32{}
	for key, tids := range by {
		var best uint32
		var all uint64
		for _, n := range tids {
			all += n
		}
		for tid, n := range tids {
			if most := tids[best]; best == 0 || n > most || n == most && tid < best {
				best = tid
			}
		}
		if _, ok := key.(condition); ok && (tids[best] < minSignals || tids[best] <= all/2) {
			continue
		}
		peers[key] = best
	}
	return peers
}

// peer returns the TID of the thread at the other end of the socket that an interval waited for, 0 if not known.
func (x *Index) peer(o *event.OffCPU) uint32 {
	if tid := x.peers[inodeOf{o.TID, o.Inode}]; tid != 0 && o.Inode != 0 {
		return tid
	}
	k := &o.Socket
	if k.RemotePort != 0 && !k.IsRemote() {
		return x.peers[portsOf{k.RemotePort, k.LocalPort}]
	}
	if k.Peer != 0 && k.Peer != o.PID && x.Accounted(k.Peer) {
		return k.Peer // its main thread
	}
	return 0
}
