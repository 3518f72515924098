package diagnose

import (
	"slices"
	"sort"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// deliverGap is how long before the end of a wait for an answer the other end may have got what it had waited for,
// ns: it only has to answer then.
const deliverGap = 2_000_000

// receivesAt returns the waits to receive at each end of the connections within this machine, by start.
func (hs *hostState) receivesAt() map[line][]*event.OffCPU {
	if hs.received != nil {
		return hs.received
	}
	hs.received = map[line][]*event.OffCPU{}
	for i := range hs.in.OffCPU {
		o := &hs.in.OffCPU[i]
		if o.Class != event.Network || o.Socket.Kind != event.SocketTCP || o.Socket.LocalPort == 0 ||
			o.Socket.IsRemote() || !hs.receiving[o.Syscall] {
			continue
		}
		l := line{o.Socket.Remote, o.Socket.RemotePort, o.Socket.LocalPort}
		hs.received[l] = append(hs.received[l], o)
	}
	for _, list := range hs.received {
		slices.SortFunc(list, func(a, b *event.OffCPU) int { return int(int64(a.Start - b.Start)) })
	}
	return hs.received
}

// heldBack returns the wait at the other end of a connection if both ends waited to receive for most of a wait, and the
// other end then got something that nobody had sent at that time: no thread had anything to do meanwhile. TCP had held
// back what was written before: by Nagle's algorithm a small segment waits until the one before it is acknowledged, and
// that acknowledgement is delayed by 40 ms (RFC 896, RFC 1122 4.2.3.2).
func (hs *hostState) heldBack(o *event.OffCPU) *event.OffCPU {
	if o.Class != event.Network || o.Socket.Kind != event.SocketTCP || o.Socket.LocalPort == 0 || o.Socket.IsRemote() ||
		!hs.receiving[o.Syscall] {
		return nil
	}
	from, to := ledger.Blocked(o)
	ends := hs.receivesAt()[line{o.Socket.Remote, o.Socket.LocalPort, o.Socket.RemotePort}]
	for i := sort.Search(len(ends), func(i int) bool { return ends[i].Start >= to }) - 1; i >= 0; i-- {
		other := ends[i]
		begun, ended := ledger.Blocked(other)
		switch {
		case ended > to: // its next wait
		case ended+deliverGap < to:
			return nil
		case share(ended-min(ended, max(begun, from)), to-from) < half || other.Waker.PID == o.PID: // it was sent just then
			return nil
		default:
			return other
		}
	}
	return nil
}
