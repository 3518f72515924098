package ledger

import "github.com/ingero-io/ingero/event"

// The keys of Index.peers.
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

// minSignals is how often a thread must have been seen to release a futex to count as the one that
// does.
const minSignals = 3

// conditionOf is the condition variable that a futex belongs to. glibc's has two adjacent words, on
// which its waiters wait in turn.
func conditionOf(o *event.OffCPU) condition { return condition{o.PID, o.Futex &^ 7} }

// Renews reports whether a wait is for the same futex, or for the same condition
// variable, as an earlier one of its thread.
func Renews(o, earlier *event.OffCPU) bool {
	return o.Futex != 0 && conditionOf(o) == conditionOf(earlier)
}

// learnPeers finds the thread at the other end of sockets: the one that mostly ends the waits for
// the socket and, for a connection within the machine, the one that mostly waits at its other end.
// Of a futex it is the thread that released it in most cases in which it was released and the wait
// did not time out.
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

// peer is the thread at the other end of the socket that an interval waited for,
// 0 if unknown.
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
