package ledger_test

import (
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

func TestPeersAreFoundByTheirSocket(t *testing.T) {
	loop := func(local, remote uint16) event.Socket {
		return event.Socket{
			Kind: event.SocketTCP, LocalPort: local, RemotePort: remote,
			Remote: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1},
		}
	}
	wait := func(tid uint32, inode uint64, s event.Socket) event.OffCPU {
		return event.OffCPU{
			Start: 1, Duration: 100, Thread: event.Thread{PID: tid, TID: tid}, Class: event.Network,
			Inode: inode, Socket: s, WakerSyscall: -1,
		}
	}
	const client, server, other = 10, 20, 30
	woken := wait(other, 7, event.Socket{})
	woken.Waker, woken.WakerComm, woken.WakerSyscall = event.Thread{PID: server, TID: server}, "server", 44
	rows := []event.OffCPU{
		wait(client, 5, loop(40000, 80)), wait(server, 6, loop(80, 40000)),
		woken, wait(other, 7, event.Socket{}),
		wait(other, 0, event.Socket{Kind: event.SocketUnix, Peer: server}),
		wait(other, 0, event.Socket{Kind: event.SocketUnix, Peer: 99}),
		wait(other, 8, event.Socket{
			Kind: event.SocketTCP, LocalPort: 80, RemotePort: 40000,
			Remote: [16]byte{10: 0xff, 11: 0xff, 12: 10},
		}),
	}
	x := ledger.NewIndex("amd64", rows, nil, nil, nil)
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

// TestNumbersOfSystemCallsAreOfTheRecordingsArchitecture: on x86-64, 57 is fork, which an interrupted thread may be
// in; on arm64 it is close, which ends a wait at the other end.
func TestNumbersOfSystemCallsAreOfTheRecordingsArchitecture(t *testing.T) {
	rows := []event.OffCPU{{
		Start: 1, Duration: 100, Thread: event.Thread{PID: 1, TID: 1}, Class: event.Network,
		Waker: event.Thread{PID: 2, TID: 2}, WakerComm: "bystander", WakerSyscall: 57,
	}}
	for arch, want := range map[string]bool{"amd64": false, "x86_64": false, "": false, "arm64": true, "aarch64": true} {
		if tid, _, ok := ledger.NewIndex(arch, rows, nil, nil, nil).Behind(&rows[0]); ok != want {
			t.Errorf("%q: thread %d is behind the wait: %t, want %t", arch, tid, ok, want)
		}
	}
}

func TestWaitsThatTimeOutAreAttributedToTheUsualWaker(t *testing.T) {
	const waiter, releaser, bystander = 10, 20, 30
	wait := func(futex, wakerFutex uint64, waker uint32) event.OffCPU {
		return event.OffCPU{
			Start: 1, Duration: 100, Thread: event.Thread{PID: 1, TID: waiter}, Class: event.Futex, Futex: futex,
			Waker: event.Thread{PID: 1, TID: waker}, WakerFutex: wakerFutex, WakerSyscall: 202,
		}
	}
	rows := []event.OffCPU{
		wait(0x60, 0x60, releaser), wait(0x64, 0x64, releaser), wait(0x60, 0x60, releaser), // both words of a condition
		wait(0x80, 0x80, releaser), wait(0x80, 0x80, releaser),
		wait(0x64, 0, bystander), // a timer that interrupted this thread
		wait(0x80, 0, bystander), // released too rarely to know who does it
	}
	x := ledger.NewIndex("amd64", rows, nil, nil, nil)
	if tid, proof, ok := x.Behind(&rows[5]); tid != releaser || proof != ledger.ByHabit || !ok {
		t.Errorf("behind a wait that timed out: %d, %d, %v", tid, proof, ok)
	}
	if tid, _, ok := x.Behind(&rows[6]); ok {
		t.Errorf("thread %d is behind a futex of which little is known", tid)
	}
	if _, proof, ok := x.Behind(&rows[1]); proof != ledger.ByFutex || !ok {
		t.Errorf("a wait that was ended: proof %d, %v", proof, ok)
	}
}

// TestWaitsThatWereContinuedAreAttributedToTheThreadThatEndedThem: Python's interpreter lock is waited for in pieces of
// 5 ms. Another thread releases it more often, but for shorter waits.
func TestWaitsThatWereContinuedAreAttributedToTheThreadThatEndedThem(t *testing.T) {
	const waiter, holder, other, ms = 10, 20, 30, 1_000_000
	at := uint64(0)
	wait := func(futex, wakerFutex uint64, waker uint32, ns, pause uint64) event.OffCPU {
		at += pause
		o := event.OffCPU{
			Start: at, Duration: ns, Thread: event.Thread{PID: 1, TID: waiter}, Class: event.Futex, Futex: futex,
			Waker: event.Thread{PID: 1, TID: waker}, WakerFutex: wakerFutex, WakerSyscall: 202,
		}
		at += ns
		return o
	}
	var rows []event.OffCPU
	for range 9 {
		rows = append(rows, wait(0x60, 0x60, other, ms, ms))
	}
	rows = append(rows,
		wait(0x60, 0, 0, 5*ms, 2*ms), wait(0x64, 0, 0, 5*ms, 10_000), wait(0x60, 0x60, holder, 3*ms, 10_000),
		wait(0x64, 0, 0, 5*ms, 2*ms), wait(0x64, 0x64, holder, 3*ms, 2*ms)) // it did something else in between
	x := ledger.NewIndex("amd64", rows, nil, nil, nil)
	for i, want := range map[int]struct {
		tid   uint32
		proof ledger.Proof
	}{
		8: {other, ledger.ByFutex}, 9: {holder, ledger.ByFutex}, 10: {holder, ledger.ByFutex},
		11: {holder, ledger.ByFutex}, 12: {other, ledger.ByHabit},
	} {
		if tid, proof, ok := x.Behind(&rows[i]); tid != want.tid || proof != want.proof || !ok {
			t.Errorf("behind wait %d: thread %d by %d, %v, want %v", i, tid, proof, ok, want)
		}
		// Nothing else is known of that thread.
		chain := x.Follow(&rows[i])
		if at := chain[len(chain)-1].Thread; len(chain) != 2 || at != (event.Thread{PID: 1, TID: want.tid}) {
			t.Errorf("wait %d is followed to %v in %d links", i, at, len(chain))
		}
	}
}
