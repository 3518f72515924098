package probe

import (
	"testing"

	"github.com/ingero-io/ingero/bpf"
	"github.com/ingero-io/ingero/event"
)

func TestReclaimIsDecoded(t *testing.T) {
	rec := bpf.WireReclaimRec{H: hdr(bpf.WireKindKIND_RECLAIM, 0, uint8(bpf.WireReclaimRECLAIM_MEMCG)), Dur: 900, Ns: 700, Tgid: 11, Parts: 4}
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
	if got := r.OffCPU[0].Socket; got.Endpoint() != "10.0.0.7:5432" || got.LocalPort != 40000 || got.Kind != event.SocketTCP {
		t.Errorf("got %+v", got)
	}
	if r.OffCPU[1].Socket != (event.Socket{}) {
		t.Errorf("the second interval has the first one's socket: %+v", r.OffCPU[1].Socket)
	}
	sock.H.Start--
	if r := decodeAll(wire(sock), wire(offRec(0))); r.OffCPU[0].Socket != (event.Socket{}) {
		t.Errorf("the socket of an interval that was lost went to the next: %+v", r.OffCPU[0].Socket)
	}
}
