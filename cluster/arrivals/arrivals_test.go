package arrivals_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/cluster/arrivals"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

const (
	ms   = uint64(1e6)
	comm = uint64(0xc0ffee)
	op   = event.Op(event.SourceNCCL)<<8 | 6
)

// job is a simulated job: its ranks work, enter an operation, and leave it when the last rank has entered.
type job struct {
	ranks, perStep, stepNS int
	// late is how much longer than the others a rank works before a step, in ns, because it waits for a CPU.
	late func(rank, step int) uint64
	rng  *rand.Rand
}

// run passes each rank's records to its own chooser, second by second, and returns what they send.
func (j *job) run(t *testing.T, steps int) (sums [][]arrivals.Sum, sent [][]arrivals.Arrival, left uint64) {
	t.Helper()
	choosers := make([]*arrivals.Chooser, j.ranks)
	for i := range choosers {
		choosers[i] = arrivals.NewChooser()
	}
	sums, sent = make([][]arrivals.Sum, j.ranks), make([][]arrivals.Arrival, j.ranks)
	const begin = uint64(1e18)
	batches := make([]store.Batch, j.ranks)
	rows := make([]store.RankSteps, j.ranks)
	now, second := begin, begin+1e9
	flush := func(at uint64) {
		for r, c := range choosers {
			rows[r].At, rows[r].PID, rows[r].Rank, rows[r].Ranks = at, uint32(100+r), int32(r), int32(j.ranks)
			rows[r].Comm, rows[r].Every = comm, uint32(j.perStep)
			batches[r].RankSteps = []store.RankSteps{rows[r]}
			c.Batch(&batches[r])
			sums[r], sent[r] = c.Second(at, sums[r], sent[r])
			batches[r], rows[r] = store.Batch{}, store.RankSteps{}
		}
	}
	// When each rank entered the first operation of its step, and how long it has waited since then.
	began, waited := make([]uint64, j.ranks), make([]uint64, j.ranks)
	for n := range steps {
		for k := range j.perStep {
			seq := uint32(n*j.perStep + k)
			entered := make([]uint64, j.ranks)
			for r := range j.ranks {
				work := uint64(j.stepNS/j.perStep) + uint64(j.rng.Intn(200_000))
				extra := uint64(0)
				if k == 0 && n > 0 {
					extra = j.late(r, n)
				}
				entered[r] = now + work + extra
				if extra > 0 {
					batches[r].Gaps = append(batches[r].Gaps, event.Gap{
						Start: now, Duration: work + extra, Thread: event.Thread{PID: uint32(100 + r), TID: uint32(100 + r)},
						Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.RunQueue: extra}},
					})
				}
			}
			end := slices.Max(entered) + 50_000
			for r := range j.ranks {
				if seq > 0 {
					batches[r].Collectives = append(batches[r].Collectives, event.Collective{
						At: entered[r], Start: entered[r], Duration: 10_000, Op: op, CommID: comm, Rank: int32(r), Ranks: int32(j.ranks),
						Thread: event.Thread{PID: uint32(100 + r), TID: uint32(100 + r)}, Seq: seq, Bytes: 1 << 20,
						SyncOp: 1, SyncStart: entered[r] + 10_000, SyncEnd: end,
					})
				}
				if k == 0 && n > 0 {
					own := entered[r] - began[r] // includes the waits of the step before
					wait := waited[r]
					rows[r].Steps = append(rows[r].Steps, store.RankStep{
						Seq: uint64(n - 1), End: entered[r], OwnNS: own - min(wait, own), WaitNS: wait,
					})
				}
				if k == 0 {
					began[r], waited[r] = entered[r], 0
				}
				waited[r] += end - entered[r]
			}
			now = end
			if now >= second {
				flush(now)
				second = now + 1e9
			}
		}
	}
	flush(now)
	for _, c := range choosers {
		left += c.LeftOut()
	}
	return sums, sent, left
}

