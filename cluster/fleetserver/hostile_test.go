package fleetserver_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// still is a clock that stands still: no rank becomes silent because the test is slow.
func still() time.Duration { return time.Hour }

// attacker sends over a network what no agent sends.
type attacker struct {
	t    *testing.T
	url  string
	sent time.Duration
}

// request posts pushes, and returns the status and why they were not accepted.
func (a *attacker) request(pushes ...wire.Push) (code int, why string) {
	a.t.Helper()
	return a.post(body(a.t, pushes...))
}

func (a *attacker) post(b []byte) (code int, why string) {
	a.t.Helper()
	r, err := http.Post(a.url+wire.PushPath+"?cluster_id=c", wire.TypeProtobuf, bytes.NewReader(b))
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		return r.StatusCode, wire.ParseStatus(answer)
	}
	_, why, err = wire.ParseResponse(answer)
	if err != nil {
		a.t.Error(err)
	}
	return r.StatusCode, why
}

// as returns a push of a node with one rank, in a cohort.
func (a *attacker) as(node string, cohort uint64, rank int32) wire.Push {
	a.sent++
	p := push(0, a.sent, 5)
	p.Node, p.Health.Node, p.Health.Cohort, p.Health.Ranks[0].Rank = node, wire.Node(node), cohort, rank
	return p
}

// healthy is a cohort of four nodes that push all the time, and check that the answer has their own middle.
type healthy struct {
	t       *testing.T
	clients [4]*fleetclient.Client
	newest  uint64
}

const healthyOwn = 0.2 // seconds

// round lets all nodes push, and returns the last answer.
func (h *healthy) round() wire.Answer {
	h.t.Helper()
	h.newest++
	var last wire.Answer
	for node, c := range h.clients {
		p := push(node, time.Duration(time.Now().UnixNano()), h.newest)
		r := &p.Health.Ranks[0]
		for i := range r.X {
			r.X[i] = float32(math.Log(healthyOwn) + 0.001*float64(node))
		}
		a, err := c.Push(h.t.Context(), &p)
		if err != nil || a.Reply == nil {
			h.t.Fatalf("node %d is not answered: %v", node, err)
		}
		last = a
	}
	return last
}

// good checks that nothing has changed for the cohort.
func (h *healthy) good(what string) {
	h.t.Helper()
	a := h.round()
	k := len(a.Reply.Buckets)
	if !a.Quorum || a.Reply.Live != 4 || a.Reply.Size != 4 || k == 0 || a.Reply.Degraded || a.Reply.Width != 1 {
		h.t.Fatalf("after %s: %+v", what, a.Reply)
	}
	b := a.Reply.Buckets[k-1]
	if b.Position != h.newest || math.Abs(math.Exp(float64(b.Mid))/healthyOwn-1) > 0.005 {
		h.t.Errorf("after %s: %+v, newest %d", what, b, h.newest)
	}
}

