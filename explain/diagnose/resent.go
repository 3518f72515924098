package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// line is a TCP connection as seen from one end.
type line struct {
	remote            [16]byte
	remotePort, local uint16
}

// resentAt returns the times of retransmissions on each connection, from either end: the other end may
// be on this machine, too.
func (hs *hostState) resentAt() map[line][]uint64 {
	if hs.resends != nil {
		return hs.resends
	}
	hs.resends = map[line][]uint64{}
	for i := range hs.in.Connections {
		c := &hs.in.Connections[i]
		if c.Op != event.OpTCPRetransmit || c.LocalPort == 0 || c.RemotePort == 0 {
			continue
		}
		for _, l := range []line{{c.Remote, c.RemotePort, c.LocalPort}, {c.Local, c.LocalPort, c.RemotePort}} {
			hs.resends[l] = append(hs.resends[l], c.At)
		}
	}
	for _, at := range hs.resends {
		slices.Sort(at)
	}
	return hs.resends
}

// resent reports whether a thread waited for a retransmission: there was one on its connection, and
// most of the wait was before the last of them. Then the sender of the answer is not the cause of
// the wait.
func (hs *hostState) resent(o *event.OffCPU) bool {
	if o.Class != event.Network || o.Socket.Kind != event.SocketTCP || o.Socket.LocalPort == 0 || serving(o) {
		return false
	}
	from, to := ledger.Blocked(o)
	times := hs.resentAt()[line{o.Socket.Remote, o.Socket.RemotePort, o.Socket.LocalPort}]
	i, _ := slices.BinarySearch(times, to)
	return i > 0 && times[i-1] > from && share(times[i-1]-from, to-from) >= half
}
