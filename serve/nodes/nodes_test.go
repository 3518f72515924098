package nodes_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/serve/webserver"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

const secret = "0123456789abcdef0123456789abcdef"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// launches are calls of a node: so many, each a microsecond longer than the one before,
// from base microseconds on. Each fourth is a synchronisation.
type launches struct{ n, base int }

// recorded is a recording of a node.
func recorded(t testing.TB, node string, n, base int) string {
	t.Helper()
	return recordedAll(t, node, launches{n, base})
}

// recordedAll is a recording of what several nodes did.
func recordedAll(t testing.TB, node string, sets ...launches) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{Session: store.Session{
		Started: uint64(time.Now().UnixNano()),
		Node:    node, Version: "test",
	}, Seed: 1})
	must(t, err)
	who := event.Thread{PID: 100, TID: 100}
	launch, _ := event.ByName("cudaLaunchKernel")
	sync, _ := event.ByName("cudaStreamSynchronize")
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: who.PID, Name: "trainer", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true}},
		Threads:   []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}},
	}}
	at := uint64(time.Now().Add(-time.Minute).UnixNano())
	for _, s := range sets {
		for i := range s.n {
			op := launch.Op
			if i%4 == 3 {
				op = sync.Op
			}
			b.Calls = append(b.Calls,
				event.Call{Start: at, Duration: uint64(s.base+i) * 1000, Thread: who, Op: op, GPU: event.NoGPU})
			at += 1_000_000
		}
	}
	must(t, w.Write(b))
	must(t, w.Close())
	return path
}

// api answers for a recording; its clock is ahead by so much.
func api(t testing.TB, path string, ahead time.Duration) http.Handler {
	src := source.New(path)
	t.Cleanup(func() { src.Close() })
	return nodeapi.New(src, nodeapi.Options{
		Version: "test", Now: func() time.Time { return time.Now().Add(ahead) }, SQLTime: 5 * time.Minute, // limits are tested elsewhere
	})
}

// site is where a node is served over TLS.
type site struct {
	address string
	pool    *x509.CertPool
}

func serve(t testing.TB, h http.Handler, o webserver.Options) site {
	t.Helper()
	cert, err := webserver.OwnCert(t.TempDir(), "node", []string{"localhost", "127.0.0.1"}, time.Now())
	must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- webserver.Serve(ctx, ln, h, &cert.TLS, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	pool := x509.NewCertPool()
	pool.AddCert(cert.TLS.Leaf)
	return site{ln.Addr().String(), pool}
}

// plain serves without TLS and returns the address.
func plain(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func newClient(t testing.TB, c nodes.Config) *nodes.Client {
	t.Helper()
	f, err := nodes.New(c)
	must(t, err)
	t.Cleanup(f.Close)
	return f
}

// TestManyNodesAreQueriedAtOnce has 64 nodes. None of them answers before all have been asked.
func TestManyNodesAreQueriedAtOnce(t *testing.T) {
	const many = 64
	var asked sync.WaitGroup
	asked.Add(many)
	path := recorded(t, "node", 40, 1)
	var addresses []string
	for range many {
		h := api(t, path, 0)
		var once sync.Once
		addresses = append(addresses, plain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/query") {
				once.Do(asked.Done)
				asked.Wait()
			}
			h.ServeHTTP(w, r)
		})))
	}
	f := newClient(t, nodes.Config{Nodes: addresses, Timeout: 5 * time.Minute})
	for range 2 { // the second time without making connections
		began := time.Now()
		table, err := f.Query(t.Context(), "select count(*) as n from cuda_events", 0)
		must(t, err)
		t.Logf("%d nodes answered in %s", many, time.Since(began).Round(time.Millisecond))
		if got := table.Rows[0][1]; got != int64(many*40) {
			t.Errorf("%v calls, want %d: %v", got, many*40, table.Failed)
		}
		if len(table.Clocks) != many {
			t.Errorf("%d clocks were read: %v", len(table.Clocks), table.Warnings)
		}
	}
}

