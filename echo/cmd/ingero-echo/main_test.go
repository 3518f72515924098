package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/ingero-io/ingero/internal/servetest"
	"github.com/ingero-io/ingero/serve/webserver"
)

const token = "a-token-1234"

// echo is a running server.
type echo struct {
	at   map[string]string // what it listens for, and where
	stop context.CancelFunc
	done chan struct{}
	code int
	log  *strings.Builder
}

var listening = regexp.MustCompile(`msg=listening for="?([^"=]+?)"? at=(\S+)`)

// serve starts a server with a token, and waits until it listens. Its file is at a path, unless that is empty.
func serve(t testing.TB, path string, args ...string) *echo {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	e := &echo{at: map[string]string{}, stop: stop, done: make(chan struct{}), log: &strings.Builder{}}
	r, w := io.Pipe()
	if path != "" {
		args = append([]string{"--db-path", path}, args...)
	}
	go func() {
		defer close(e.done)
		e.code = run(ctx, append([]string{
			"serve", "--otlp-addr", "127.0.0.1:0", "--otlp-http-addr", "127.0.0.1:0",
			"--mcp-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0",
		}, args...), io.Discard, w, func(string) string { return token })
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	for len(e.at) < 4 && lines.Scan() {
		fmt.Fprintln(e.log, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			e.at[m[1]] = m[2]
		}
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			fmt.Fprintln(e.log, lines.Text())
		}
	}()
	t.Cleanup(func() {
		e.end(t)
		<-read
		if t.Failed() {
			t.Log(e.log)
		}
	})
	if len(e.at) < 4 {
		t.Fatalf("it does not listen: %v", e.at)
	}
	return e
}

// end ends it as Ctrl+C does.
func (e *echo) end(t testing.TB) {
	t.Helper()
	e.stop()
	<-e.done
	if e.code != 0 {
		t.Errorf("exit code %d", e.code)
	}
}

// ask asks a question and returns the answer's status and body.
func (e *echo) ask(t testing.TB, sql string) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	return e.http(t, http.MethodPost, "http://"+e.at["questions"]+"/api/v1/sql", body)
}

func (e *echo) http(t testing.TB, method, url string, body []byte) (int, string) {
	t.Helper()
	return e.send(t, method, url, "application/json", body)
}

func (e *echo) send(t testing.TB, method, url, kind string, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, strings.TrimSpace(string(b))
}

func (e *echo) client(t testing.TB) (pmetricotlp.GRPCClient, context.Context) {
	t.Helper()
	c, err := grpc.NewClient(e.at["OTLP over gRPC"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return pmetricotlp.NewGRPCClient(c), metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
}

// published are points of a producer of the published proof, from one on: 8 producers, of which each has 250. Those of
// even ranks are on one node, of odd ones on the other.
func published(rank, from, points int) pmetricotlp.ExportRequest {
	m := pmetric.NewMetrics()
	rm := m.ResourceMetrics().AppendEmpty()
	node := []string{"node-a100", "node-h100"}[rank%2]
	rm.Resource().Attributes().PutStr("ingero.cluster.id", "demo-cluster")
	rm.Resource().Attributes().PutStr("ingero.node.id", node)
	rm.Resource().Attributes().PutInt("ingero.world_size", 8)
	metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("ingero.health.score")
	list := metric.SetEmptyGauge().DataPoints()
	for i := from; i < from+points; i++ {
		n := rank/2*250 + i
		p := list.AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + int64(n)*1_000_000))
		p.Attributes().PutInt("rank", int64(rank))
		p.Attributes().PutInt("seq", int64(n))
		p.SetDoubleValue(0.95)
		if n%25 == 0 {
			p.Attributes().PutStr("causal_chain_id", fmt.Sprintf("%s-%d", node, n))
		}
		if n%100 == 0 && n > 0 {
			p.SetDoubleValue(0.25)
		}
	}
	return pmetricotlp.NewExportRequestFromMetrics(m)
}

