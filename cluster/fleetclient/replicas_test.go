package fleetclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/replicas"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/store"
)

// wires is a network: the machine's, or one in memory, where time may be virtual.
type wires interface {
	listen(address string) (net.Listener, error)
	dial(ctx context.Context, address string) (net.Conn, error)
}

type machine struct{}

func (machine) listen(address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
}

func (machine) dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

type memory struct {
	mu sync.Mutex
	at map[string]*listener
}

type listener struct {
	net     *memory
	address string
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (m *memory) listen(address string) (net.Listener, error) {
	l := &listener{net: m, address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[address] = l
	return l, nil
}

func (m *memory) dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	l := m.at[address]
	m.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// lab has replicas, and the agents of nodes with a rank each.
type lab struct {
	t         *testing.T
	wires     wires
	addresses []string // host and port
	running   []*replica
	agents    []*fleetagent.Agent
	fleets    []*Replicas
	ranks     []*rank

	mu    sync.Mutex // guards the rest
	cut   map[link]bool
	said  []node.Said
	told  []fleetserver.Told
	began time.Time
}

// link is a cut connection between a node and a replica.
type link struct{ node, replica int }

// replica is a running server of a fleet.
type replica struct {
	server *http.Server
	fleet  *fleetserver.Server
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

const labCluster = "c"

func newLab(t *testing.T, w wires, nodes, fleets int) *lab {
	l := &lab{t: t, wires: w, cut: map[link]bool{}, began: time.Now()}
	for i := range fleets {
		l.addresses = append(l.addresses, fmt.Sprintf("10.0.0.%d:4318", i+1))
		l.running = append(l.running, nil)
		if _, real := w.(machine); real {
			f, err := w.listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.addresses[i] = f.Addr().String()
			_ = f.Close() // only its address was needed
		}
		l.start(i)
	}
	for i := range nodes {
		l.ranks = append(l.ranks, &rank{
			t: t, pid: uint32(i), match: collective.NewTracker(), meter: node.NewMeter(), slow: 1,
			random: rand.New(rand.NewPCG(1, uint64(i))),
		})
		l.fleets = append(l.fleets, l.client(i))
		l.agents = append(l.agents, fleetagent.New(fleetagent.Options{
			Node: node.Options{Name: fmt.Sprint("node-", i), Cluster: labCluster}, Fleet: l.fleets[i], Told: func(s node.Said) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.said = append(l.said, s)
			},
		}))
	}
	return l
}

// client returns a node's client over the lab's network.
func (l *lab) client(node int) *Replicas {
	l.t.Helper()
	var o []Options
	for _, a := range l.addresses {
		o = append(o, Options{URL: "http://" + a})
	}
	r, err := NewReplicas(nil, o...)
	if err != nil {
		l.t.Fatal(err)
	}
	for i, c := range r.clients {
		over := c.http.client.Transport.(*http.Transport)
		over.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			l.mu.Lock()
			cut := l.cut[link{node, i}]
			l.mu.Unlock()
			if cut {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return l.wires.dial(ctx, address)
		}
	}
	return r
}

func (l *lab) start(i int) {
	l.t.Helper()
	listener, err := l.wires.listen(l.addresses[i])
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &replica{stop: stop}
	r.fleet = fleetserver.New(fleetserver.Options{Told: func(v fleetserver.Told) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, v)
	}})
	r.server = &http.Server{Handler: r.fleet.Handler()}
	r.ended.Go(func() { _ = r.server.Serve(listener) }) // ends with Close
	r.ended.Go(func() { r.fleet.Run(ctx) })
	l.running[i] = r
}

func (l *lab) kill(i int) {
	r := l.running[i]
	r.stop()
	_ = r.server.Close()
	r.ended.Wait()
}

// cutOff cuts nodes off from a replica, also on open connections.
func (l *lab) cutOff(replica int, nodes ...int) {
	l.mu.Lock()
	for _, n := range nodes {
		l.cut[link{n, replica}] = true
	}
	l.mu.Unlock()
	for _, n := range nodes {
		l.fleets[n].clients[replica].Close()
	}
}

// repair reconnects all nodes to all replicas.
func (l *lab) repair(int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.cut)
}