// heap returns the memory in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Nothing that one client can do changes anything for another cohort. It is counted, and takes no more memory than
// the limit on what is kept.
func TestAHostileClient(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Clusters: []string{"c"}, Now: still})
	s := httptest.NewServer(fleet.Handler())
	defer s.Close()
	h := &healthy{t: t}
	for i := range h.clients {
		c, err := fleetclient.New(fleetclient.Options{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h.clients[i] = c
	}
	for range 5 {
		h.round()
	}
	h.good("the start")
	before, used := fleet.Counts(), heap()
	a := &attacker{t: t, url: s.URL, sent: time.Second}

	t.Run("cohorts of one", func(*testing.T) {
		for n := 0; n < 10_000; n += 250 {
			var list []wire.Push
			for i := range 250 {
				list = append(list, a.as(fmt.Sprint("evil-", n+i), uint64(1000+n+i), 0))
			}
			if code, why := a.request(list...); code != http.StatusOK || why != "" {
				t.Fatalf("%d %q", code, why)
			}
		}
		c := fleet.Counts()
		if c.Cohorts != before.Cohorts+10_000 || c.Ranks != before.Ranks+10_000 {
			t.Errorf("%+v", c)
		}
		per := (heap() - used) / 10_000
		t.Logf("a cohort of one takes %d bytes", per)
		if per > 4096 { // so that all that a fleet keeps takes less than 256 MiB
			t.Errorf("a cohort of one takes %d bytes", per)
		}
	})
	h.good("10,000 cohorts of one")

	t.Run("another cluster", func(t *testing.T) {
		p := a.as("evil", 7, 0)
		p.Cluster = "other"
		if code, why := a.request(p); code != http.StatusOK || why != "pushes of this cluster are not accepted" {
			t.Errorf("%d %q", code, why)
		}
		if n := fleet.Counts().Foreign; n != 1 {
			t.Errorf("%d", n)
		}
	})
	h.good("another cluster")

	refused := func(r health.Reason) uint64 { return fleet.Counts().Refused[r] }
	t.Run("forged ranks", func(t *testing.T) {
		was := refused(health.RefusedRank)
		for rank := range int32(4) { // ranks of other nodes, much slower, or ended
			p := a.as("evil", 7, rank)
			p.Health.Sent = time.Duration(time.Now().UnixNano())
			for i := range p.Health.Ranks[0].X {
				p.Health.Ranks[0].X[i] = 3
			}
			p.Health.Ranks[0].Exited = rank%2 == 1
			a.request(p)
		}
		if n := refused(health.RefusedRank) - was; n != 4 {
			t.Errorf("%d of 4", n)
		}
	})
	h.good("forged ranks")

	t.Run("ranks more than there are", func(t *testing.T) {
		was := refused(health.RefusedFull)
		for rank := range int32(1000) {
			p := a.as("evil", 7, 4+rank)
			p.Health.Size = health.MaxCohortRanks
			a.request(p)
		}
		// A cohort grows by two before its members agree.
		if n := refused(health.RefusedFull) - was; n != 998 {
			t.Errorf("%d of 998", n)
		}
	})
	h.t = t
	if r := h.round().Reply; r.Size != 4 || !r.Quorum() { // two more live ranks, neither in the middle
		t.Errorf("after ranks more than there are: %+v", r)
	}
	for rank := range int32(2) {
		p := a.as("evil", 7, 4+rank)
		p.Health.Ranks[0].Exited = true
		a.request(p)
	}
	h.good("they have left")

	t.Run("replayed pushes", func(t *testing.T) {
		was := refused(health.RefusedReplay)
		p := a.as("evil", 1000, 0) // a cohort of one: that node's rank
		p.Node, p.Health.Node = "evil-0", wire.Node("evil-0")
		b := body(t, p)
		for range 50 {
			a.post(b)
		}
		if n := refused(health.RefusedReplay) - was; n != 49 {
			t.Errorf("%d of 49", n)
		}
	})

	t.Run("values", func(t *testing.T) {
		was, faults := refused(health.RefusedValue), fleet.Counts().Faults
		p := a.as("evil-1", 1001, 0)
		p.Health.Ranks[0].Newest = health.Repeated
		for i := range p.Health.Ranks[0].X {
			p.Health.Ranks[0].X[i] = 1e30
		}
		a.request(p)
		if n := refused(health.RefusedValue) - was; n != health.Repeated {
			t.Errorf("%d of %d", n, health.Repeated)
		}
		p = a.as("evil-1", 1001, 0)
		p.Gauges = []wire.Gauges{wire.NoGauges(0)}
		p.Gauges[0].Score.Health = 0.123456789
		b := body(t, p)
		at := bytes.Index(b, le(0.123456789))
		copy(b[at:], le(math.NaN()))
		if code, why := a.post(b); code != http.StatusBadRequest || why == "" {
			t.Errorf("NaN: %d %q", code, why)
		}
		if code, why := a.post(b[:len(b)/2]); code != http.StatusBadRequest || why == "" {
			t.Errorf("half of a push: %d %q", code, why)
		}
		now := fleet.Counts().Faults
		if now[wire.Value] != faults[wire.Value]+1 || now[wire.Malformed] != faults[wire.Malformed]+1 {
			t.Errorf("%v, before %v", now, faults)
		}
		if code, _ := a.post(make([]byte, wire.MaxRequest+1)); code != http.StatusRequestEntityTooLarge {
			t.Errorf("too long: %d", code)
		}
	})
	h.good("values that are none")

	t.Run("a huge cohort", func(t *testing.T) {
		was := fleet.Counts()
		used := heap()
		ranks := 0
		for node := 0; ranks < health.MaxCohortRanks+1024; node++ {
			p := a.as(fmt.Sprint("huge-", node), 5, 0)
			p.Health.Size = health.MaxCohortRanks
			one := p.Health.Ranks[0]
			p.Health.Ranks = nil
			for i := range health.MaxNodeRanks {
				one.Rank = int32(ranks + i)
				p.Health.Ranks = append(p.Health.Ranks, one)
			}
			ranks += health.MaxNodeRanks
			a.request(p)
		}
		c := fleet.Counts()
		if n := c.Ranks - was.Ranks; n != health.MaxCohortRanks {
			t.Errorf("%d ranks of %d are kept", n, health.MaxCohortRanks)
		}
		if n := c.Refused[health.RefusedFull] - was.Refused[health.RefusedFull]; n != 1024 {
			t.Errorf("%d of 1024", n)
		}
		per := (heap() - used) / health.MaxCohortRanks
		t.Logf("a rank of a huge cohort takes %d bytes", per)
		if per > 256 {
			t.Errorf("a rank of a huge cohort takes %d bytes", per)
		}
	})
	h.good("a huge cohort")
	t.Logf("all together have taken %d bytes", heap()-used)
}

// le returns the little-endian bytes of a number.
func le(v float64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(math.Float64bits(v) >> (8 * i))
	}
	return b
}

// Many concurrent requests of one client do not delay the answers to agents for long: the excess is refused.
func TestAFloodBesideAHealthyCohort(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Now: still})
	s := httptest.NewServer(fleet.Handler())
	defer s.Close()
	h := &healthy{t: t}
	for i := range h.clients {
		c, err := fleetclient.New(fleetclient.Options{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h.clients[i] = c
	}
	a := &attacker{t: t, url: s.URL, sent: time.Second}
	big := bytes.Repeat(body(t, a.as("evil", 9, 0)), 200)
	end := make(chan struct{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					r, err := http.Post(s.URL+wire.PushPath, wire.TypeProtobuf, bytes.NewReader(big))
					if err == nil {
						_ = r.Body.Close()
					}
				}
			}
		})
	}
	for range 10 {
		h.round()
	}
	h.good("a flood")
	close(end)
	all.Wait()
	if fleet.Counts().Refused[health.RefusedReplay] == 0 {
		t.Error("nothing was flooded")
	}
}