// TestOthersAnswerWhenNodesDoNot has one node that answers among others that fail in
// every way there is.
func TestOthersAnswerWhenNodesDoNot(t *testing.T) {
	path := recorded(t, "good", 40, 1)
	good := serve(t, api(t, path, 0), webserver.Options{Token: secret})
	other := serve(t, api(t, path, 0), webserver.Options{Token: "another" + secret})
	stranger := serve(t, api(t, path, 0), webserver.Options{Token: secret})
	strict := serve(t, api(t, path, 0), webserver.Options{Token: secret, ClientCAs: x509.NewCertPool()})
	released := make(chan struct{})
	hangs := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}), webserver.Options{})
	defer close(released)
	garbage := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x1b[2J{}]") }),
		webserver.Options{})
	foreign := serve(t, http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		fmt.Fprint(w, `{"status":"fine"}`)
	}), webserver.Options{})
	webpage := serve(t, http.NotFoundHandler(), webserver.Options{})
	missing := serve(t, api(t, filepath.Join(t.TempDir(), "none.db"), 0), webserver.Options{Token: secret})
	down, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	down.Close()

	pool := good.pool
	for _, s := range []site{other, strict, hangs, garbage, foreign, webpage, missing} {
		cert := s.certificate(t)
		pool.AddCert(cert)
	}
	want := map[string]string{
		other.address: "refused the token", stranger.address: "not known here", strict.address: "client-cert",
		hangs.address:   "no answer within",
		garbage.address: "not as an Ingero node", foreign.address: "not as an Ingero node",
		webpage.address: "does not know this request",
		missing.address: "no such database", down.Addr().String(): "connection refused",
		plain(t, api(t, path, 0)):   "without TLS",
		"no-such-host.invalid:8080": "name cannot be resolved",
	}
	addresses := []string{good.address}
	for a := range want {
		addresses = append(addresses, a)
	}
	f := newClient(t, nodes.Config{
		Nodes: addresses, Token: secret, Timeout: 6 * time.Second,
		TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13},
	})
	check := func(what string, h *nodes.Coverage) {
		t.Helper()
		if h.Asked != len(addresses) || h.Answered() != 1 || !h.Partial() || len(h.Nodes) != 1 || h.Nodes[0] != "good" {
			t.Errorf("%s: %+v", what, h)
		}
		for _, n := range h.Failed {
			if !strings.Contains(n.Error, want[n.Node]) || strings.ContainsRune(n.Error, 0x1b) {
				t.Errorf("%s: %s: %q, want %q", what, n.Node, n.Error, want[n.Node])
			}
		}
	}
	var done sync.WaitGroup
	done.Go(func() {
		table, err := f.Query(t.Context(), "select op, count(*) as n from cuda_events group by op order by op", 0)
		if err != nil {
			t.Error(err)
			return
		}
		check("query", &table.Coverage)
		if got, want := fmt.Sprint(table.Columns, table.Rows), fmt.Sprintf("[node op n] [[1 of %d cudaLaunchKernel 30] [1 "+
			"of %[1]d cudaStreamSynchronize 10]]", len(addresses)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	done.Go(func() {
		e, err := f.Explain(t.Context(), nodes.Scope{Since: "all"})
		if err != nil {
			t.Error(err)
			return
		}
		check("explain", &e.Coverage)
	})
	done.Go(func() {
		ops, h, err := f.Ops(t.Context(), nodes.Scope{Since: "all"})
		if err != nil || len(ops) != 1 || len(ops[0].Ops) != 2 {
			t.Errorf("ops: %+v %v", ops, err)
			return
		}
		check("ops", &h)
	})
	done.Wait()
}

// certificate is what a site shows.
func (s site) certificate(t testing.TB) *x509.Certificate {
	t.Helper()
	c, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: s.pool})
	must(t, err)
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0]
}

func TestNoNodeAnswers(t *testing.T) {
	f := newClient(t, nodes.Config{Nodes: []string{"127.0.0.1:1", "localhost:1"}})
	_, err := f.Query(t.Context(), "select 1", 0)
	if err == nil || !strings.Contains(err.Error(), "none of 2 node(s) answered") ||
		!strings.Contains(err.Error(), "127.0.0.1:1: ") {
		t.Errorf("%v", err)
	}
}

func TestListsOfNodesAreChecked(t *testing.T) {
	for list, ok := range map[string]bool{
		"": false, "a": false, "a:8080": true, "a:8080,b:8080": true, "a:8080,a:8080": false, ":8080": false,
		"http://a:8080": false,
		"a:":            false, "[::1]:8080": true, "user@a:1": false, "a:8080/x": false,
	} {
		var addresses []string
		if list != "" {
			addresses = strings.Split(list, ",")
		}
		if err := (&nodes.Config{Nodes: addresses}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// TestClocksAreCompared has three addresses, of which one is two seconds ahead.
func TestClocksAreCompared(t *testing.T) {
	path := recorded(t, "", 10, 1)
	const ahead = 2 * time.Second
	addresses := []string{
		plain(t, api(t, path, 0)), plain(t, api(t, path, ahead)), plain(t, api(t, path, time.Millisecond)),
	}
	f := newClient(t, nodes.Config{Nodes: addresses, MaxOffset: 500 * time.Millisecond})
	table, err := f.Query(t.Context(), "select 1 as one", 0)
	must(t, err)
	if len(table.Clocks) != 3 {
		t.Fatalf("clocks: %+v", table.Clocks)
	}
	for i, want := range []time.Duration{0, ahead, time.Millisecond} {
		c := table.Clocks[i]
		if d := c.Offset - want; c.Node != addresses[i] || max(d, -d) > c.Bound {
			t.Errorf("%+v is not within %s of %s", c, c.Bound, want)
		}
	}
	if w := strings.Join(table.Warnings, "\n"); len(table.Warnings) != 1 || !strings.Contains(w, addresses[1]) ||
		!strings.Contains(w, "ahead of") {
		t.Errorf("warnings: %q", table.Warnings)
	}
}