// run runs all agents for some seconds; it calls each before every second.
func (l *lab) run(seconds int, each func(second int)) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, a := range l.agents {
		all.Go(func() { a.Run(ctx) })
	}
	for s := range seconds {
		time.Sleep(time.Second)
		each(s)
		most := 0.0
		for _, r := range l.ranks {
			most = max(most, r.slow)
		}
		for i, a := range l.agents {
			a.Batch(l.ranks[i].second(time.Now(), len(l.ranks), 1.2*most))
			a.Second(time.Now())
		}
	}
	cancel()
	all.Wait()
	for _, f := range l.fleets {
		f.Close()
	}
	for i := range l.running {
		l.kill(i)
	}
}

// home returns the replica of the ranks' cohort, once a rank has pushed.
func (l *lab) home() int {
	for i, r := range l.running {
		if list := r.fleet.Cohorts(labCluster); len(list.Cohorts) > 0 {
			var id uint64
			if _, err := fmt.Sscanf(list.Cohorts[0].Cohort, "%x", &id); err != nil {
				l.t.Fatal(err)
			}
			if first := replicas.Order(replicas.Names(l.urls()), id)[0]; first != i {
				l.t.Errorf("the cohort is at %d, not at %d", i, first)
			}
			return i
		}
	}
	l.t.Fatal("nothing is pushed")
	return 0
}

func (l *lab) urls() (urls []string) {
	for _, a := range l.addresses {
		urls = append(urls, "http://"+a)
	}
	return urls
}

// live returns how many ranks pushed to a replica lately.
func (l *lab) live(i int) int {
	list := l.running[i].fleet.Cohorts(labCluster)
	if len(list.Cohorts) == 0 {
		return 0
	}
	return list.Cohorts[0].Live
}

// rank makes the records of a rank: steps of 0.2 s with some noise.
type rank struct {
	t      *testing.T
	pid    uint32
	match  *collective.Tracker
	meter  *node.Meter
	random *rand.Rand
	slow   float64
	seq    uint64
	begin  uint64 // of the next step
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
		own, took := uint64(1e8*r.slow*(1+0.02*r.random.NormFloat64())), uint64(1e8*most)+8e7
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

// outage is a case: what happens to the cohort's replica, by seconds since a rank became slow.
type outage struct {
	name string
	at   map[int]func(l *lab, home int)
}

var outages = []outage{
	{"killed, and back after 5 s", map[int]func(*lab, int){2: (*lab).kill, 7: (*lab).start}},
	{"killed when the rank becomes slow, and back after 20 s", map[int]func(*lab, int){0: (*lab).kill, 20: (*lab).start}},
	{"killed and back at once", map[int]func(*lab, int){3: func(l *lab, i int) { l.kill(i); l.start(i) }}},
	{"cut off from half of the nodes for 30 s", map[int]func(*lab, int){
		0: func(l *lab, i int) { l.cutOff(i, 0, 1, 2) }, 30: (*lab).repair,
	}},
	{"cut off from one node for 30 s", map[int]func(*lab, int){
		0: func(l *lab, i int) { l.cutOff(i, 0) }, 30: (*lab).repair,
	}},
}

// run makes a rank slow after a minute. That must be reported, and nothing else.
func (o *outage) run(t *testing.T, w wires, fleets int) {
	const onset, seconds, slow = 60, 125, 4
	l := newLab(t, w, 6, fleets)
	home, most := 0, 0
	l.run(seconds, func(s int) {
		switch s {
		case onset:
			home = l.home()
			l.ranks[slow].slow = 1.3
		case seconds - 1:
			most = l.live(home)
		}
		if do := o.at[s-onset]; do != nil && s >= onset {
			do(l, home)
		}
	})
	if len(l.said) != 1 || l.said[0].Kind != health.KindStraggler || l.said[0].Rank != slow || l.said[0].Resolved {
		t.Errorf("said: %+v", l.said)
	} else if delay := l.said[0].At - time.Duration(l.began.UnixNano()) - onset*time.Second; delay > 40*time.Second {
		t.Errorf("after %s", delay)
	} else {
		t.Logf("found after %s", delay)
	}
	if len(l.told) != 0 {
		t.Errorf("replicas have told: %+v", l.told)
	}
	if most != len(l.ranks) {
		t.Errorf("%d of %d ranks are back", most, len(l.ranks))
	}
}

// In virtual time, over a network in memory.
func TestASlowRankWhileAReplicaIsAway(t *testing.T) {
	for i := range outages {
		for _, fleets := range []int{2, 5} {
			t.Run(fmt.Sprintf("%s, of %d", outages[i].name, fleets), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { outages[i].run(t, &memory{at: map[string]*listener{}}, fleets) })
			})
		}
	}
}

