package collector_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// env names the collector: make test-fleet builds it.
const env = "INGERO_FLEET_COLLECTOR"

// collector is a running collector with the shipped configuration.
type collector struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *said
	// addresses
	http, grpc, api, health, prometheus, metrics, file string
}

// said is the collector's output.
type said struct {
	mu sync.Mutex // guards the rest
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // only its address was needed
	return l.Addr().String()
}

// start starts a collector with additional environment variables, and returns when it is ready.
func start(t *testing.T, variables ...string) *collector {
	t.Helper()
	return startWith(t, []string{"config/ingero-fleet.yaml"}, variables...)
}

// startWith does the same with other configuration files.
func startWith(t *testing.T, files []string, variables ...string) *collector {
	t.Helper()
	binary := os.Getenv(env)
	if binary == "" {
		t.Skip(env + " is not set: make test-fleet builds a collector and runs it")
	}
	for range 5 { // another program may take a free port before the collector does
		c := &collector{
			t: t, said: &said{}, http: free(t), grpc: free(t), api: free(t), health: free(t), prometheus: free(t),
			metrics: free(t), file: filepath.Join(t.TempDir(), "metrics.json"),
		}
		_, port, err := net.SplitHostPort(c.metrics)
		if err != nil {
			t.Fatal(err)
		}
		c.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, configs(files)...)
		c.cmd.Env = append(os.Environ(), "INGERO_FLEET_HTTP="+c.http, "INGERO_FLEET_GRPC="+c.grpc, "INGERO_FLEET_API="+c.api,
			"INGERO_FLEET_HEALTH="+c.health, "INGERO_FLEET_PROMETHEUS="+c.prometheus, "INGERO_FLEET_METRICS_PORT="+port,
			"INGERO_FLEET_FILE="+c.file)
		c.cmd.Env = append(c.cmd.Env, variables...)
		c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = c.cmd.Wait() // stop checks how it ended
			close(ended)
		}()
		if c.ready(ended) {
			return c
		}
		if !strings.Contains(c.said.String(), syscall.EADDRINUSE.Error()) {
			break
		}
	}
	t.Fatal("the collector does not start")
	return nil
}

func configs(files []string) (args []string) {
	for _, f := range files {
		args = append(args, "--config", f)
	}
	return args
}

// ready waits until the health check succeeds, and stops the collector after the test. It returns false if the
// collector has ended.
func (c *collector) ready(ended chan struct{}) (ready bool) {
	failed := false
	c.t.Cleanup(func() {
		if !failed {
			c.stop(ended)
		}
	})
	c.until("the collector is ready", func() bool {
		select {
		case <-ended:
			c.t.Log(c.said)
			failed = true
			return true
		default:
		}
		code, _, err := c.get("http://" + c.health)
		return err == nil && code == http.StatusOK
	})
	return !failed
}

// stop ends the collector, and checks that it ends without an error.
func (c *collector) stop(ended chan struct{}) {
	select {
	case <-ended:
		c.t.Errorf("the collector ended by itself:\n%s", c.said)
		return
	default:
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Error(err)
	}
	<-ended
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.t.Errorf("exit code %d:\n%s", code, c.said)
	}
}

func (c *collector) get(url string) (code int, body string, err error) {
	q, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), errors.Join(err, r.Body.Close())
}

// until repeats a check, and fails shortly before the time limit of all tests, so that the collector is still
// stopped.
func (c *collector) until(what string, reached func() bool) {
	c.t.Helper()
	for !reached() {
		if d, ok := c.t.Deadline(); ok && time.Until(d) < 20*time.Second {
			c.t.Fatalf("never: %s\n%s", what, c.said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// shows polls a page until it has all lines.
func (c *collector) shows(url string, lines ...string) {
	c.t.Helper()
	body := ""
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", url, body)
		}
	})
	c.until(url+" shows "+strings.Join(lines, ", "), func() bool {
		var code int
		var err error
		code, body, err = c.get(url)
		missing := slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(body, l) })
		return err == nil && code == http.StatusOK && !missing
	})
}

func (c *collector) client(url string) *fleetclient.Client {
	c.t.Helper()
	f, err := fleetclient.New(fleetclient.Options{URL: url})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(f.Close)
	return f
}

// own is the own work of ranks, in seconds per step.
var own = [...]float64{0.1, 0.2, 0.4, 0.2}

