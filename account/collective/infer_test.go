package collective_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/event"
)

// running returns the records of a rank that is at operation number from when the recording begins. It waited for
// each operation, which ended on all ranks within jitter ns.
func running(rng *rand.Rand, pid uint32, from, to int, period, jitter uint64) (list []event.Collective) {
	op, _ := event.ByName("ncclAllReduce")
	for i := from; i < to; i++ {
		end := 1_000_000_000 + uint64(i)*period + rng.Uint64N(jitter)
		list = append(list, event.Collective{
			At: end - period/2 - rng.Uint64N(period/4), Thread: event.Thread{PID: pid, TID: pid}, Op: op.Op, Comm: 0xc0,
			Rank: -1,
			Seq:  uint32(i - from + 1), Bytes: uint64(1000 + i%3*100), DataType: 7, SyncOp: 1, SyncTID: pid,
			SyncStart: end - period/4, SyncEnd: end,
		})
	}
	return list
}

func TestRunningJobsAreMatched(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	job := func(froms ...int) (list []event.Collective) {
		for i, from := range froms {
			list = append(list, running(rng, uint32(10+i), from, 100, 3_000_000, 100_000)...)
		}
		return list
	}
	known := func(n int) map[uint32]collective.Rank {
		m := map[uint32]collective.Rank{}
		for i := range n {
			m[uint32(10+i)] = collective.Rank{Rank: i, Ranks: n}
		}
		return m
	}
	list := job(20, 21, 17, 20)
	if left := collective.Infer(list, known(4)); left != 0 {
		t.Errorf("%d operations are left", left)
	}
	at := map[uint32]uint64{} // by number: its end
	for _, c := range list {
		if c.CommID == 0 || c.CommID != list[0].CommID || c.Rank != int32(c.PID-10) || !c.Inferred || c.Seq == 0 {
			t.Fatalf("not matched: %+v", c)
		}
		if end := at[c.Seq]; end != 0 && max(end, c.SyncEnd)-min(end, c.SyncEnd) > 200_000 {
			t.Fatalf("number %d ended at %d and at %d", c.Seq, end, c.SyncEnd)
		}
		at[c.Seq] = c.SyncEnd
	}
	if len(at) != 83 {
		t.Errorf("%d operations, there were 83", len(at))
	}

	for what, c := range map[string]struct {
		list  []event.Collective
		ranks map[uint32]collective.Rank
	}{
		"ranks that are not known": {job(20, 21), nil},
		"one job of one rank each": {
			job(20, 21),
			map[uint32]collective.Rank{10: {Rank: 0, Ranks: 1}, 11: {Rank: 0, Ranks: 1}},
		},
		"twice the same rank": {
			job(20, 21),
			map[uint32]collective.Rank{10: {Rank: 0, Ranks: 2}, 11: {Rank: 0, Ranks: 2}},
		},
		"jobs of other sizes": {
			job(20, 21),
			map[uint32]collective.Rank{10: {Rank: 0, Ranks: 2}, 11: {Rank: 1, Ranks: 4}},
		},
		"too little": {job(95, 95), known(2)},
		"another period": {append(running(rng, 10, 0, 100, 3_000_000, 100_000),
			running(rng, 11, 0, 100, 3_100_000, 100_000)...), known(2)},
		"another size": {func() []event.Collective {
			l := job(20, 20)
			l[len(l)-1].Bytes++
			return l
		}(), known(2)},
	} {
		n := len(c.list)
		if left := collective.Infer(c.list, c.ranks); left != n || c.list[0].CommID != 0 || c.list[0].Inferred {
			t.Errorf("%s: %d of %d are left: %+v", what, left, n, c.list[0])
		}
	}
}
