package node_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/store"
)

const began = 1_700_000_000_000_000_000 // Unix ns

// job is ranks that train together, each on its own node, and their fleet. In a step each rank works, enters a
// collective, and waits in it for the last rank.
type job struct {
	t                    *testing.T
	launch, reduce, wait event.Op
	random               *rand.Rand
	fleet                *health.Fleet
	swept                []health.Verdict
	down                 bool // the fleet does not answer
	members              []*member
	comm                 uint64
	seq                  uint32
	now, second          uint64 // Unix ns
	gpu                  time.Duration
	polls                int
	pushes               int
}

// member is a node and its rank.
type member struct {
	node    *node.Node
	meter   *node.Meter
	match   *collective.Tracker
	batch   store.Batch
	slow    float64     // host's factor
	wait    event.Class // class of its extra time, if its thread waits
	waits   bool
	reads   bool // it waits for its own GPU: for half of its usual work and for all of its extra time
	clock   int  // MHz, of 2,000
	ended   bool
	said    []node.Said
	rows    []store.RankSteps // all measured rows
	entered uint64
}

func newJob(t *testing.T, n int) *job { return newJobOf(t, n, false) }

func newJobOf(t *testing.T, n int, noPolls bool) *job {
	j := &job{
		t: t, launch: eventtest.Op(t, "cudaLaunchKernel"), reduce: eventtest.Op(t, "ncclAllReduce"), wait: eventtest.Op(t, "cudaStreamSynchronize"),
		random: rand.New(rand.NewPCG(7, 8)), fleet: health.NewFleet(), now: began, second: began,
	}
	for i := range n {
		j.members = append(j.members, &member{
			node:  node.New(node.Options{Name: "node-" + string(rune('a'+i)), Cluster: "c", NoPolls: noPolls}),
			meter: node.NewMeter(), match: collective.NewTracker(),
			slow: 1, clock: 2000,
		})
	}
	j.join()
	return j
}

func pid(i int) uint32 { return uint32(100 + i) }

func (j *job) call(i int, op event.Op, start, took uint64, args ...uint64) {
	c := event.Call{Start: start, Duration: took, Thread: event.Thread{PID: pid(i), TID: pid(i)}, Op: op}
	copy(c.Args[:], args)
	m := j.members[i]
	m.batch.Calls = append(m.batch.Calls, c)
}

// join makes a communicator of all ranks.
func (j *job) join() {
	j.comm += 7
	j.seq = 0
	for i := range j.members {
		j.call(i, eventtest.Op(j.t, "ncclCommInitRankConfig"), j.now, 1e6, j.comm, uint64(len(j.members)), uint64(i), j.comm*11)
		b := &j.members[i].batch
		b.GPUMemory = append(b.GPUMemory, store.GPUProcess{PID: pid(i), Bytes: 1, Known: true})
	}
	j.now += 2e6
}

// step makes a step of all ranks. If j.gpu is not 0, the GPU takes that long from the step's begin on, so that hosts
// have time to spare.
func (j *job) step() {
	j.seq++
	var last uint64
	for i, m := range j.members {
		if m.ended {
			continue
		}
		work := uint64(float64(40*time.Millisecond) * m.slow * (1 + 0.02*j.random.NormFloat64()))
		if j.gpu == 0 {
			work *= 4
		}
		if longer := work - uint64(float64(work)/m.slow); m.waits && longer > 0 {
			g := event.Gap{Start: j.now, Duration: longer, Thread: event.Thread{PID: pid(i), TID: pid(i)}}
			g.Ledger.NS[m.wait], g.Ledger.Voluntary = longer, 1
			m.batch.Gaps = append(m.batch.Gaps, g)
		}
		for k := range uint64(10) {
			j.call(i, j.launch, j.now+k*work/100, 5000)
		}
		if m.reads {
			half := uint64(float64(work) / m.slow / 2)
			j.call(i, j.wait, j.now+half, work-half-1000, 5)
		}
		m.entered = j.now + work
		j.call(i, j.reduce, m.entered, 20_000, j.comm, 1<<20, uint64(j.seq)|7<<32, 5)
		last = max(last, m.entered+20_000, j.now+uint64(j.gpu))
	}
	last += 1e6
	for i, m := range j.members {
		if !m.ended {
			j.call(i, j.wait, m.entered+21_000, last-m.entered-21_000, 5)
		}
	}
	j.now = last + 1000
	for j.second+1e9 <= j.now {
		j.second += 1e9
		j.feed()
	}
}

// feed passes the records up to a second to the nodes, and lets them ask the fleet in it.
func (j *job) feed() {
	for _, m := range j.members {
		slices.SortStableFunc(m.batch.Calls, func(a, b event.Call) int { return int(int64(a.End()) - int64(b.End())) })
		n := 0
		for n < len(m.batch.Calls) && m.batch.Calls[n].End() <= j.second {
			n++
		}
		later := slices.Clone(m.batch.Calls[n:])
		m.batch.Calls = m.batch.Calls[:n]
		m.match.Calls(m.batch.Calls)
		m.batch.Collectives = m.match.Take(j.second, nil)
		m.batch.GPUs = append(m.batch.GPUs, store.GPUSnapshot{At: j.second - 5e8, ClockMHz: m.clock, MaxMHz: 2000})
		m.meter.Batch(&m.batch)
		m.batch.RankSteps = m.meter.Second(j.second, m.batch.RankSteps)
		m.rows = append(m.rows, m.batch.RankSteps...)
		m.node.Batch(&m.batch)
		m.said = m.node.Second(j.second, m.said)
		m.batch.Reset()
		m.batch.Calls = append(m.batch.Calls, later...)
	}
	for at := time.Duration(j.second); at < time.Duration(j.second)+time.Second; at += 100 * time.Millisecond {
		j.ask(at)
	}
}

func (j *job) ask(at time.Duration) {
	for _, m := range j.members {
		if next := m.node.Next(); next == 0 || next > at {
			continue
		}
		pushes, polls := m.node.Due(at)
		j.pushes += len(pushes)
		for i := range pushes {
			var a *health.Reply
			if !j.down {
				a = j.fleet.Push(at, &pushes[i].Health)
			}
			m.said = m.node.Answer(at, pushes[i].Health.Cohort, a, m.said)
		}
		j.polls += len(polls)
		for _, p := range polls {
			var a *health.Reply
			if !j.down {
				a = j.fleet.Poll(at, p.Health)
			}
			m.said = m.node.Answer(at, p.Health.Cohort, a, m.said)
		}
	}
	if at%health.PushEvery < 100*time.Millisecond {
		j.swept = j.fleet.Sweep(at, j.swept)
	}
}

// run runs steps for a time.
func (j *job) run(d time.Duration) {
	for until := j.now + uint64(d); j.now < until; {
		j.step()
	}
}

// said returns what all nodes reported, without what has ended since.
func (j *job) said() (list []node.Said) {
	for _, m := range j.members {
		list = append(list, m.said...)
	}
	return list
}