// push returns a push of a node with one rank of four.
func push(rank int32) *wire.Push {
	name := "node-" + string('a'+rank)
	r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active}
	for i := range r.X {
		r.X[i] = float32(math.Log(own[rank]))
	}
	g := wire.NoGauges(rank)
	g.Score.Health = 0.9
	return &wire.Push{Node: name, Cluster: "c", Gauges: []wire.Gauges{g}, Health: health.Push{
		Cohort: 7, Node: wire.Node(name), Sent: time.Duration(time.Now().UnixNano()), Size: 4, Width: 1, Merge: 1,
		Ranks: []health.RankPush{r},
	}}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestAnswersMetricsAndRestart(t *testing.T) {
	if os.Getenv(env) == "" {
		start(t) // skips
	}
	// What the collector exports goes to another fleet's server.
	behind := fleetserver.New(fleetserver.Options{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := behind.GRPC()
	go g.Serve(l)
	t.Cleanup(g.Stop)
	c := start(t, "INGERO_FLEET_EXPORTERS=[file, otlp_grpc]", "INGERO_FLEET_OTLP="+l.Addr().String())

	clients := []*fleetclient.Client{c.client("http://" + c.http), c.client("grpc://" + c.grpc)}
	var last wire.Answer
	for rank := range int32(4) {
		a, err := clients[rank%2].Push(t.Context(), push(rank))
		if err != nil || a.Reply == nil || !near(a.Threshold, 1/1.1) || a.Quorum != (rank >= 2) {
			t.Fatalf("rank %d: %+v %v\n%s", rank, a, err, c.said)
		}
		last = a
	}
	newest := last.Reply.Buckets[len(last.Reply.Buckets)-1]
	if newest.N != 4 || !near(math.Exp(float64(newest.Mid)), 0.2) || newest.Position != 9 {
		t.Errorf("%+v", newest)
	}

	// GET has the same numbers, at the address of pushes and at its own.
	for _, at := range []string{c.http, c.api} {
		a, err := c.client("http://"+at).Poll(t.Context(), wire.Poll{
			Cluster: "c", Node: "node-a", Health: health.Poll{Cohort: 7, Node: wire.Node("node-a"), State: health.Active},
		})
		if err != nil || a.Threshold != last.Threshold || !a.Quorum || a.Reply == nil ||
			!slices.Equal(a.Reply.Buckets, last.Reply.Buckets) {
			t.Errorf("%s: %+v %v", at, a, err)
		}
	}
	list, err := c.client("http://"+c.api).Cohorts(t.Context(), "c")
	if err != nil || len(list.Cohorts) != 1 || len(list.Cohorts[0].Members) != 4 ||
		!near(list.Cohorts[0].Members[2].OwnMS, 400) {
		t.Errorf("%+v %v", list, err)
	}
	c.shows("http://"+c.api+"/", "<p>4 of 4 ranks push</p>", "node-c")
	c.shows("http://"+c.api+fleetserver.OpenAPIPath, `"openapi": "3.1.0"`)

	c.shows("http://"+c.prometheus+"/metrics",
		`ingero_fleet_cohort_median{ingero_cluster_id="c",ingero_cohort="0000000000000007"} 0.2`,
		`ingero_fleet_cohort_quorum{ingero_cluster_id="c",ingero_cohort="0000000000000007"} 3`,
		`ingero_node_health_score{ingero_cluster_id="c",ingero_node_id="node-c",ingero_node_rank="2"} 0.9`)
	c.shows("http://"+c.metrics+"/metrics", `ingero_fleet_active_nodes{cluster_id="c"} 4`,
		`ingero_fleet_coverage_low{cluster_id="c"} `, `ingero_fleet_requests_total{what="pushed"} 4`, `ingero_fleet_requests_total{what="polled"} 2`)
	c.until("the gauges of four ranks come by OTLP", func() bool { return behind.Counts().Earlier >= 4 })
	c.until("the file has metrics of ranks and of cohorts", func() bool {
		b, err := os.ReadFile(c.file)
		if strings.Contains(string(b), wire.DataMetric) {
			t.Fatalf("the data of pushes is for the fleet only:\n%s", b)
		}
		return err == nil && strings.Contains(string(b), "ingero.node.health_score") &&
			strings.Contains(string(b), "ingero.fleet.cohort.median")
	})

	// The other one only knows what agents send: its first answer has the middle.
	c = start(t)
	for _, url := range []string{"http://" + c.http, "grpc://" + c.grpc} {
		p := push(1)
		p.Health.Echo = newest
		a, err := c.client(url).Push(t.Context(), p)
		if err != nil || !a.Quorum || len(a.Reply.Buckets) != 1 || a.Reply.Buckets[0] != newest {
			t.Errorf("%s after a restart: %+v %v", url, a, err)
		}
	}
}

// What else tracers send is passed on to the store of the cluster, with its token.
func TestFindingsAndOperationsGoOn(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token.yaml")
	if err := os.WriteFile(token, []byte(`
extensions: {bearertokenauth: {token: secret}}
receivers: {otlp: {protocols: {grpc: {auth: {authenticator: bearertokenauth}}}}}
service: {extensions: [health_check, threshold, bearertokenauth]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	behind := startWith(t, []string{"config/ingero-fleet.yaml", token})
	c := start(t, "INGERO_FLEET_EXPORTERS=[otlp_grpc]", "INGERO_FLEET_OTLP="+behind.grpc, "INGERO_FLEET_OTLP_TOKEN=secret")
	for path, body := range map[string]string{
		"/v1/logs": `{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1800000000000000000",
			"eventName": "ingero.finding", "body": {"stringValue": "trainer lost 12 %"}}]}]}]}`,
		"/v1/traces": `{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "5b8efff798038103d269b633813fc60c",
			"spanId": "eee19b7ec3c1b174", "name": "ncclAllReduce", "startTimeUnixNano": "1800000000000000000",
			"endTimeUnixNano": "1800000000300000000"}]}]}]}`,
	} {
		r, err := http.Post("http://"+c.http+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %v", path, r.Status, err)
		}
	}
	behind.until("both are there", func() bool {
		b, err := os.ReadFile(behind.file)
		return err == nil && strings.Contains(string(b), "trainer lost 12 %") && strings.Contains(string(b), "ncclAllReduce")
	})
}

// post sends the body of a push.
func (c *collector) post(body []byte) (code int, why string) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.http+wire.PushPath, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Content-Type", wire.TypeProtobuf)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.said)
	}
	b, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		c.t.Fatal(err)
	}
	return r.StatusCode, wire.ParseStatus(b)
}

func TestWhatIsRefused(t *testing.T) {
	c := start(t, "INGERO_FLEET_CLUSTERS=[c]")
	for _, url := range []string{"http://" + c.http, "grpc://" + c.grpc} {
		p := push(0)
		p.Cluster = "other"
		a, err := c.client(url).Push(t.Context(), p)
		e, ok := errors.AsType[*fleetclient.StatusError](err)
		if !ok || e.Code != http.StatusBadRequest || e.Why != "pushes of this cluster are not accepted" || a.Reply != nil {
			t.Errorf("%s: %+v %v", url, a, err)
		}
	}
	p := push(0)
	body, err := wire.AppendRequest(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	score := bytes.Index(body, le(0.9))
	copy(body[score:], le(math.NaN()))
	if code, why := c.post(body); code != http.StatusBadRequest || !strings.Contains(why, "health_score") {
		t.Errorf("NaN: %d %q", code, why)
	}
	for n := 0; n < 1<<16; n += wire.MaxPushes {
		var b []byte
		for i := range wire.MaxPushes {
			p.Gauges, p.Health.Cohort = nil, uint64(1+n+i)
			if b, err = wire.AppendRequest(b, p); err != nil {
				t.Fatal(err)
			}
		}
		if code, why := c.post(b); code != http.StatusOK {
			t.Fatalf("after %d cohorts: %d %q", n, code, why)
		}
	}
	p.Health.Cohort = 1 << 20
	if _, err = c.client("http://"+c.http).Push(t.Context(), p); err == nil || !strings.Contains(err.Error(), "as many cohorts or ranks as it keeps") {
		t.Errorf("one cohort more: %v", err)
	}
	if code, why := c.post(make([]byte, 2<<20)); code < 400 || code >= 500 {
		t.Errorf("2 MiB: %d %q", code, why)
	}
	c.shows("http://"+c.metrics+"/metrics", `ingero_fleet_requests_total{what="foreign"} 2`, `ingero_fleet_faults_total{fault="value"} 1`,
		`ingero_fleet_refused_total{reason="cohorts"} 1`, fmt.Sprintf("ingero_fleet_cohorts %d", 1<<16))
}

// le returns the little-endian bytes of a number.
func le(v float64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(math.Float64bits(v) >> (8 * i))
	}
	return b
}

// With TLS and a token configured, both addresses refuse requests without either.
func TestTLSAndToken(t *testing.T) {
	if os.Getenv(env) == "" {
		start(t) // skips
	}
	s := httptest.NewTLSServer(nil)
	s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := startWith(t, []string{"config/ingero-fleet.yaml", "config/secure.yaml"}, "INGERO_FLEET_TOKEN=secret",
		"INGERO_FLEET_CERT="+write("cert.pem", "CERTIFICATE", s.Certificate().Raw),
		"INGERO_FLEET_KEY="+write("key.pem", "PRIVATE KEY", key))
	body, err := wire.AppendRequest(nil, push(0))
	if err != nil {
		t.Fatal(err)
	}
	for at, ask := range map[string]struct{ method, url string }{
		"a push":                    {http.MethodPost, "https://" + c.http + wire.PushPath},
		"a poll beside pushes":      {http.MethodGet, "https://" + c.http + wire.PollPath},
		"what is known":             {http.MethodGet, "https://" + c.api + wire.CohortsPath},
		"what is known, and pushes": {http.MethodGet, "https://" + c.http + wire.CohortsPath},
		"the page":                  {http.MethodGet, "https://" + c.api + "/"},
	} {
		for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer secret": 200} {
			q, err := http.NewRequestWithContext(t.Context(), ask.method, ask.url, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Content-Type", wire.TypeProtobuf)
			if token != "" {
				q.Header.Set("Authorization", token)
			}
			r, err := s.Client().Do(q) // it trusts the certificate
			if err != nil {
				t.Fatalf("%s: %v\n%s", at, err, c.said)
			}
			a, err := wire.AnswerOfHTTP(r.Header)
			answered := at == "a push" && want == 200
			if err := errors.Join(err, r.Body.Close()); err != nil || r.StatusCode != want || answered != (a.Reply != nil) {
				t.Errorf("%s with %q: %d %+v %v", at, token, r.StatusCode, a, err)
			}
		}
	}
	if code, _, err := c.get("http://" + c.http + wire.CohortsPath); err == nil && code == http.StatusOK {
		t.Error("it is answered without TLS")
	}
	a, err := c.client("grpc://"+c.grpc).Push(t.Context(), push(1))
	if err == nil || a.Reply != nil {
		t.Errorf("gRPC without TLS: %+v", a)
	}
}

// deploy/compose uses a token without TLS, since only its own host can reach the ports.
func TestTheTokenOfCompose(t *testing.T) {
	c := startWith(t, []string{"config/ingero-fleet.yaml", "../deploy/compose/token.yaml"}, "INGERO_FLEET_TOKEN=secret")
	for token, right := range map[string]bool{"": false, "wrong": false, "secret": true} {
		for _, url := range []string{"http://" + c.http, "grpc://" + c.grpc} {
			client, err := fleetclient.New(fleetclient.Options{URL: url, Token: token})
			if err != nil {
				t.Fatal(err)
			}
			a, err := client.Push(t.Context(), push(0))
			client.Close()
			if (err == nil) != right || (a.Reply != nil) != right {
				t.Errorf("%s with %q: %+v, %v\n%s", url, token, a, err, c.said)
			}
		}
	}
	if code, _, err := c.get("http://" + c.api + wire.CohortsPath); err != nil || code != http.StatusUnauthorized {
		t.Errorf("what is known, without the token: %d %v", code, err)
	}
}

// Agents get answers even if nobody takes what is exported.
func TestAnOutageBehind(t *testing.T) {
	c := start(t, "INGERO_FLEET_EXPORTERS=[otlp_grpc]", "INGERO_FLEET_OTLP="+free(t))
	f := c.client("http://" + c.http)
	for range 50 {
		if a, err := f.Push(t.Context(), push(0)); err != nil || a.Reply == nil {
			t.Fatalf("%+v %v", a, err)
		}
	}
}

// Without memory, requests to the pipeline are refused in a way that makes agents wait and retry, and the collector
// survives. Data for the fleet alone does not pass through the pipeline.
func TestMemoryLimit(t *testing.T) {
	c := start(t, "INGERO_FLEET_MEMORY_MIB=6", "INGERO_FLEET_SPIKE_MIB=2")
	for _, url := range []string{"http://" + c.http, "grpc://" + c.grpc} {
		f := c.client(url)
		c.until("a push is refused", func() bool {
			_, err := f.Push(t.Context(), push(0))
			e, ok := errors.AsType[*fleetclient.StatusError](err)
			// gRPC's error has no time to wait. The client takes it for an error of the network.
			if err != nil && !(ok && e.Code == http.StatusServiceUnavailable) && !strings.Contains(err.Error(), "memory") {
				t.Fatalf("%s: %v", url, err)
			}
			return err != nil
		})
	}
	data := push(0)
	data.Gauges = nil
	if a, err := c.client("http://"+c.http).Push(t.Context(), data); err != nil || a.Reply == nil {
		t.Errorf("data alone: %+v %v", a, err)
	}
	if code, _, err := c.get("http://" + c.health); err != nil || code != http.StatusOK {
		t.Errorf("%d %v", code, err)
	}
}
