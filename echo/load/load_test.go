package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/load"
	"github.com/ingero-io/ingero/echo/row"
)

// kept is what a server received.
type kept struct {
	mu   sync.Mutex
	rows map[uint64]row.Row
	all  int
	full int // requests that find no room
}

func (k *kept) Enter(_ context.Context, _ time.Time, rows []row.Row) (func(context.Context) error, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.full > 0 {
		k.full--
		return nil, intake.ErrFull
	}
	for _, r := range rows {
		k.rows[r.Key] = r
	}
	k.all += len(rows)
	return func(context.Context) error { return nil }, nil
}

// echo is an Echo without a store, whose API answers all questions but one.
func echo(t *testing.T, k *kept) (to, ask string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := ingest.New(ingest.Options{Queue: k, Tokens: &access.Tokens{}}).GRPC()
	go func() { _ = g.Serve(l) }() // ends with Stop
	t.Cleanup(g.Stop)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "get_cost") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return l.Addr().String(), s.URL
}

func small(to, ask string) load.Options {
	return load.Options{To: to, Ask: ask, Nodes: 3, For: time.Minute, Points: 20_000, Readers: 2}
}

// Each point is unique and has the requested time, and refused points are sent again.
func TestEachPointIsAnotherOne(t *testing.T) {
	for name, over := range map[string]time.Duration{"of now": 0, "of a day": 24 * time.Hour} {
		k := &kept{rows: map[uint64]row.Row{}, full: 2}
		o := small(echo(t, k))
		o.Over, o.Then = over, 100*time.Millisecond
		before := time.Now()
		r, err := load.Run(t.Context(), o)
		if err != nil || r.Points != 20_000 || r.Requests != 10 || r.Refused != 2 || r.Failed != 0 ||
			k.all != 20_000 || len(k.rows) != 20_000 {
			t.Fatalf("%s: %+v %v; %d rows, %d kept", name, r, err, k.all, len(k.rows))
		}
		least, most := before.UnixNano(), before.UnixNano()
		values := map[float64]bool{}
		for _, row := range k.rows {
			least, most = min(least, row.Timestamp), max(most, row.Timestamp)
			if row.Rank < 0 || row.Rank > 7 || !row.HasDouble || row.Double < 0.9 || row.Double > 1 || row.Node == "" || row.Cluster != "cluster-00" {
				t.Fatalf("%+v", row)
			}
			values[row.Double] = true
		}
		span := time.Duration(most - least)
		if len(values) < 10_000 || over > 0 && (span < over*8/10 || span > over*11/10) {
			t.Errorf("%s: %s, %d values", name, span, len(values))
		}
		if len(r.Then) == 0 || r.Then[0].Question != "all" || r.Then[0].N == 0 {
			t.Errorf("%s: %+v", name, r.Then)
		}
	}
}

// With a rate, no more is sent than is due. Unanswered questions are counted.
func TestRateAndQuestions(t *testing.T) {
	k := &kept{rows: map[uint64]row.Row{}}
	o := small(echo(t, k))
	o.For, o.Rate, o.Every = time.Second, 10_000, 10*time.Millisecond
	r, err := load.Run(t.Context(), o)
	if err != nil || r.Points == 0 || float64(r.Points) > r.Seconds*o.Rate {
		t.Fatalf("%+v %v", r, err)
	}
	failed := map[string]int{}
	for _, a := range r.Answers {
		failed[a.Question] = a.Failed
		if a.N == 0 || a.P50MS > a.P99MS || a.P99MS > a.MostMS {
			t.Errorf("%+v", a)
		}
	}
	if len(failed) < 7 || failed["get_cost"] == 0 || failed["all"] != failed["get_cost"] || failed["summary"] != 0 {
		t.Errorf("%v", failed)
	}
}

// A server that does not answer is not asked forever.
func TestErrorsAreCounted(t *testing.T) {
	o := small("127.0.0.1:1", "")
	o.Readers, o.For = 0, 500*time.Millisecond
	r, err := load.Run(t.Context(), o)
	if err != nil || r.Points != 0 || r.Failed == 0 || !strings.Contains(r.FirstError, "127.0.0.1:1") {
		t.Errorf("%+v %v", r, err)
	}
}

func TestWrongOptions(t *testing.T) {
	for name, change := range map[string]func(*load.Options){
		"nodes":   func(o *load.Options) { o.Nodes = 0 },
		"time":    func(o *load.Options) { o.For = 0 },
		"over":    func(o *load.Options) { o.Over, o.Points = time.Hour, 0 },
		"readers": func(o *load.Options) { o.Ask = "" },
		"many":    func(o *load.Options) { o.Readers = 65 },
	} {
		o := small("127.0.0.1:1", "http://127.0.0.1:1")
		change(&o)
		if r, err := load.Run(t.Context(), o); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// server is a measured process.
type server struct{}

func (server) CPU() (time.Duration, error) { return time.Second, nil }
func (server) Memory() (int64, error)      { return 4e6, nil }
func (server) Peak() (int64, error)        { return 9e6, nil }

func TestMemory(t *testing.T) {
	o := small(echo(t, &kept{rows: map[uint64]row.Row{}}))
	o.Readers, o.Server = 0, server{}
	if r, err := load.Run(t.Context(), o); err != nil || r.Memory != 4e6 || r.Peak != 9e6 || r.ServerCPU != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestResult(t *testing.T) {
	r := load.Result{
		To: "e:4317", Nodes: 64, Readers: 2, EveryS: 0.5, Seconds: 10, Points: 3_000_000, Requests: 1500, Refused: 3, ServerCPU: 15, LoadCPU: 2,
		Memory: 300e6, Peak: 400e6, MemoryPerMinute: -1.5e6,
		Answers: []load.Answer{{Question: "all", N: 100, Failed: 1, FirstError: "500", P50MS: 20, P99MS: 150, MostMS: 190}},
		Then:    []load.Answer{{Question: "summary", N: 5, P50MS: 10, P99MS: 11, MostMS: 12}},
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"64 nodes send 2000 points in a request to e:4317 for 10 s; 2 readers, who ask a question every 0.5 s", "3000000: 300000 a second; 3 requests found no room, 0 failed\n",
		"5.00 us a point; so two cores take 400000 points", "300 MB, 400 MB at most; -1.50 MB a minute",
		"asked meanwhile   all: 100 answers; p50 20 ms, p99 150 ms, longest 190 ms; 1 failed, the first: 500",
		"asked afterwards  summary: 5 answers; p50 10 ms",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &b)
		}
	}
	var j map[string]any
	text, err := json.Marshal(r)
	if err != nil || json.Unmarshal(text, &j) != nil || j["server_cpu_us_per_point"] != 5.0 || j["points_per_second"] != 300_000.0 {
		t.Errorf("%v: %s", err, text)
	}
}
