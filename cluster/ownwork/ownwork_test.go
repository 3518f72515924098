package ownwork_test

import (
	"math"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

const ms = time.Millisecond

// ddp is a step of data parallel training: the reductions begin while the backward pass is launched.
func (j *job) ddp() {
	j.work(20 * ms)
	j.launch(100, 100*time.Microsecond)
	for b := range 4 {
		j.work(5 * ms)
		j.launch(50, 50*time.Microsecond)
		j.collect(opReduce, "world", all, uint64(1<<20+b))
	}
	j.launch(50, 20*time.Microsecond)
	j.wait()
}

func TestSlowHostHasTheMostOwnWork(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	j.ranks[2].hostSlow = 1.3
	j.rounds(300, j.ddp)
	j.reason(t, ownwork.Measured)
	j.slowest(t, 2, 0.15)
	for _, s := range j.steps {
		if s.Every != 4 || s.Ranks != 4 || s.Rank != int32(s.PID-100) || s.Comm == 0 {
			t.Fatalf("counted by %+v", s.Source)
		}
	}
	// All ranks have the same steps, one after another.
	next := map[uint32]uint64{}
	for _, s := range j.steps {
		if n := next[s.PID]; n != 0 && s.Seq != n {
			t.Fatalf("rank %d: step %d after %d", s.Rank, s.Seq, n-1)
		}
		next[s.PID] = s.Seq + 1
	}
	for _, r := range j.ranks {
		if n := next[r.pid]; n < 285 || n > 301 {
			t.Errorf("rank %d: last step %d", r.pid, n)
		}
	}
	for i := range j.ranks {
		r := j.reports[j.ranks[i].pid]
		if !r.FollowsKnown || i == 2 && (r.Follows < 0.7 || r.Spare()) || i != 2 && r.Follows > 0.5 {
			t.Errorf("rank %d: of its own work %.2f±%.2f follow", i, r.Follows, r.FollowsError)
		}
	}
}

// Own work is the host's time outside of waits, to the microsecond.
func TestOwnWorkIsTheStepWithoutItsWaits(t *testing.T) {
	j := newJob(2)
	j.join("world", all)
	j.rounds(100, func() {
		for _, r := range j.ranks {
			r.host += 10e6
		}
		j.launch(10, 3*ms)
		j.collect(opReduce, "world", all, 1<<20)
		j.wait()
	})
	const own = 10*ms + 10*5*time.Microsecond + 20*time.Microsecond
	const wait = 30*ms + 1*ms - 9*5*time.Microsecond - 20*time.Microsecond + 2*time.Microsecond
	if len(j.steps) < 150 {
		t.Fatalf("%d steps", len(j.steps))
	}
	for _, s := range j.steps {
		if d := s.Wait - wait; s.Own != own || d < -30*time.Microsecond || d > 30*time.Microsecond || s.Work != 10 {
			t.Fatalf("step %d: own work %v, wait %v, %v launches; want %v, %v", s.Seq, s.Own, s.Wait, s.Work, own, wait)
		}
	}
}

func TestSlowGPULooksLikeItsPeersButForItsClock(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	j.ranks[1].gpuSlow = 1.5
	j.rounds(200, func() {
		j.ddp()
		for i, r := range j.ranks {
			share := 0.95
			if i == 1 {
				share = 0.6
			}
			j.tracker.Clock(r.pid, r.host, share)
		}
	})
	slow, _, _ := j.mean(1, 0)
	for i := range j.ranks {
		if own, _, _ := j.mean(i, 0); own < slow*95/100 || own > slow*105/100 {
			t.Errorf("rank %d works %v, that of the slow GPU %v", i, own, slow)
		}
	}
	for _, s := range j.steps {
		want := map[bool]float64{true: 0.6, false: 0.95}[s.Rank == 1]
		if s.Seq > 30 && math.Abs(s.Clock-want) > 1e-6 { // earlier there is no reading
			t.Fatalf("rank %d has a clock of %v", s.Rank, s.Clock)
		}
	}
}

// In a job that is limited by its GPUs, nobody waits for a slow host.
func TestHostWithTimeToSpare(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	j.ranks[3].hostSlow = 1.2
	j.rounds(200, func() {
		j.launch(50, time.Millisecond) // keeps the GPU busy while the host prepares more
		j.work(20 * ms)
		j.launch(50, time.Millisecond)
		j.collect(opReduce, "world", all, 1<<20)
		j.wait()
	})
	for i := range j.ranks {
		if r := j.reports[j.ranks[i].pid]; !r.FollowsKnown || !r.Spare() {
			t.Errorf("rank %d: of its own work %.2f±%.2f follow", i, r.Follows, r.FollowsError)
		}
	}
}

func TestTensorParallelRanksAreCountedByTheOutermostCommunicator(t *testing.T) {
	tp := func(i int) int { return i / 4 }
	dp := func(i int) int { return i % 4 }
	for name, c := range map[string]struct {
		ranks, want int32
		last        string
	}{
		"as many ranks": {16, 4, "dp"},
		"all ranks":     {16, 16, "world"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(int(c.ranks))
			j.join("world", all)
			j.collect(opReduce, "world", all, 4) // a barrier
			j.join("tp", tp)
			j.join("dp", dp)
			j.ranks[6].hostSlow = 1.3
			j.rounds(150, func() {
				for range 12 {
					j.work(10 * ms)
					j.launch(10, 20*time.Microsecond)
					j.collect(opReduce, "tp", tp, 1<<16)
				}
				j.collect(opReduce, "dp", dp, 1<<24)
				if c.last == "world" {
					j.collect(opReduce, "world", all, 4)
				}
				j.wait()
			})
			j.reason(t, ownwork.Measured)
			r := j.reports[j.ranks[6].pid]
			if r.Source.Ranks != c.want || r.Source.Every != 1 || r.Source.Comm != j.comms[j.ranks[6].comm(c.last)].id {
				t.Fatalf("counted by %+v", r.Source)
			}
			ways := map[uint64]bool{}
			for _, s := range j.steps { // no step is from a time whose waits were dropped
				if ways[s.Comm] = true; s.Wait == 0 && s.Comm == r.Source.Comm {
					t.Fatalf("step %d has no wait: %+v", s.Seq, s)
				}
			}
			if len(ways) < 2 {
				t.Error("steps were not counted by another communicator first")
			}
			own, _, _ := j.mean(6, 0)
			for i := range j.ranks {
				if o, _, n := j.mean(i, 0); i != 6 && (n < 50 || float64(own) < 1.2*float64(o)) {
					t.Errorf("rank %d works %v in %d steps, the slowed one %v", i, o, n, own)
				}
			}
		})
	}
}