// lateness returns, for each operation that all ranks sent, which rank was last and how late it was. This is what a
// receiver of all ranks' operations computes.
func lateness(sent [][]arrivals.Arrival) map[uint32]arrivals.Arrival {
	by := map[uint32][]arrivals.Arrival{}
	for _, list := range sent {
		for _, a := range list {
			if !slices.ContainsFunc(by[a.Seq], func(b arrivals.Arrival) bool { return b.Rank == a.Rank }) {
				by[a.Seq] = append(by[a.Seq], a)
			}
		}
	}
	out := map[uint32]arrivals.Arrival{}
	for seq, list := range by {
		if len(list) == len(sent) {
			slices.SortFunc(list, func(a, b arrivals.Arrival) int { return int(int64(a.At) - int64(b.At)) })
			out[seq] = list[len(list)-1]
		}
	}
	return out
}

// If a rank is late in every 14th step, all ranks send those operations. The late one has its thread's waits.
func TestALateRankIsSentWithItsPeers(t *testing.T) {
	for _, perStep := range []int{1, 3, 160} { // 160: some 1,700 operations a second
		j := job{ranks: 8, perStep: perStep, stepNS: int(90 * ms), rng: rand.New(rand.NewSource(1))}
		j.late = func(r, n int) uint64 {
			if r == 5 && n%14 == 0 {
				return 290 * ms
			}
			return 0
		}
		_, sent, left := j.run(t, 300)
		if left > 0 {
			t.Errorf("%d a step: %d operations are left out", perStep, left)
		}
		got := lateness(sent)
		for n := 42; n < 290; n += 14 { // from the first step with a usual value
			a, ok := got[uint32(n*perStep)]
			switch {
			case !ok:
				t.Errorf("%d a step: operation %d is not sent by all ranks", perStep, n*perStep)
			case a.Rank != 5 || a.Why != arrivals.Late:
				t.Errorf("%d a step: last in operation %d is rank %d (%s)", perStep, a.Seq, a.Rank, a.Why)
			case a.Off[event.RunQueue] < 285*ms || a.Off[event.RunQueue] > 295*ms:
				t.Errorf("%d a step: it waited %d ms for a CPU, of 290", perStep, a.Off[event.RunQueue]/ms)
			case a.OneOf != 1:
				t.Errorf("%d a step: operation %d stands for %d", perStep, a.Seq, a.OneOf)
			case a.OwnNS < a.UsualOwnNS+280*ms || a.OwnNS > a.UsualOwnNS+300*ms:
				t.Errorf("%d a step: own work is %d ms, usually %d", perStep, a.OwnNS/ms, a.UsualOwnNS/ms)
			}
		}
		for r, list := range sent { // includes what only some ranks sent
			for _, a := range list {
				if late := r == 5 && int(a.Seq)%(14*perStep) == 0; late != (a.Why == arrivals.Late) && a.Seq > uint32(42*perStep) {
					t.Errorf("%d a step: rank %d sends operation %d as %s", perStep, r, a.Seq, a.Why)
				}
			}
		}
	}
}

// In a healthy job, and in one with a rank that was always slow, each rank sends about one operation a second, and
// all ranks the same ones.
func TestWhatIsUsualIsSampled(t *testing.T) {
	for _, slow := range []uint64{0, 30 * ms} {
		j := job{ranks: 4, perStep: 1, stepNS: int(40 * ms), rng: rand.New(rand.NewSource(2)), late: func(r, _ int) uint64 {
			if r == 2 {
				return slow
			}
			return 0
		}}
		const steps = 1000
		sums, sent, left := j.run(t, steps)
		seconds := len(sums[0])
		for r, list := range sent {
			if n := len(list); n < seconds/3 || n > 2*seconds {
				t.Errorf("slow by %d ms: rank %d sends %d operations in %d seconds", slow/ms, r, n, seconds)
			}
			for _, a := range list {
				if a.Why != arrivals.Sample || a.OneOf < 16 || a.OneOf > 32 { // about 25 steps a second
					t.Errorf("slow by %d ms: rank %d sends operation %d as %s", slow/ms, r, a.Seq, a.Why)
				}
			}
		}
		got := lateness(sent)
		if len(got) < seconds/3 {
			t.Errorf("slow by %d ms: only %d operations are sent by all ranks in %d seconds", slow/ms, len(got), seconds)
		}
		for seq, a := range got {
			if slow > 0 && a.Rank != 2 {
				t.Errorf("rank %d is last in operation %d", a.Rank, seq)
			}
		}
		if left > 0 {
			t.Errorf("%d are left out", left)
		}
	}
}