// liveEnv enables the same run over loopback, for two minutes: make test-fleet.
const liveEnv = "INGERO_FLEET_LIVE"

func TestASlowRankWhileAReplicaIsAwayLive(t *testing.T) {
	if os.Getenv(liveEnv) == "" {
		t.Skip(liveEnv + " is not set: it takes two minutes; make test-fleet runs it")
	}
	for i := range outages[:3] {
		for _, fleets := range []int{2, 5} {
			t.Run(fmt.Sprintf("%s, of %d", outages[i].name, fleets), func(t *testing.T) {
				t.Parallel()
				outages[i].run(t, machine{}, fleets)
			})
		}
	}
}

// A node that stays silent is reported as missing, and nothing else is: no peer is elsewhere.
func TestANodeIsSilentWithReplicas(t *testing.T) {
	for _, fleets := range []int{2, 5} { // asking five takes longer than one of them counts as away
		t.Run(fmt.Sprint("of ", fleets), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { aNodeIsSilent(t, fleets) }) })
	}
}

// aNodeIsSilent cuts a node off from all fleets. The fleets report it, and the node goes on alone: its rank becomes
// slow.
func aNodeIsSilent(t *testing.T, fleets int) {
	l := newLab(t, &memory{at: map[string]*listener{}}, 6, fleets)
	l.run(150, func(s int) {
		switch s {
		case 60:
			for i := range fleets {
				l.cutOff(i, 5)
			}
		case 90:
			l.ranks[5].slow = 1.3
		}
	})
	alone := slices.ContainsFunc(l.said, func(s node.Said) bool { return s.Kind == health.KindSlowVsSelf && s.Rank == 5 })
	l.said = slices.DeleteFunc(l.said, func(s node.Said) bool { return s.Kind == health.KindSlowVsSelf })
	if !alone || len(l.said) != 0 || len(l.told) != 1 || l.told[0].Kind != health.KindMissing || l.told[0].Rank != 5 {
		t.Errorf("slower than it was: %v; said %+v, told %+v", alone, l.said, l.told)
	}
}

// The lists of several replicas become one.
func TestCohortsOfReplicas(t *testing.T) {
	const cohorts = 60 // so many that every replica has some, whatever the addresses: (2/3)^60
	l := newLab(t, machine{}, 0, 3)
	r := l.client(0)
	defer r.Close()
	for cohort := range uint64(cohorts) {
		p := some()
		p.Health.Cohort = cohort + 1
		if a, err := r.Push(t.Context(), p); err != nil || a.Reply == nil {
			t.Fatalf("%+v %v", a, err)
		}
	}
	for i := range 3 {
		if n := l.running[i].fleet.Counts().Cohorts; n == 0 || n == cohorts {
			t.Errorf("replica %d has %d of %d cohorts", i, n, cohorts)
		}
	}
	list, failed := r.Cohorts(t.Context(), "")
	if len(failed) != 0 || !list.Whole || len(list.Cohorts) != cohorts {
		t.Errorf("%+v %v", list, failed)
	}
	l.kill(1)
	list, failed = r.Cohorts(t.Context(), "")
	if len(failed) != 1 || failed["http://"+l.addresses[1]] == nil || len(list.Cohorts) >= cohorts {
		t.Errorf("%+v %v", list, failed)
	}
	l.kill(0)
	l.kill(2)
	if list, failed = r.Cohorts(t.Context(), ""); list != nil || len(failed) != 3 {
		t.Errorf("%+v %v", list, failed)
	}
	if _, err := r.Push(t.Context(), some()); err == nil {
		t.Error("nobody answers")
	}
}

func TestReplicasThatAreNone(t *testing.T) {
	for why, o := range map[string][]Options{
		"invalid address": {{URL: "http://a:1"}, {URL: "ftp://b:1"}},
		"is there twice":  {{URL: "http://a:1"}, {URL: "http://a:1"}},
	} {
		if _, err := NewReplicas(nil, o...); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	r, err := NewReplicas(nil, Options{URL: "http://a:1"}, Options{URL: "grpc://b:1"})
	if err != nil || r.Polls() || !r.Reachable() {
		t.Errorf("%v", err)
	}
	r.Close()
	r.Close()
}

var _ fleetagent.Fleet = (*Replicas)(nil)
