package probe

import (
	"github.com/ingero-io/ingero/bpf"
	"github.com/ingero-io/ingero/event"
)

// socketAt is a socket and the start, by the kernel's clock, of the interval that
// it belongs to.
type socketAt struct {
	event.Socket
	start uint64
}

// socket keeps a socket for the interval that follows.
func (d *decoder) socket(b []byte) bool {
	w, ok := as[bpf.WireSockRec](b)
	if !ok {
		return false
	}
	if len(d.sockets) >= maxPending { // their intervals were lost
		clear(d.sockets)
	}
	d.sockets[w.H.Tid] = socketAt{event.Socket{
		Kind: event.SocketKind(w.H.Sub), LocalPort: w.Lport, RemotePort: w.Rport, Remote: w.Raddr, Peer: w.Peer, Bound: w.Bound != 0,
	}, w.H.Start}
	return true
}

func reclaim(b []byte, r *Records, toUnix uint64) bool {
	w, ok := as[bpf.WireReclaimRec](b)
	if !ok {
		return false
	}
	r.Reclaims = append(r.Reclaims, event.Reclaim{
		Start: w.H.Start + toUnix, Duration: w.Dur, NS: w.Ns, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid},
		Kind: event.ReclaimKind(w.H.Sub), Parts: w.Parts,
	})
	return true
}
