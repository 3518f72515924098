package load_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/load"
)

// small is a short load.
func small(url string) load.Options {
	return load.Options{
		URL: url, Nodes: 24, Ranks: 8, Cohort: 8, Connections: 4, PollRate: 100, For: 300 * time.Millisecond, Token: "secret",
	}
}

// The measured counts are the server's, over both transports.
func TestAllIsAnswered(t *testing.T) {
	fleet := fleetserver.New(fleetserver.Options{Token: "secret"})
	s := httptest.NewServer(fleet.Handler())
	defer s.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := fleet.GRPC()
	defer g.Stop()
	go g.Serve(l)
	for _, o := range []load.Options{small(s.URL), small("grpc://" + l.Addr().String())} {
		o.Polls = s.URL
		before := fleet.Counts()
		r, err := load.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		after := fleet.Counts()
		if r.Pushes == 0 || r.Quorum != r.Pushes || r.Errors != 0 || r.Polls == 0 || r.PollErrors != 0 || r.Cohorts != 3 {
			t.Errorf("%s: %+v", o.URL, r)
		}
		if after.Cohorts != 3 || after.Ranks != 192 || after.Pushes-before.Pushes < r.Pushes ||
			after.Refused != before.Refused {
			t.Errorf("%s: %+v, before %+v", o.URL, after, before)
		}
	}
}

// Nodes with a due time do not push more often.
func TestPushesAreDue(t *testing.T) {
	s := httptest.NewServer(fleetserver.New(fleetserver.Options{}).Handler())
	defer s.Close()
	o := small(s.URL)
	o.Every = 100 * time.Millisecond
	r, err := load.Run(t.Context(), o)
	if most := r.Asked*r.Seconds + 24; err != nil || r.Pushes == 0 || float64(r.Pushes) > most || r.Asked != 240 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	s := httptest.NewServer(fleetserver.New(fleetserver.Options{Token: "other"}).Handler())
	defer s.Close()
	r, err := load.Run(t.Context(), small(s.URL))
	if err != nil || r.Pushes != 0 || r.Errors == 0 || !strings.Contains(r.FirstError, "401") || r.PollErrors != r.Polls {
		t.Errorf("%+v %v", r, err)
	}
}

func TestWrongOptions(t *testing.T) {
	for name, change := range map[string]func(*load.Options){
		"address":     func(o *load.Options) { o.URL = "ftp://127.0.0.1:1" },
		"nobody":      func(o *load.Options) { o.URL = "http://127.0.0.1:1" },
		"nodes":       func(o *load.Options) { o.Nodes = 0 },
		"ranks":       func(o *load.Options) { o.Ranks = 65 },
		"cohort":      func(o *load.Options) { o.Cohort = 1 << 14 },
		"connections": func(o *load.Options) { o.Connections = 25 },
		"time":        func(o *load.Options) { o.For = 0 },
	} {
		o := small("http://127.0.0.1:1")
		change(&o)
		if r, err := load.Run(t.Context(), o); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestResult(t *testing.T) {
	r := load.Result{
		URL: "http://f", Nodes: 1000, Ranks: 8, Cohorts: 16, Connections: 64, Seconds: 10, Asked: 500, Pushes: 5000,
		Quorum: 5000, ServerCPU: 0.25, LoadCPU: 0.5, Polls: 100, PollP50MS: 0.5, PollP99MS: 2.25, PollMostMS: 3,
		Before: load.Memory{RSS: 10e6, Heap: 2e6}, After: load.Memory{RSS: 13e6, Heap: 3.5e6},
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1000 nodes of 8 ranks in 16 cohorts", "500 a second of 500 due; 100.0 % with a quorum; 0 errors\n",
		"p99 2.25 ms", "50.0 us a push; so two cores take 40000 pushes", "3.00 kB a node", "1.50 kB a node",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &b)
		}
	}
	var j map[string]any
	text, err := json.Marshal(r)
	if err != nil || json.Unmarshal(text, &j) != nil || j["server_cpu_us_per_push"] != 50.0 || j["heap_bytes_per_node"] != 1500.0 ||
		j["pushes"] != 5000.0 {
		t.Errorf("%v: %s", err, text)
	}
}