// Each operation is in the sums once, with all of its wait.
func TestSumsAreExact(t *testing.T) {
	j := job{
		ranks: 3, perStep: 2, stepNS: int(10 * ms), rng: rand.New(rand.NewSource(3)),
		late: func(int, int) uint64 { return 0 },
	}
	const steps = 500
	sums, _, _ := j.run(t, steps)
	for r, list := range sums {
		var count, bytes, waits, wait uint64
		to := uint64(0)
		for _, s := range list {
			if s.From < to || s.To <= s.From || s.Rank != int32(r) || s.Ranks != 3 || s.Comm != comm || s.Op != op {
				t.Fatalf("rank %d: %+v after %d", r, s, to)
			}
			if s.WaitMin > s.WaitMax || s.WaitNS < s.WaitMax || s.WaitNS > s.Waits*s.WaitMax {
				t.Errorf("rank %d: %+v", r, s)
			}
			to = s.To
			count, bytes, waits, wait = count+s.Count, bytes+s.Bytes, waits+s.Waits, wait+s.WaitNS
		}
		if count != 2*steps-1 || waits != count || bytes != count<<20 || wait < count*50_000 {
			t.Errorf("rank %d: %d operations, %d waits of %d ns, %d bytes", r, count, waits, wait, bytes)
		}
	}
}

// A flood of late steps is bounded and counted. Operations of an unknown communicator are in the sums only.
func TestAFloodIsBounded(t *testing.T) {
	c := arrivals.NewChooser()
	seq, at := uint32(0), uint64(1e18)
	var sent []arrivals.Arrival
	second := func(steps int, own uint64) {
		var b store.Batch
		row := store.RankSteps{PID: 7, Rank: 0, Ranks: 2, Comm: comm, Every: 1}
		for range steps {
			at += 1e9 / uint64(steps)
			seq++
			b.Collectives = append(b.Collectives, event.Collective{
				At: at, Op: op, CommID: comm, Rank: 0, Ranks: 2, Seq: seq, Thread: event.Thread{PID: 7, TID: 7},
				SyncOp: 1, SyncEnd: at + 1,
			}, event.Collective{At: at, Op: op, Rank: -1, Thread: event.Thread{PID: 8, TID: 8}})
			row.Steps = append(row.Steps, store.RankStep{Seq: uint64(seq) - 1, End: at, OwnNS: own, WaitNS: 1})
		}
		row.At = at
		b.RankSteps = []store.RankSteps{row}
		c.Batch(&b)
		var sums []arrivals.Sum
		sums, sent = c.Second(at, nil, nil)
		if len(sums) != 2 || sums[0].Count != uint64(steps) || sums[1].Count != uint64(steps) || sums[1].Comm != 0 {
			t.Fatalf("sums are %+v", sums)
		}
	}
	second(64, ms)
	second(64, ms)
	second(64, 100*ms) // after 32 steps the new, shorter half is usual
	late := 0
	for _, a := range sent {
		if a.Why == arrivals.Late {
			late++
		}
	}
	if late != 4 || c.LeftOut() == 0 || c.LeftOut() > 60 {
		t.Errorf("%d late steps are sent, %d left out", late, c.LeftOut())
	}
}

