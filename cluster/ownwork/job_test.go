package ownwork_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

// job is a made job: its ranks do the same things one after another, each with its own host and GPU, which factors
// make slower. It makes the calls that a tracer would record.
type job struct {
	ranks  []*rank
	random *rand.Rand
	comms  map[string]*comm
	calls  []event.Call
	losses map[uint64]event.Loss // by second of the job

	// What is measured.
	tracker *ownwork.Tracker
	matcher *collective.Tracker
	second  uint64
	steps   []ownwork.Step
	reports map[uint32]ownwork.Report // of the last second
}

// rank has times in ns.
type rank struct {
	pid       uint32
	host, gpu uint64 // when each has finished its work so far
	hostSlow  float64
	gpuSlow   float64
	queue     []uint64 // when launches end
	tid       uint32
}

// comm is a communicator of some ranks; seq counts its operations.
type comm struct {
	id   uint64
	seq  uint32
	size int
}

const began = 1_700_000_000_000_000_000

func newJob(n int) *job {
	j := &job{
		random: rand.New(rand.NewPCG(3, 4)), comms: map[string]*comm{}, losses: map[uint64]event.Loss{},
		tracker: ownwork.NewTracker(), matcher: collective.NewTracker(), reports: map[uint32]ownwork.Report{},
	}
	for i := range n {
		pid := uint32(100 + i)
		j.ranks = append(j.ranks, &rank{pid: pid, tid: pid, host: began, gpu: began, hostSlow: 1, gpuSlow: 1})
	}
	j.second = began / 1e9
	return j
}

func opOf(name string) event.Op {
	for i := range event.Catalog {
		if event.Catalog[i].Name == name {
			return event.Catalog[i].Op
		}
	}
	panic(name)
}

var (
	opLaunch    = opOf("cudaLaunchKernel")
	opCopy      = opOf("cudaMemcpyAsync")
	opSync      = opOf("cudaStreamSynchronize")
	opInit      = opOf("ncclCommInitRankConfig")
	opReduce    = opOf("ncclAllReduce")
	opGather    = opOf("ncclAllGather")
	opDestroy   = opOf("ncclCommDestroy")
	opGraph     = opOf("cudaGraphLaunch")
	handle      = map[string]uint64{"world": 0xa0, "tp": 0xb0, "dp": 0xc0}
	all         = func(int) int { return 0 }
	usPerLaunch = uint64(5_000)
)

func (j *job) call(r *rank, op event.Op, took uint64, args ...uint64) {
	c := event.Call{Start: r.host, Duration: took, Thread: event.Thread{PID: r.pid, TID: r.tid}, Op: op}
	copy(c.Args[:], args)
	r.host += took
	j.calls = append(j.calls, c)
}

// join makes a communicator of the ranks with the same part.
func (j *job) join(name string, part func(int) int) {
	first := uint64(1000*len(j.comms) + 10)
	for i, r := range j.ranks {
		size, at := 0, 0
		for k := range j.ranks {
			if part(k) == part(i) {
				if k < i {
					at++
				}
				size++
			}
		}
		id := (first + uint64(part(i))) * 7
		j.comms[r.comm(name)] = &comm{id: id, size: size}
		j.call(r, opInit, 1e6, handle[name], uint64(size), uint64(at), id)
	}
}

func (r *rank) comm(name string) string { return name + string(rune(r.pid)) }

// work is work of the hosts, with some noise.
func (j *job) work(d time.Duration) {
	for _, r := range j.ranks {
		r.host += uint64(float64(d) * r.hostSlow * (1 + 0.02*j.random.NormFloat64()))
	}
}

// launch launches n kernels that take the GPU d each.
func (j *job) launch(n int, d time.Duration) {
	for _, r := range j.ranks {
		for range n {
			took := usPerLaunch
			if len(r.queue) >= 1024 {
				took = max(took, r.queue[len(r.queue)-1024]-min(r.queue[len(r.queue)-1024], r.host))
			}
			j.call(r, opLaunch, took)
			r.gpu = max(r.gpu, r.host) + uint64(float64(d)*r.gpuSlow)
			r.queue = append(r.queue, r.gpu)
		}
		r.queue = r.queue[max(0, len(r.queue)-1024):]
	}
}

