package ledger

import "github.com/ingero-io/ingero/event"

// The keys of Index.peers.
type (
	inodeOf struct {
		tid   uint32
		inode uint64
	}
	portsOf struct{ local, remote uint16 } // of this machine
)

// learnPeers finds out who is at the other end of sockets: the thread that mostly
// ends the waits for it, and of a connection within the machine, the thread that
// mostly waits at its other end.
func learnPeers(rows []event.OffCPU) map[any]uint32 {
	by := map[any]map[uint32]uint64{}
	add := func(key any, tid uint32, ns uint64) {
		if by[key] == nil {
			by[key] = map[uint32]uint64{}
		}
		by[key][tid] += ns
	}
	for i := range rows {
		o := &rows[i]
		if o.Class != event.Network {
			continue
		}
		if o.Inode != 0 && delivers(o) {
			add(inodeOf{o.TID, o.Inode}, o.Waker.TID, 1)
		}
		if k := &o.Socket; k.RemotePort != 0 && !k.IsRemote() {
			add(portsOf{k.LocalPort, k.RemotePort}, o.TID, o.Duration)
		}
	}
	peers := map[any]uint32{}
	for key, tids := range by {
		var best uint32
		for tid, n := range tids {
			if most := tids[best]; best == 0 || n > most || n == most && tid < best {
				best = tid
			}
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
