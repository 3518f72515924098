package probe

import (
	"testing"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/event"
)

func TestReclaimIsDecoded(t *testing.T) {
	rec := bpf.WireReclaimRec{
		H: hdr(bpf.WireKindKIND_RECLAIM, 0, uint8(bpf.WireReclaimRECLAIM_MEMCG)), Dur: 900, Ns: 700,
		Tgid: 11, Parts: 4,
	}
	want := event.Reclaim{Start: at, Duration: 900, NS: 700, Thread: thread, Kind: event.ReclaimCgroup, Parts: 4}
	if r := decodeAll(wire(rec)); len(r.Reclaims) != 1 || r.Reclaims[0] != want || r.Len() != 1 {
		t.Errorf("got %+v\nwant %+v", r.Reclaims, want)
	}
}

func TestSocketBelongsToTheNextIntervalOfItsThread(t *testing.T) {
	sock := bpf.WireSockRec{
		H: hdr(bpf.WireKindKIND_SOCK, 0, uint8(event.SocketTCP)), Tgid: 11, Lport: 40000, Rport: 5432,
		Raddr: [16]uint8{10: 0xff, 11: 0xff, 12: 10, 15: 7},
	}
	r := decodeAll(wire(sock), wire(offRec(0)), wire(offRec(0)))
	if got := r.OffCPU[0].Socket; got.Endpoint() != "10.0.0.7:5432" || got.LocalPort != 40000 ||
		got.Kind != event.SocketTCP {
		t.Errorf("got %+v", got)
	}
	if r.OffCPU[1].Socket != (event.Socket{}) {
		t.Errorf("the second interval has the first one's socket: %+v", r.OffCPU[1].Socket)
	}
	sock.H.Start--
	if r := decodeAll(wire(sock), wire(offRec(0))); r.OffCPU[0].Socket != (event.Socket{}) {
		t.Errorf("the socket of an interval that was dropped went to the next: %+v", r.OffCPU[0].Socket)
	}
}

func TestRequestsAndConnectionsAreDecoded(t *testing.T) {
	request := bpf.WireRequestRec{
		H: hdr(bpf.WireKindKIND_REQUEST, event.OpBlockWrite, uint8(event.RequestFUA)), Dur: 900, Queue: 700, Sector: 5,
		Ino: 6, Tgid: 11,
		Dev: 259<<20 | 3, Bytes: 4096, By: 99, Status: 10, Comm: name16("engine"),
	}
	want := event.Request{
		Start: at, Duration: 900, Queue: 700, Thread: thread, Comm: "engine", Op: event.OpBlockWrite, Flags: event.RequestFUA,
		Device: 259<<20 | 3, Sector: 5, Bytes: 4096, Inode: 6, By: 99, Error: 10,
	}
	if r := decodeAll(wire(request)); len(r.Requests) != 1 || r.Requests[0] != want || r.Len() != 1 ||
		want.DeviceNS() != 200 {
		t.Errorf("got %+v\nwant %+v", r.Requests, want)
	}
	tcp := bpf.WireTcpRec{
		H: hdr(bpf.WireKindKIND_TCP, event.OpTCPRetransmit, 1), Dur: 900, Ino: 6, Tgid: 11, Error: -1, Bytes: 2, Retrans: 3,
		Rtt: 4, MinRtt: 5,
		Lport: 40000, Rport: 5432, Laddr: [16]uint8{10: 0xff, 11: 0xff, 12: 10, 15: 1},
		Raddr: [16]uint8{10: 0xff, 11: 0xff, 12: 10, 15: 7}, Comm: name16("engine"),
	}
	conn := event.Connection{
		At: at, Duration: 900, Thread: thread, Comm: "engine", Op: event.OpTCPRetransmit, Local: tcp.Laddr, Remote: tcp.Raddr,
		LocalPort: 40000, RemotePort: 5432, State: 1, Error: -1, Bytes: 2, Retrans: 3, RTT: 4, MinRTT: 5, Inode: 6,
	}
	r := decodeAll(wire(tcp))
	if len(r.Connections) != 1 || r.Connections[0] != conn || r.Len() != 1 || conn.Endpoint() != "10.0.0.7:5432" ||
		conn.LocalEndpoint() != "10.0.0.1:40000" {
		t.Errorf("got %+v\nwant %+v", r.Connections, conn)
	}
}
