package fleetserver_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

const second = time.Second

// push returns a push of a node with one rank, whose number is the node's.
func push(node int, now time.Duration, newest uint64) wire.Push {
	name := "node-" + string(rune('a'+node))
	r := health.RankPush{
		Rank: int32(node), Newest: newest, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active,
	}
	return wire.Push{Node: name, Cluster: "c", Health: health.Push{
		Cohort: 7, Node: wire.Node(name), Sent: now, Size: 4, Width: 1, Merge: 1, Ranks: []health.RankPush{r},
	}}
}

func body(t testing.TB, pushes ...wire.Push) []byte {
	t.Helper()
	var b []byte
	for i := range pushes {
		var err error
		if b, err = wire.AppendRequest(b, &pushes[i]); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func post(h http.Handler, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, wire.PushPath+"?cluster_id=c", body)
	r.Header.Set("Content-Type", wire.TypeProtobuf)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(h http.Handler, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, wire.PollPath+"?"+query, nil))
	return w
}

func answer(t *testing.T, w *httptest.ResponseRecorder) wire.Answer {
	t.Helper()
	a, err := wire.AnswerOfHTTP(w.Header())
	if err != nil {
		t.Error(err)
	}
	return a
}

func TestPushAndPoll(t *testing.T) {
	now := time.Hour
	s := fleetserver.New(fleetserver.Options{Now: func() time.Duration { return now }})
	h := s.Handler()
	for node := range 3 {
		w := post(h, bytes.NewReader(body(t, push(node, now, 5))))
		a := answer(t, w)
		whole := a.Reply != nil && a.Quorum == (node == 2) && !math.IsNaN(a.Threshold)
		if w.Code != http.StatusOK || w.Body.Len() != 0 || !whole {
			t.Fatalf("push %d: %d %q %+v", node, w.Code, w.Body, a)
		}
	}
	p := wire.Poll{Cluster: "c", Node: "node-a", Health: health.Poll{Cohort: 7, Rank: 0, State: health.Suspect}}
	w := get(h, p.Query())
	a, err := wire.ParseAnswer(w.Body.Bytes())
	if err != nil || a.Reply == nil || len(a.Reply.Buckets) != 6 || a.Reply.Buckets[5].N != 3 || !answer(t, w).Quorum {
		t.Errorf("poll: %v %+v", err, a)
	}
	if w := get(h, "cluster_id=c"); w.Code != http.StatusOK || w.Body.String() != `{"quorum_met":false}`+"\n" {
		t.Errorf("an earlier agent's poll: %d %s", w.Code, w.Body)
	}
	if w := get(h, "node=n&cohort=x"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "cohort: is not of 16") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	c := s.Counts()
	if c.Pushes != 3 || c.Polls != 2 || c.Cohorts != 1 || c.Ranks != 3 || c.Faults[wire.Value] != 1 {
		t.Errorf("%+v", c)
	}
}

func TestVerdictsHaveNames(t *testing.T) {
	now := time.Hour
	var told []fleetserver.Told
	s := fleetserver.New(fleetserver.Options{
		Now:  func() time.Duration { return now },
		Told: func(v fleetserver.Told) { told = append(told, v) },
	})
	h := s.Handler()
	for tick := range 12 {
		for node := range 4 {
			if node != 2 || tick < 5 {
				post(h, bytes.NewReader(body(t, push(node, now, uint64(tick)))))
			}
		}
		now += health.PushEvery
		s.Sweep()
	}
	if len(told) != 1 || told[0].Kind != health.KindMissing || told[0].Rank != 2 || told[0].NodeName != "node-c" || told[0].ClusterName != "c" {
		t.Errorf("%+v", told)
	}
}

func TestRunSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := 0
		s := fleetserver.New(fleetserver.Options{Told: func(fleetserver.Told) {
			mu.Lock()
			defer mu.Unlock()
			told++
		}})
		var done sync.WaitGroup
		done.Go(func() { s.Run(t.Context()) })
		for tick := range 12 {
			for node := range 4 {
				if node != 2 || tick < 5 {
					p := push(node, time.Duration(time.Now().UnixNano()), uint64(tick))
					post(s.Handler(), bytes.NewReader(body(t, p)))
				}
			}
			time.Sleep(health.PushEvery)
		}
		mu.Lock()
		defer mu.Unlock()
		if told != 1 {
			t.Errorf("%d verdicts", told)
		}
	})
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatIsNotAccepted(t *testing.T) {
	good := body(t, push(0, second, 5))
	long := make([]byte, wire.MaxRequest+1)
	for name, c := range map[string]struct {
		body   io.Reader
		header []string
		code   int
		why    string
	}{
		"gzip":           {bytes.NewReader(zipped(t, good)), []string{"Content-Encoding", "gzip"}, 200, ""},
		"parameters":     {bytes.NewReader(good), []string{"Content-Type", "application/x-protobuf; x=y"}, 200, ""},
		"no gzip":        {bytes.NewReader(good), []string{"Content-Encoding", "gzip"}, 400, "the body is not of gzip"},
		"truncated gzip": {bytes.NewReader(zipped(t, good)[:50]), []string{"Content-Encoding", "gzip"}, 400, "the request did not arrive in full"},
		"gzip bomb":      {bytes.NewReader(zipped(t, long)), []string{"Content-Encoding", "gzip"}, 413, "the request is too long"},
		"long":           {bytes.NewReader(long), nil, 413, "the request is too long"},
		"zstd":           {bytes.NewReader(good), []string{"Content-Encoding", "zstd"}, 415, "the body may be compressed with gzip only"},
		"JSON":           {strings.NewReader("{}"), []string{"Content-Type", "application/json"}, 415, "pushes are of the type application/x-protobuf"},
		"broken":         {broken{}, nil, 400, "the request did not arrive in full"},
		"truncated":      {bytes.NewReader(good[:100]), nil, 400, "it is not a message of OTLP metrics, or truncated"},
		"empty":          {strings.NewReader(""), nil, 200, ""},
	} {
		s := fleetserver.New(fleetserver.Options{})
		w := post(s.Handler(), c.body, c.header...)
		if w.Code != c.code || wire.ParseStatus(w.Body.Bytes()) != c.why {
			t.Errorf("%s: %d %q", name, w.Code, w.Body)
		}
	}
}

func TestPartOfARequest(t *testing.T) {
	s := fleetserver.New(fleetserver.Options{})
	bad := push(1, second, 5)
	bad.Health.Ranks[0].Interval = 0 // the fleet refuses it
	w := post(s.Handler(), bytes.NewReader(body(t, push(0, second, 5), bad)))
	rejected, why, err := wire.ParseResponse(w.Body.Bytes())
	if w.Code != http.StatusOK || rejected != 1 || !strings.Contains(why, "interval") || err != nil {
		t.Errorf("%d %d %q %v", w.Code, rejected, why, err)
	}
	if a := answer(t, w); a.Reply != nil {
		t.Errorf("two pushes have one answer: %+v", a)
	}
	b := slices.Concat(body(t, push(1, second, 5)), []byte("\x0a\x02\x0a\x7f"))
	w = post(s.Handler(), bytes.NewReader(b))
	rejected, why, err = wire.ParseResponse(w.Body.Bytes())
	if w.Code != http.StatusOK || rejected != 1 || why == "" || err != nil || answer(t, w).Reply == nil {
		t.Errorf("%d %d %q %v", w.Code, rejected, why, err)
	}
	earlier := wire.Push{Node: "old", Gauges: []wire.Gauges{wire.NoGauges(0)}}
	earlier.Gauges[0].Score.Health = 0.9
	w = post(s.Handler(), bytes.NewReader(body(t, earlier)))
	if a := answer(t, w); w.Code != http.StatusOK || w.Body.Len() != 0 || a.Reply != nil || !math.IsNaN(a.Threshold) {
		t.Errorf("an earlier agent: %d %+v", w.Code, a)
	}
	c := s.Counts()
	if c.Pushes != 2 || c.Earlier != 1 || c.Refused[health.RefusedPush] != 1 || c.Faults[wire.Malformed] != 1 {
		t.Errorf("%+v", c)
	}
}

func TestFullFleet(t *testing.T) {
	s := fleetserver.New(fleetserver.Options{})
	h := s.Handler()
	p := push(0, second, 5)
	why := ""
	for n := 0; why == "" && n < 1<<17; n += wire.MaxPushes {
		var b []byte
		for i := range wire.MaxPushes {
			p.Health.Cohort = uint64(1 + n + i)
			b = append(b, body(t, p)...)
		}
		w := post(h, bytes.NewReader(b))
		_, why, _ = wire.ParseResponse(w.Body.Bytes())
	}
	if c := s.Counts(); why != "the fleet has as many cohorts or ranks as it keeps" || c.Cohorts != 1<<16 {
		t.Errorf("%q %+v", why, c)
	}
}