func TestEightProducersOf250Points(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	e := serve(t, path)
	var all sync.WaitGroup
	for rank := range 8 {
		client, ctx := e.client(t)
		all.Go(func() {
			for from := 0; from < 250; from += 25 {
				for range 1 + rank%2 { // those of odd ranks send everything twice
					if _, err := client.Export(ctx, published(rank, from, 25)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	questions := map[string]string{
		"SELECT COUNT(*) FROM events": `{"columns":["count_star()"],"rows":[[2000]]}`,
		"SELECT cluster_id, node_id, COUNT(*) AS events\nFROM events\nGROUP BY cluster_id, node_id\nORDER BY node_id;": `{"columns":["cluster_id","node_id","events"],` +
			`"rows":[["demo-cluster","node-a100",1000],["demo-cluster","node-h100",1000]]}`,
		"SELECT COUNT(DISTINCT json_extract_string(attrs_json, '$.causal_chain_id')) AS chains\nFROM events\nWHERE attrs_json LIKE '%causal_chain_id%';": `{"columns":["chains"],"rows":[[80]]}`,
		"SELECT sum(n), count(*) FROM (SELECT node_id, COUNT(*) AS n\nFROM events\nWHERE value_double < 0.40\nGROUP BY node_id)":                         `{"columns":["sum(n)","count_star()"],"rows":[[18,2]]}`,
		"select rank, count(*) as n, max(nranks) as nranks from events group by rank order by rank":                                                      `{"columns":["rank","n","nranks"],"rows":[[0,250,8],[1,250,8],[2,250,8],[3,250,8],[4,250,8],[5,250,8],[6,250,8],[7,250,8]]}`,
	}
	for sql, want := range questions {
		if status, got := e.ask(t, sql); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s; want %s", sql, status, got, want)
		}
	}
	if _, got := e.http(t, http.MethodGet, "http://"+e.at["health"]+"/metrics", nil); !strings.Contains(got, `ingero_echo_points_total{what="kept"} 2000`) ||
		!strings.Contains(got, `ingero_echo_points_total{what="duplicate"} 1000`) || !strings.Contains(got, "ingero_echo_store_rows 2000") {
		t.Errorf("metrics:\n%s", got)
	}
	for _, at := range []string{"/healthz", "/readyz"} {
		if status, got := e.http(t, http.MethodGet, "http://"+e.at["health"]+at, nil); status != http.StatusOK {
			t.Errorf("%s: %d %s", at, status, got)
		}
	}
	e.end(t)
	e = serve(t, path) // all of it is there after the end
	for sql, want := range questions {
		if _, got := e.ask(t, sql); got != want {
			t.Errorf("after the end: %s: %s; want %s", sql, got, want)
		}
	}
}

func TestOTLPOverHTTP(t *testing.T) {
	e := serve(t, filepath.Join(t.TempDir(), "echo.db"))
	body, err := published(3, 0, 250).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if status, got := e.http(t, http.MethodPost, "http://"+e.at["OTLP over HTTP"]+"/v1/metrics", body); status != http.StatusOK {
		t.Fatalf("%d %s", status, got)
	}
	if _, got := e.ask(t, "select count(*), min(rank), max(node_id) from events"); got != `{"columns":["count_star()","min(rank)","max(node_id)"],"rows":[[250,3,"node-h100"]]}` {
		t.Error(got)
	}
}

func TestWhatMayBeAskedOverHTTP(t *testing.T) {
	e := serve(t, filepath.Join(t.TempDir(), "echo.db"))
	for sql, want := range map[string]string{
		"delete from point":                     `403 {"code":"refused","error":"refused: only SELECT may be run"}`,
		"select * from read_csv('/etc/passwd')": `403 {"code":"refused","error":"refused: table function is not allowed"}`,
		"select 'nan'::double as a, ['-inf'::double] as b, 9007199254740993 as c, null as d": `200 {"columns":["a","b","c","d"],"rows":[["NaN",["-Infinity"],9007199254740993,null]]}`,
		"selekt": `400 {"code":"statement","error":"syntax error at or near \"selekt\""}`,
		"":       `400 {"code":"bad_request","error":"the body must be an object of JSON with a statement: {\"sql\": \"select …\"}"}`,
	} {
		status, got := e.ask(t, sql)
		if got := fmt.Sprint(status, " ", got); got != want {
			t.Errorf("%s: %s; want %s", sql, got, want)
		}
	}
	base := "http://" + e.at["questions"]
	if status, got := e.http(t, http.MethodGet, base+"/api/v1/whoami", nil); status != http.StatusOK || got != `{"scopes":["write","read"]}` {
		t.Errorf("%d %s", status, got)
	}
	if status, got := e.http(t, http.MethodGet, base+"/nothing", nil); status != http.StatusNotFound || !strings.Contains(got, "not_found") {
		t.Errorf("%d %s", status, got)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got.StatusCode)
	}
}

func TestASecondServerIsToldWhoHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echo.db")
	serve(t, path)
	var errs strings.Builder
	code := run(t.Context(), []string{"serve", "--db-path", path}, io.Discard, &errs, func(string) string { return "" })
	if code != exitFailure || !strings.Contains(errs.String(), fmt.Sprint("process ", os.Getpid(), " has ")) {
		t.Errorf("%d: %s", code, &errs)
	}
}

func TestOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, err := webserver.OwnCert(dir, "echo", []string{"127.0.0.1", "localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e := serve(t, filepath.Join(dir, "echo.db"), "--cert", cert.Path, "--key", filepath.Join(dir, "echo-key.pem"))
	pem, err := os.ReadFile(cert.Path)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	conf := &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}
	c, err := grpc.NewClient(e.at["OTLP over gRPC"], grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	if _, err := pmetricotlp.NewGRPCClient(c).Export(ctx, published(0, 0, 10)); err != nil {
		t.Error(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+e.at["questions"]+"/api/v1/sql",
		strings.NewReader(`{"sql":"select count(*) as n from events"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: conf}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if b, err := io.ReadAll(got.Body); err != nil || string(b) != `{"columns":["n"],"rows":[[10]]}`+"\n" {
		t.Errorf("%s, %v", b, err)
	}
}

// With --client-ca only clients with a certificate of it may write and ask, and over TLS 1.3.
func TestClientsNeedCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, err := webserver.OwnCert(dir, "echo", []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	friend, stranger, cas := servetest.ClientCert(t), servetest.ClientCert(t), filepath.Join(dir, "clients.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: friend.Certificate[0]})
	if err := os.WriteFile(cas, block, 0o600); err != nil {
		t.Fatal(err)
	}
	e := serve(t, filepath.Join(dir, "echo.db"), "--cert", cert.Path, "--key", filepath.Join(dir, "echo-key.pem"),
		"--client-ca", cas)
	trusted := x509.NewCertPool()
	trusted.AddCert(cert.TLS.Leaf)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	for name, c := range map[string]struct {
		certs  []tls.Certificate
		newest uint16 // version of TLS
		ok     bool
	}{
		"no certificate":           {nil, 0, false},
		"a stranger's certificate": {[]tls.Certificate{stranger}, 0, false},
		"TLS 1.2":                  {[]tls.Certificate{friend}, tls.VersionTLS12, false},
		"a friend's certificate":   {[]tls.Certificate{friend}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			conf := &tls.Config{RootCAs: trusted, Certificates: c.certs, MinVersion: tls.VersionTLS12, MaxVersion: c.newest}
			conn, err := grpc.NewClient(e.at["OTLP over gRPC"], grpc.WithTransportCredentials(credentials.NewTLS(conf)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, published(0, 0, 10)); (err == nil) != c.ok {
				t.Errorf("writing over gRPC: %v", err)
			}
			for _, at := range []string{e.at["questions"] + "/api/v1/openapi.json", e.at["OTLP over HTTP"] + "/v1/metrics"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+token)
				transport := &http.Transport{TLSClientConfig: conf}
				defer transport.CloseIdleConnections()
				got, err := (&http.Client{Transport: transport}).Do(r)
				if (err == nil) != c.ok {
					t.Errorf("%s: %v", at, err)
				}
				if err == nil {
					got.Body.Close()
				}
			}
		})
	}
}

func TestWhatIsNotSafeIsRefused(t *testing.T) {
	dir := t.TempDir()
	bad, none := filepath.Join(dir, "bad"), filepath.Join(dir, "none")
	for path, text := range map[string]string{bad: "a-token-1234 everything\n", none: "# nothing\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args  string
		token string
		code  int
		want  string
	}{
		"no certificate":     {"--otlp-addr :4317", token, exitUsage, "give --cert and --key, or --insecure-no-tls"},
		"no token":           {"--mcp-addr 0.0.0.0:8081 --insecure-no-tls", "", exitUsage, "set $INGERO_ECHO_TOKEN"},
		"half a pair":        {"--cert x", "", exitUsage, "belong together"},
		"a missing file":     {"--cert /none --key /none", "", exitFailure, "/none"},
		"a short token":      {"", "short", exitUsage, "a token has 5 characters"},
		"a file of tokens":   {"--auth-token-file " + bad, "", exitFailure, "line 1"},
		"a file without one": {"--auth-token-file " + none, "", exitFailure, "has no token"},
		"an argument":        {"now", "", exitUsage, "takes no arguments"},
		"another flag":       {"--nothing", "", exitUsage, "unknown flag"},
		"a token as a flag":  {"--auth-token=secret", "", exitUsage, "could read it; set $INGERO_ECHO_TOKEN"},
		"two stores":         {"--store http://127.0.0.1:1/echo", "", exitUsage, "give --store or --db-path, not both"},
		"memory of another":  {"--store http://127.0.0.1:1/echo --engine-memory-mib 256", "", exitUsage, "is for DuckDB"},
		"too little memory":  {"--engine-memory-mib 63", "", exitUsage, "must be at least 64"},
		"half a cluster":     {"--cluster x", "", exitUsage, "--cluster is of ClickHouse"},
		"below 0":            {"--keep -1h", "", exitUsage, "cannot be below 0"},
		"nothing to serve":   {"--otlp-addr= --otlp-http-addr= --mcp-addr=", "", exitUsage, "nothing to serve"},
		"an address in use":  {"--otlp-addr 127.0.0.1:1 --otlp-http-addr= --mcp-addr= --health-addr=999.0.0.1:1", "", exitFailure, "listen for"},
	} {
		var errs strings.Builder
		args := append([]string{"serve", "--db-path", filepath.Join(t.TempDir(), "echo.db")}, strings.Fields(c.args)...)
		code := run(t.Context(), args, io.Discard, &errs, func(string) string { return c.token })
		if code != c.code || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), token) {
			t.Errorf("%s: exit code %d: %s; want %d, %s", name, code, &errs, c.code, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	said := regexp.MustCompile(`^ingero-echo \S+ \(commit \S+, go\S.*, linux/\w+\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{arg}, &out, &errs, func(string) string { return "" })
		if code != 0 || !said.MatchString(out.String()) {
			t.Errorf("%s: %d: %q%s", arg, code, out.String(), &errs)
		}
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"serve", "--help"}, &out, io.Discard, func(string) string { return "" }); code != 0 {
		t.Fatal(code)
	}
	for _, flag := range []string{"--otlp-addr", "--otlp-http-addr", "--mcp-addr", "--health-addr", "--db-path", "--auth-token-file", "--insecure-no-tls"} {
		if !strings.Contains(out.String(), flag) {
			t.Errorf("no %s", flag)
		}
	}
	var errs strings.Builder
	code := run(t.Context(), []string{"nothing"}, io.Discard, &errs, func(string) string { return "" })
	if diff := cmp.Diff("ingero-echo: there is no command \"nothing\"; see ingero-echo --help\n", errs.String()); code != exitUsage || diff != "" {
		t.Error(code, diff)
	}
}