// Stages of a pipeline do different work. The ranks of one stage share a communicator.
func TestPipelineStages(t *testing.T) {
	stage := func(i int) int { return i / 3 }
	j := newJob(6)
	j.join("dp", stage)
	send, recv := opOf("ncclSend"), opOf("ncclRecv")
	j.ranks[4].hostSlow = 1.3
	j.rounds(150, func() {
		j.work(30 * ms)
		for i, r := range j.ranks {
			op, peer := send, uint64(i+3)
			if i >= 3 {
				op, peer = recv, uint64(i-3)
				r.host += 20e6 // its stage has more to do
			}
			j.call(r, op, 20_000, 0xd0, 1<<20, 1|peer<<48, 6)
		}
		j.launch(50, 20*time.Microsecond)
		j.collect(opReduce, "dp", stage, 1<<24)
		j.wait()
	})
	j.reason(t, ownwork.Measured)
	own, wait, _ := j.mean(4, 0)
	for _, i := range []int{3, 5} {
		if o, w, _ := j.mean(i, 0); float64(own) < 1.1*float64(o) || w <= wait {
			t.Errorf("rank %d works %v and waits %v, the slowed one of its stage %v and %v", i, o, w, own, wait)
		}
	}
	first, second, last := j.reports[100], j.reports[101], j.reports[104]
	if first.Source.Key() == last.Source.Key() || first.Source.Key() != second.Source.Key() {
		t.Error("ranks of one stage must have one key, and stages different ones")
	}
	if first.Pairs == 0 {
		t.Error("sends are not counted")
	}
}

func TestGradientAccumulationIsOneStep(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	j.ranks[0].hostSlow = 1.25
	j.rounds(100, func() {
		for range 4 { // the loss of each batch is read
			j.work(10 * ms)
			j.launch(50, 20*time.Microsecond)
			j.wait()
		}
		for b := range 3 {
			j.collect(opReduce, "world", all, uint64(1<<20+b))
		}
		j.wait()
	})
	j.slowest(t, 0, 0.2)
	if own, _, n := j.mean(0, 0); own < 45*ms || n > 101 {
		t.Errorf("own work is %v in %d steps", own, n)
	}
}

// Sharded models gather before each layer, all of the same size.
func TestShardedModelIsOneStep(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.rounds(60, func() {
		for range 40 {
			j.collect(opGather, "world", all, 1<<20)
			j.launch(5, 100*time.Microsecond)
		}
		for range 40 {
			j.collect(opGather, "world", all, 1<<20)
			j.launch(5, 100*time.Microsecond)
			j.collect(opOf("ncclReduceScatter"), "world", all, 1<<20)
		}
		j.work(10 * ms)
		j.wait()
	})
	if r := j.reports[100]; r.Source.Every != 120 {
		t.Errorf("a step is %d collectives", r.Source.Every)
	}
}