func TestToken(t *testing.T) {
	s := fleetserver.New(fleetserver.Options{Token: "right"})
	good := body(t, push(0, second, 5))
	for header, code := range map[string]int{
		"": 401, "right": 401, "Bearer": 401, "Bearer wrong": 401, "Basic right": 401, "Bearer right": 200, "bearer  right": 200,
	} {
		if w := post(s.Handler(), bytes.NewReader(good), "Authorization", header); w.Code != code {
			t.Errorf("%q: %d", header, w.Code)
		}
	}
	if w := get(s.Handler(), "cluster_id=c"); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d", w.Code)
	}
	if c := s.Counts(); c.Denied != 6 || c.Pushes != 2 {
		t.Errorf("%+v", c)
	}
}

func TestOtherPaths(t *testing.T) {
	h := fleetserver.New(fleetserver.Options{}).Handler()
	codes := map[string]int{}
	for _, ask := range []string{"GET " + wire.PushPath, "POST " + wire.PollPath, "GET /", "POST /v1/traces"} {
		method, path, _ := strings.Cut(ask, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		codes[ask] = w.Code
	}
	if !maps.Equal(codes, map[string]int{"GET /v1/metrics": 405, "POST /api/v1/threshold": 405, "GET /": 404, "POST /v1/traces": 404}) {
		t.Error(codes)
	}
}

// slow is a request body that reports its first read, and ends when the test says so.
type slow struct{ begun, end chan struct{} }

func (s slow) Read([]byte) (int, error) {
	s.begun <- struct{}{}
	<-s.end
	return 0, io.EOF
}

func TestTooManyAtOnce(t *testing.T) {
	s := fleetserver.New(fleetserver.Options{})
	h := s.Handler()
	b := slow{make(chan struct{}), make(chan struct{})}
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { post(h, b) })
		<-b.begun
	}
	w := post(h, strings.NewReader(""))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || s.Counts().Busy != 1 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	close(b.end)
	all.Wait()
	if w := post(h, strings.NewReader("")); w.Code != http.StatusOK {
		t.Errorf("%d", w.Code)
	}
}

func TestManyAtOnce(t *testing.T) {
	now := time.Hour
	s := fleetserver.New(fleetserver.Options{Now: func() time.Duration { return now }})
	h := s.Handler()
	var all sync.WaitGroup
	for node := range 4 {
		all.Go(func() {
			for i := range 200 {
				w := post(h, bytes.NewReader(body(t, push(node, now+time.Duration(i), uint64(i)))))
				if a, err := wire.AnswerOfHTTP(w.Header()); err != nil || a.Reply == nil {
					t.Errorf("%d %v", w.Code, err)
				}
				s.Sweep()
			}
		})
	}
	all.Wait()
	if c := s.Counts(); c.Pushes != 800 || c.Ranks != 4 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkPush measures a push of 8 ranks through the handler, without a network.
func BenchmarkPush(b *testing.B) {
	s := fleetserver.New(fleetserver.Options{Token: "t"})
	h := s.Handler()
	p := push(0, second, 1000)
	r := p.Health.Ranks[0]
	for i := range r.X {
		r.X[i] = -1
	}
	p.Health.Ranks = nil
	p.Health.Size = 8
	for i := range 8 {
		r.Rank = int32(i)
		p.Health.Ranks = append(p.Health.Ranks, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Health.Sent++
		out, err := wire.AppendRequest(nil, &p)
		if err != nil {
			b.Fatal(err)
		}
		if w := post(h, bytes.NewReader(out), "Authorization", "Bearer t"); w.Code != http.StatusOK || w.Header().Get("X-Ingero-Reply") == "" {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// A push says itself of which cluster it is; the address only says it of pushes that do not.
func TestTheClusterOfAPush(t *testing.T) {
	s := fleetserver.New(fleetserver.Options{})
	own, none := push(0, second, 5), push(1, second, 5)
	own.Cluster, none.Cluster = "own", ""
	none.Health.Cohort = 8
	for _, p := range []wire.Push{own, none} {
		if w := post(s.Handler(), bytes.NewReader(body(t, p))); w.Code != http.StatusOK { // cluster_id=c
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	all := s.Cohorts("").Cohorts
	if len(all) != 2 || all[0].Cluster != "own" || all[1].Cluster != "c" {
		t.Errorf("%+v", all)
	}
}
