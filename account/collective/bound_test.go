package collective

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

// A program may claim any communicators, peers and groups.
func TestWhatAProgramClaimsIsBounded(t *testing.T) {
	t.Parallel()
	k := NewTracker()
	op := func(name string) event.Op {
		i, ok := event.ByName(name)
		if !ok {
			t.Fatalf("no operation %s", name)
		}
		return i.Op
	}
	made, begun, sent := op("ncclCommInitRank"), op("ncclGroupStart"), op("ncclSend")
	for n := range uint64(4 * maxLanes) {
		thread := event.Thread{PID: 1, TID: uint32(n) + 10}
		k.Calls([]event.Call{
			{Start: 3*n + 1, Duration: 1, Thread: thread, Op: made, Args: [event.NumArgs]uint64{n, 4, 2, 99}},
			{Start: 3*n + 2, Duration: 1, Thread: thread, Op: begun},
			{Start: 3*n + 3, Duration: 1, Thread: event.Thread{PID: 1, TID: 1}, Op: sent, Args: [event.NumArgs]uint64{
				n - n%(2*maxLanes), 64, n << 48, 5,
			}},
		})
	}
	p := k.procs[1]
	if len(p.comms) > maxComms || len(p.groups) > maxGroups {
		t.Errorf("%d communicators and %d groups are kept", len(p.comms), len(p.groups))
	}
	for _, m := range p.comms {
		if len(m.counted) > maxLanes {
			t.Errorf("%d kinds of operations are numbered", len(m.counted))
		}
	}
}