// A validation has other collectives. It does not change what a step is.
func TestValidation(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	j.rounds(100, j.ddp)
	j.rounds(100, func() {
		j.work(5 * ms)
		for n := range uint64(3) {
			j.collect(opReduce, "world", all, 8+n)
		}
		j.wait()
	})
	j.rounds(100, j.ddp)
	keys := map[uint64]bool{}
	perSeq := map[uint64]int{}
	for _, s := range j.steps {
		keys[s.Key()] = true
		perSeq[s.Seq]++
	}
	if len(keys) != 1 {
		t.Errorf("steps were counted in %d ways", len(keys))
	}
	missing := 0
	for seq := uint64(20); seq < 200; seq++ {
		if perSeq[seq] != 4 {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d steps are not of all ranks", missing)
	}
}

// With sequences of different lengths no size repeats.
func TestSizesThatNeverRepeat(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	n := uint64(0)
	j.rounds(200, func() {
		n++
		j.work(10 * ms)
		j.collect(opGather, "world", all, 1000+n*n%7919)
		j.collect(opReduce, "world", all, 5000+n*n%7907)
		j.wait()
	})
	j.reason(t, ownwork.Measured)
	if r := j.reports[100]; r.Source.Every != 2 {
		t.Errorf("a step is %d collectives", r.Source.Every)
	}
}

func TestNoPattern(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	ops := []event.Op{opReduce, opGather, opOf("ncclReduceScatter"), opOf("ncclAlltoAll")}
	j.rounds(6000, func() {
		j.collect(ops[j.random.IntN(4)], "world", all, j.random.Uint64N(1000))
		if j.random.IntN(10) == 0 {
			j.wait()
		}
	})
	j.reason(t, ownwork.NoPattern)
	if len(j.steps) > 0 {
		t.Errorf("%d steps", len(j.steps))
	}
}

// Where the host hardly ever waits, launches wait for room in the queue.
func TestFullQueue(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.ranks[1].hostSlow = 1.5
	j.rounds(1000, func() {
		j.work(40 * ms)
		j.launch(600, 20*time.Microsecond)
		j.collect(opReduce, "world", all, 1<<20)
	})
	for i := range j.ranks { // the rank that the others wait for never waits itself
		want := map[bool]ownwork.Reason{true: ownwork.NeverWaits, false: ownwork.Measured}[i == 1]
		if r := j.reports[j.ranks[i].pid]; r.Reason != want || r.Steps < 900 {
			t.Errorf("rank %d: %+v; want %v", i, r, want)
		}
	}
	j.slowest(t, 1, 0.3)
}

func TestDroppedRecordsLeaveStepsOut(t *testing.T) {
	whole, part := newJob(3), newJob(3)
	for _, j := range []*job{whole, part} {
		j.join("world", all)
	}
	part.losses[5] = event.Loss{Kind: event.LostCall, Count: 3}
	for _, j := range []*job{whole, part} {
		j.rounds(150, j.ddp)
	}
	_, _, all := whole.mean(0, 0)
	_, _, some := part.mean(0, 0)
	skipped := part.reports[100].Skipped
	if skipped < 10 || skipped > 30 || all-some != int(skipped) || whole.reports[100].Skipped != 0 {
		t.Errorf("%d and %d steps, %d left out", all, some, skipped)
	}
}

// A collective whose record was dropped is a gap in the numbers, even without a reported loss.
func TestGapInTheNumbers(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	n := 0
	j.rounds(150, func() {
		if n++; n == 60 {
			j.comms[j.ranks[0].comm("world")].seq += 2
		}
		j.ddp()
	})
	if r := j.reports[100]; r.Skipped == 0 || r.Skipped > 3 || j.reports[101].Skipped != 0 {
		t.Errorf("left out: %d and %d", r.Skipped, j.reports[101].Skipped)
	}
}

// A job goes on with a new communicator at the same address. The end of the old one may not be seen.
func TestCommunicatorIsMadeAnew(t *testing.T) {
	for _, destroyed := range []bool{true, false} {
		j := newJob(3)
		j.join("world", all)
		j.rounds(100, j.ddp)
		old := j.reports[100].Source
		for i, r := range j.ranks {
			c := j.comms[r.comm("world")]
			c.seq++
			j.call(r, opReduce, 20_000, handle["world"], 8, uint64(c.seq)|7<<32, 77) // nothing waits for it
			if destroyed {
				j.call(j.ranks[i], opDestroy, 1000, handle["world"])
			}
		}
		j.comms["other"] = nil // the next one has another id
		j.join("world", all)
		before := len(j.steps)
		j.rounds(700, j.ddp)
		j.reason(t, ownwork.Measured)
		now := j.reports[100].Source
		if now.Comm != j.comms[j.ranks[0].comm("world")].id || now.Comm == old.Comm || now.Key() == old.Key() || now.Every != 4 {
			t.Errorf("counted by %+v, before by %+v", now, old)
		}
		for _, s := range j.steps[before+90:] {
			if s.Comm != now.Comm || s.Seq > 701 {
				t.Fatalf("step %d of %+v", s.Seq, s.Source)
			}
		}
	}
}
