package probe

import (
	"github.com/ingero-io/ingero/capture/bpf"
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
	if len(d.sockets) >= maxPending { // their intervals were dropped
		clear(d.sockets)
	}
	d.sockets[w.H.Tid] = socketAt{event.Socket{
		Kind: event.SocketKind(w.H.Sub), LocalPort: w.Lport, RemotePort: w.Rport, Remote: w.Raddr, Peer: w.Peer,
		Bound: w.Bound != 0,
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

func request(b []byte, r *Records, toUnix uint64) bool {
	w, ok := as[bpf.WireRequestRec](b)
	if !ok {
		return false
	}
	r.Requests = append(r.Requests, event.Request{
		Start: w.H.Start + toUnix, Duration: w.Dur, Queue: w.Queue, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid},
		Comm: comm(&w.Comm),
		Op:   event.Op(w.H.Op), Flags: event.RequestFlags(w.H.Sub), Device: event.Device(w.Dev), Sector: w.Sector,
		Bytes: w.Bytes,
		Inode: w.Ino, By: w.By, Error: w.Status,
	})
	return true
}

func connection(b []byte, r *Records, toUnix uint64) bool {
	w, ok := as[bpf.WireTcpRec](b)
	if !ok {
		return false
	}
	r.Connections = append(r.Connections, event.Connection{
		At: w.H.Start + toUnix, Duration: w.Dur, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid}, Comm: comm(&w.Comm),
		Op:    event.Op(w.H.Op),
		Local: w.Laddr, Remote: w.Raddr, LocalPort: w.Lport, RemotePort: w.Rport, State: w.H.Sub, Error: w.Error,
		Bytes: w.Bytes, Retrans: w.Retrans, RTT: w.Rtt, MinRTT: w.MinRtt, Inode: w.Ino,
	})
	return true
}
