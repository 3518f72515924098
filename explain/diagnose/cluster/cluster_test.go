package cluster_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

const ms = 1_000_000

// op returns the operation with a name.
func op(t *testing.T, name string) event.Op {
	t.Helper()
	info, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return info.Op
}

// job returns what two ranks did: one operation every 10 ms, and rank 0 waits for each in a call. Rank 1 enters each
// operation later by the given time. Their processes are 100 and 101.
func job(t *testing.T, lateNS ...uint64) (parts [2][]event.Collective) {
	t.Helper()
	reduce, wait := op(t, "ncclAllReduce"), op(t, "cudaStreamSynchronize")
	for i, late := range lateNS {
		at := uint64(i+1) * 10 * ms
		for rank := range int32(2) {
			p := 100 + uint32(rank)
			c := event.Collective{
				At: at, Thread: event.Thread{PID: p, TID: p}, CommID: 7, Seq: uint32(i + 1), Rank: rank, Ranks: 2,
				Op: reduce, SyncOp: wait, SyncTID: p, SyncStart: at + 1, SyncEnd: at + late + ms,
			}
			if rank == 1 {
				c.At += late
				c.SyncStart = c.At + 1
			}
			parts[rank] = append(parts[rank], c)
		}
	}
	return parts
}

func TestARankThatIsRepeatedlyLateIsNamed(t *testing.T) {
	limits := cluster.Limits{Stall: 100 * ms, Beginning: 500 * ms}
	parts := job(t, 2*ms, 2*ms, 0, 2*ms)
	ops := cluster.Link(limits, parts[0], parts[1])
	list := ops.WaitedFor(event.Thread{PID: 100, TID: 100}, 10*ms+1)
	if len(list) != 1 || list[0].Last().Rank != 1 || list[0].Late() != 2*ms || !ops.Straggles(list[0]) {
		t.Errorf("rank 0 waited for %+v, not for rank 1, which was 2 ms late", list)
	}
	if !ops.Together(100, 101) || ops.Together(100, 300) {
		t.Error("the ranks of the communicator are together, and with no other process")
	}
	if at, ok := ops.CompleteBefore(100, 22*ms); !ok || at != 12*ms {
		t.Errorf("the operation before that at 22 ms was complete at %d, %v", at, ok)
	}
	turns := job(t, 1*ms, 0)
	turns[0][1].At += 1 * ms // the other rank is equally late the next time
	even := cluster.Link(limits, turns[0], turns[1])
	for _, o := range even.WaitedFor(event.Thread{PID: 100, TID: 100}, 10*ms+1) {
		if even.Straggles(o) {
			t.Error("ranks that are late in turn: one of them is named")
		}
	}
}

// Ranks that are late in turn cost the time together: no other rank is late far more often, but each is late again and
// again.
func TestRanksThatAreLateInTurnAreReported(t *testing.T) {
	limits := cluster.Limits{Stall: 100 * ms, Beginning: 500 * ms}
	for name, c := range map[string]struct {
		late  uint64 // of each rank, every other operation
		times int
		want  bool
	}{
		"much of the time": {4 * ms, 30, true}, "little of it": {1 * ms, 30, false}, "twice each": {8 * ms, 12, false},
	} {
		parts := job(t, make([]uint64, c.times)...)
		for i := 1; i < c.times; i += 3 { // ranks 1, 0, 1, …
			parts[i%2][i].At += c.late
		}
		ops := cluster.Link(limits, parts[0], parts[1])
		for _, o := range ops.WaitedFor(event.Thread{PID: 100, TID: 100}, 20*ms+1) {
			r := ops.Rotation(o)
			if ops.Straggles(o) != c.want || (r != nil) != c.want {
				t.Errorf("%s: %+v", name, r)
			}
			if r != nil && (len(r.Turns) != 2 || r.Turns[0].Rank != 0 || r.Turns[0].Times != 5 || r.Turns[1].NS != 5*c.late) {
				t.Errorf("%s: turns %+v", name, r.Turns)
			}
		}
	}
}

// Every step takes each rank a little more or less, so that each is last now and then. Together that may cost much.
func TestRanksThatVaryAreNotLateInTurn(t *testing.T) {
	parts := job(t, make([]uint64, 100)...)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 100 {
		parts[0][i].At += uint64(r.NormFloat64()*1e6 + 4e6)
		parts[1][i].At += uint64(r.NormFloat64()*1e6 + 4e6)
	}
	ops := cluster.Link(cluster.Limits{Stall: 100 * ms, Beginning: 500 * ms}, parts[0], parts[1])
	for i := range 100 {
		for _, o := range ops.WaitedFor(event.Thread{PID: 100, TID: 100}, uint64(i+1)*10*ms+1) {
			if ops.Straggles(o) {
				t.Fatalf("%d: rank %d is named for %d ns", i, o.Last().Rank, o.Late())
			}
		}
	}
}

func TestClocksAreComparedByCommonOperations(t *testing.T) {
	parts := job(t, 0, 0, 0, 0, 0, 0)
	for i := range parts[1] {
		parts[1][i].SyncEnd += 3000 * ms
	}
	if ns, ok := cluster.Ahead(parts[1], parts[0]); !ok || ns != 3000*ms {
		t.Errorf("ahead by %d ns, %v; want 3 s", ns, ok)
	}
	if _, ok := cluster.Ahead(parts[1][:3], parts[0]); ok {
		t.Error("three operations are too few to compare clocks by")
	}
}

func TestIntervalsThatOverlapAreJoined(t *testing.T) {
	got := cluster.Joined([]cluster.Interval{{From: 5, To: 7}, {From: 1, To: 3}, {From: 2, To: 4}, {From: 4, To: 5}})
	want := []cluster.Interval{{From: 1, To: 4}, {From: 4, To: 5}, {From: 5, To: 7}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