// A process that ended or is silent is forgotten, and an operation that does not end is given up.
func TestWhatDoesNotEndIsGivenUp(t *testing.T) {
	c := arrivals.NewChooser()
	at := uint64(1e18)
	row := func(n uint64, ended bool) {
		at += 1e9
		c.Batch(&store.Batch{Tables: store.Tables{RankSteps: []store.RankSteps{{
			At: at, PID: 7, Rank: 0, Ranks: 2, Comm: comm, Every: 1, Ended: ended,
			Steps: []store.RankStep{{Seq: n, End: at - 1, OwnNS: ms}},
		}}}})
	}
	row(1, false)
	row(2, false)
	row(3, true)
	if n := c.LeftOut(); n != 2 { // operations 3 and 4
		t.Errorf("%d are left out when the process ended", n)
	}
	row(4, false)
	row(5, false)
	_, sent := c.Second(at+20e9, nil, nil)
	if n := c.LeftOut(); n != 3 || len(sent) != 0 {
		t.Errorf("%d are left out, %d sent", n, len(sent))
	}
}

// Work that a rank does in every 16th step is in one sample of 16.
func TestSamplesAreNotPeriodic(t *testing.T) {
	j := job{ranks: 4, perStep: 1, stepNS: int(90 * ms), rng: rand.New(rand.NewSource(4)), late: func(r, n int) uint64 {
		if r == 0 && n%16 == 0 { // less than would be notable
			return 5 * ms
		}
		return 0
	}}
	_, sent, _ := j.run(t, 4000)
	in, all := 0, 0
	for _, a := range sent[0] {
		if all++; a.Seq%16 == 0 {
			in++
		}
	}
	if all < 150 || in < all/40 || in > all/6 {
		t.Errorf("%d of %d samples are of every 16th operation", in, all)
	}
}

// When another pattern of operations makes the steps, the usual values are learned anew.
func TestOtherStepsHaveAnotherUsual(t *testing.T) {
	c := arrivals.NewChooser()
	seq, at := uint32(0), uint64(1e18)
	var sent []arrivals.Arrival
	second := func(every uint32, own uint64) {
		var b store.Batch
		row := store.RankSteps{PID: 7, Rank: 0, Ranks: 2, Comm: comm, Every: every}
		for range 24 {
			at += 1000 * ms / 24
			seq++
			b.Collectives = append(b.Collectives, event.Collective{
				At: at, Op: op, CommID: comm, Rank: 0, Ranks: 2, Seq: seq, Thread: event.Thread{PID: 7, TID: 7},
				SyncOp: 1, SyncEnd: at + 1,
			})
			if seq%every == 0 {
				row.Steps = append(row.Steps, store.RankStep{Seq: uint64(seq/every) - 1, End: at, OwnNS: own, WaitNS: 1})
			}
		}
		row.At = at
		b.RankSteps = []store.RankSteps{row}
		c.Batch(&b)
		_, sent = c.Second(at, nil, sent)
	}
	for range 4 {
		second(1, 3*ms)
	}
	for range 4 {
		second(12, 300*ms)
	}
	for _, a := range sent {
		if a.Why != arrivals.Sample {
			t.Errorf("operation %d is sent as %s: own work %d ms, usually %d", a.Seq, a.Why, a.OwnNS/ms, a.UsualOwnNS/ms)
		}
	}
}

// A process may have several ranks of a communicator.
func TestSumsTellRanksOfAProcessApart(t *testing.T) {
	c := arrivals.NewChooser()
	var b store.Batch
	for rank := range int32(8) {
		b.Collectives = append(b.Collectives, event.Collective{
			At: 1e18, Op: op, CommID: comm, Rank: rank, Ranks: 8, Seq: 1, Thread: event.Thread{PID: 7, TID: 7},
		})
	}
	c.Batch(&b)
	sums, _ := c.Second(1e18+1e9, nil, nil)
	if len(sums) != 8 {
		t.Fatalf("%+v", sums)
	}
	for i, s := range sums {
		if s.Rank != int32(i) || s.Count != 1 {
			t.Errorf("%+v", s)
		}
	}
}
