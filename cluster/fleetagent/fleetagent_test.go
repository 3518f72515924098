package fleetagent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/store"
)

// fleet is a fleet in memory.
type fleet struct {
	mu     sync.Mutex
	health *health.Fleet
	fails  error
	hangs  bool
	pushes map[string]int // by node
	polls  int
	now    map[string]int // requests of a node in flight
}

func newFleet() *fleet {
	return &fleet{health: health.NewFleet(), pushes: map[string]int{}, now: map[string]int{}}
}

func (f *fleet) begin(node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now[node]++; f.now[node] > 1 {
		return errors.New("two requests of a node at once")
	}
	return f.fails
}

func (f *fleet) Push(ctx context.Context, p *wire.Push) (wire.Answer, error) {
	err := f.begin(p.Node)
	defer func() { f.mu.Lock(); f.now[p.Node]--; f.mu.Unlock() }()
	if f.hangs {
		<-ctx.Done()
		return wire.Answer{}, ctx.Err()
	}
	time.Sleep(30 * time.Millisecond) // of virtual time
	if err != nil {
		return wire.Answer{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushes[p.Node]++
	return answer(f.health.Push(time.Duration(time.Now().UnixNano()), &p.Health)), nil
}

func (f *fleet) Poll(_ context.Context, p wire.Poll) (wire.Answer, error) {
	if err := f.begin(p.Node); err != nil {
		return wire.Answer{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now[p.Node]--
	f.polls++
	return answer(f.health.Poll(time.Duration(time.Now().UnixNano()), p.Health)), nil
}

// answer returns an answer with a copy of the reply: the fleet overwrites its own.
func answer(r *health.Reply) wire.Answer {
	if r != nil {
		own := *r
		own.Buckets = slices.Clone(r.Buckets)
		r = &own
	}
	return wire.AnswerTo(r)
}

func (f *fleet) Reachable() bool { return f.fails == nil }

// rank makes the records of a rank.
type rank struct {
	t     *testing.T
	pid   uint32
	match *collective.Tracker
	meter *node.Meter
	slow  float64
	seq   uint64
	begin uint64 // of the next step
}

// second returns the records up to a time. In a step each of n ranks works and waits for the slowest, which takes
// most times as long as usual.
func (r *rank) second(at time.Time, n int, most float64) *store.Batch {
	b := &store.Batch{}
	call := func(op string, start, took uint64, args ...uint64) {
		c := event.Call{Start: start, Duration: took, Thread: event.Thread{PID: r.pid, TID: r.pid}, Op: eventtest.Op(r.t, op)}
		copy(c.Args[:], args)
		b.Calls = append(b.Calls, c)
	}
	if r.seq == 0 {
		r.begin = uint64(at.UnixNano()) - 1e9
		call("ncclCommInitRankConfig", r.begin-1e6, 1e5, 9, uint64(n), uint64(r.pid), 99)
	}
	for {
		own, took := uint64(1e8*r.slow), uint64(1e8*most)+1e8
		if r.begin+took > uint64(at.UnixNano()) {
			break
		}
		r.seq++
		call("ncclAllReduce", r.begin+own, 20_000, 9, 1<<20, r.seq|7<<32, 5)
		call("cudaStreamSynchronize", r.begin+own+21_000, took-own-50_000, 5)
		r.begin += took
	}
	r.match.Calls(b.Calls)
	b.Collectives = r.match.Take(uint64(at.UnixNano()), nil)
	r.meter.Batch(b)
	b.RankSteps = r.meter.Second(uint64(at.UnixNano()), nil)
	return b
}

// run runs agents of three nodes with a rank each for some seconds.
func run(t *testing.T, f *fleet, log *slog.Logger, seconds int, each func(second int, ranks []*rank)) (
	said []node.Said, agents []*fleetagent.Agent,
) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	var ranks []*rank
	for i := range 3 {
		a := fleetagent.New(fleetagent.Options{
			Node: node.Options{Name: "node-" + string(rune('a'+i)), Cluster: "c"}, Fleet: f, Logger: log,
			Told: func(s node.Said) { mu.Lock(); said = append(said, s); mu.Unlock() },
		})
		agents = append(agents, a)
		all.Go(func() { a.Run(ctx) })
		ranks = append(ranks, &rank{t: t, pid: uint32(i), match: collective.NewTracker(), meter: node.NewMeter(), slow: 1})
	}
	for s := range seconds {
		time.Sleep(time.Second)
		each(s, ranks)
		most := max(ranks[0].slow, ranks[1].slow, ranks[2].slow)
		for i, a := range agents {
			a.Batch(ranks[i].second(time.Now(), 3, most))
			a.Second(time.Now())
		}
	}
	cancel()
	all.Wait()
	return said, agents
}

func TestAgentsFindTheSlowRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		said, agents := run(t, f, nil, 120, func(second int, ranks []*rank) {
			if second == 90 {
				ranks[1].slow = 1.3
			}
		})
		if len(said) != 1 || said[0].Kind != health.KindStraggler || said[0].Rank != 1 || said[0].Resolved {
			t.Errorf("said: %+v", said)
		}
		for name, n := range f.pushes {
			if n < 45 || n > 60 {
				t.Errorf("%s pushed %d times in 120 s", name, n)
			}
		}
		if f.polls == 0 {
			t.Error("the suspect did not poll")
		}
		s := agents[1].Status([]uint32{1, 77})
		if !s.Reachable || s.Failing != "" || len(s.Ranks) != 2 || s.Ranks[0].Slow == nil || s.Ranks[0].State != health.Straggler {
			t.Errorf("status: %+v", s)
		}
	})
}

func TestAFleetThatFailsIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, nil))
		_, agents := run(t, f, log, 60, func(second int, _ []*rank) {
			f.mu.Lock()
			f.fails = nil
			if second > 20 && second < 40 {
				f.fails = errors.New("no answer for " + time.Now().String())
			}
			f.mu.Unlock()
		})
		if n := strings.Count(b.String(), "level=WARN"); n != len(agents) {
			t.Errorf("%d warnings:\n%s", n, &b)
		}
		if n := strings.Count(b.String(), "level=INFO"); n != len(agents) {
			t.Errorf("%d times said to be over:\n%s", n, &b)
		}
	})
}

// A fleet that hangs delays nothing, and Run still ends.
func TestAFleetThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		f.hangs = true
		_, agents := run(t, f, nil, 30, func(int, []*rank) {})
		if s := agents[0].Status(nil); s.Failing == "" || len(s.Ranks) != 1 {
			t.Errorf("status: %+v", s)
		}
	})
}