// collect makes a collective of the ranks with the same part. It takes a millisecond from when all of their GPUs have
// reached it.
func (j *job) collect(op event.Op, name string, part func(int) int, bytes uint64) {
	last := map[int]uint64{}
	for i, r := range j.ranks {
		c := j.comms[r.comm(name)]
		c.seq++
		j.call(r, op, 20_000, handle[name], bytes, uint64(c.seq)|7<<32, 5)
		last[part(i)] = max(last[part(i)], r.host, r.gpu)
	}
	for i, r := range j.ranks {
		r.gpu = last[part(i)] + 1e6
		r.queue = append(r.queue, r.gpu)
	}
}

// wait waits for the GPUs, as item() of a tensor does.
func (j *job) wait() {
	for _, r := range j.ranks {
		j.await(r)
	}
}

func (j *job) await(r *rank) {
	j.call(r, opSync, 2000+r.gpu-min(r.gpu, r.host), 5)
	r.queue = r.queue[:0]
}

// trace passes what the job has done so far to the tracker, second by second.
func (j *job) trace() {
	slices.SortStableFunc(j.calls, func(a, b event.Call) int {
		return int(int64(a.End()) - int64(b.End()))
	})
	done := j.ranks[0].host
	for _, r := range j.ranks {
		done = min(done, r.host)
	}
	for ; (j.second+1)*1e9 <= done; j.second++ {
		at := (j.second + 1) * 1e9
		n := 0
		for n < len(j.calls) && j.calls[n].End() <= at {
			n++
		}
		j.feed(at, j.calls[:n])
		j.calls = j.calls[n:]
	}
}

func (j *job) feed(at uint64, calls []event.Call) {
	for len(calls) > 0 { // in parts, as they are drained
		n := min(len(calls), 100)
		j.matcher.Calls(calls[:n])
		j.tracker.Calls(calls[:n])
		calls = calls[n:]
	}
	j.tracker.Collectives(j.matcher.Take(at, nil))
	var losses []event.Loss
	if l, ok := j.losses[at/1e9-began/1e9]; ok {
		losses = append(losses, l)
	}
	j.tracker.Losses(at, losses)
	j.steps = j.tracker.Take(at, j.steps)
	for _, r := range j.ranks {
		j.reports[r.pid] = j.tracker.Report(r.pid, at)
	}
}

// rounds runs steps.
func (j *job) rounds(n int, step func()) {
	for range n {
		step()
		j.trace()
	}
}

// mean returns the mean own work and wait of a rank's steps, from a step on.
func (j *job) mean(i int, from uint64) (own, wait time.Duration, n int) {
	for k := range j.steps {
		if s := &j.steps[k]; s.PID == j.ranks[i].pid && s.Seq >= from {
			own, wait, n = own+s.Own, wait+s.Wait, n+1
		}
	}
	if n > 0 {
		own, wait = own/time.Duration(n), wait/time.Duration(n)
	}
	return own, wait, n
}

// reason fails unless all ranks have a reason.
func (j *job) reason(t *testing.T, want ownwork.Reason) {
	t.Helper()
	for _, r := range j.ranks {
		if got := j.reports[r.pid]; got.Reason != want {
			t.Fatalf("rank %d: %v, %+v; want %v", r.pid, got.Reason, got, want)
		}
	}
}

// slowest fails unless one rank has the most own work, by a share of each other rank's, and the shortest waits.
func (j *job) slowest(t *testing.T, rank int, by float64) {
	t.Helper()
	own, wait, n := j.mean(rank, 0)
	if n < 20 {
		t.Fatalf("rank %d has %d steps", rank, n)
	}
	for i := range j.ranks {
		o, w, _ := j.mean(i, 0)
		if i != rank && (float64(own) < (1+by)*float64(o) || w <= wait) {
			t.Errorf("rank %d works %v and waits %v, the slowed rank %v and %v", i, o, w, own, wait)
		}
	}
}

// inOrder sorts steps by their ends.
func inOrder(steps []ownwork.Step) []ownwork.Step {
	list := slices.Clone(steps)
	slices.SortStableFunc(list, func(a, b ownwork.Step) int { return int(a.End - b.End) })
	return list
}
