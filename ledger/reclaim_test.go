package ledger_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
)

const ms = 1_000_000

func TestReclaimGoesToTheEpisodesItLiesIn(t *testing.T) {
	who := event.Thread{PID: 1, TID: 2}
	list := []ledger.Episode{
		{Start: 10 * ms, Duration: 5 * ms, Thread: who},
		{Start: 15 * ms, Duration: 5 * ms, Thread: who},
	}
	got := ledger.PlaceReclaims(list, []*event.Reclaim{
		{Start: 11 * ms, Duration: 2 * ms, NS: ms, Thread: who},     // in the first
		{Start: 14 * ms, Duration: 2 * ms, NS: 2 * ms, Thread: who}, // half in each
		{Start: 19 * ms, Duration: 4 * ms, NS: 4 * ms, Thread: who}, // a quarter in the second
		{Start: 50 * ms, Duration: 3 * ms, NS: 2 * ms, Thread: who}, // in none
		{Start: 60 * ms, Duration: 40_000, NS: 40_000, Thread: who}, // too little to be an episode
	})
	type part struct{ start, length, reclaim uint64 }
	var parts []part
	for i := range got {
		var ns uint64
		for _, r := range got[i].Reclaims {
			ns += r.Time
		}
		parts = append(parts, part{got[i].Start, got[i].Duration, ns})
	}
	want := []part{{10 * ms, 5 * ms, 2 * ms}, {15 * ms, 5 * ms, 2 * ms}, {19 * ms, 3 * ms, 3 * ms}, {50 * ms, 3 * ms, 2 * ms}}
	if len(parts) != len(want) {
		t.Fatalf("got %v, want %v", parts, want)
	}
	for i := range want {
		if parts[i] != want[i] {
			t.Errorf("got %v, want %v", parts[i], want[i])
		}
	}
}

func TestPeersAreKnownByTheirSocket(t *testing.T) {
	loop := func(local, remote uint16) event.Socket {
		return event.Socket{Kind: event.SocketTCP, LocalPort: local, RemotePort: remote, Remote: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	}
	wait := func(tid uint32, inode uint64, s event.Socket) event.OffCPU {
		return event.OffCPU{Start: 1, Duration: 100, Thread: event.Thread{PID: tid, TID: tid}, Class: event.Network, Inode: inode, Socket: s, WakerSyscall: -1}
	}
	const client, server, other = 10, 20, 30
	woken := wait(other, 7, event.Socket{})
	woken.Waker, woken.WakerComm, woken.WakerSyscall = event.Thread{PID: server, TID: server}, "server", 44
	rows := []event.OffCPU{
		wait(client, 5, loop(40000, 80)), wait(server, 6, loop(80, 40000)),
		woken, wait(other, 7, event.Socket{}),
		wait(other, 0, event.Socket{Kind: event.SocketUnix, Peer: server}),
		wait(other, 0, event.Socket{Kind: event.SocketUnix, Peer: 99}),
		wait(other, 8, event.Socket{Kind: event.SocketTCP, LocalPort: 80, RemotePort: 40000, Remote: [16]byte{10: 0xff, 11: 0xff, 12: 10}}),
	}
	x := ledger.NewIndex(rows, nil, nil, nil)
	for i, want := range []uint32{server, client, server, server, server, 0, 0} {
		tid, proof, ok := x.Behind(&rows[i])
		if ok != (want != 0) || ok && tid != want {
			t.Errorf("row %d: thread %d (%v), want %d", i, tid, ok, want)
		}
		if by := ledger.ByPeer; i != 2 && ok && proof != by {
			t.Errorf("row %d: proof %d", i, proof)
		}
	}
}
