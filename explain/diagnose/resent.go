package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// line is a TCP connection as one of its ends sees it.
type line struct {
	remote            [16]byte
	remotePort, local uint16
}

// resentAt are the times at which something was sent again on each connection, from
// either end: the other one may be on this machine.
func (hs *hostState) resentAt() map[line][]uint64 {
	if hs.resends != nil {
		return hs.resends
	}
	hs.resends = map[line][]uint64{}
	for i := range hs.in.IO.Connections {
		c := &hs.in.IO.Connections[i]
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

// resent reports whether a thread waited for a segment to be sent again: that happened on
// the connection that it waited for, and most of the wait lay before the last time. Who
// delivered the answer then is not what was waited for.
func (hs *hostState) resent(o *event.OffCPU) bool {
	if o.Class != event.Network || o.Socket.Kind != event.SocketTCP || o.Socket.LocalPort == 0 || serving(o) {
		return false
	}
	from, to := ledger.Blocked(o)
	times := hs.resentAt()[line{o.Socket.Remote, o.Socket.RemotePort, o.Socket.LocalPort}]
	i, _ := slices.BinarySearch(times, to)
	return i > 0 && times[i-1] > from && share(times[i-1]-from, to-from) >= half
}
