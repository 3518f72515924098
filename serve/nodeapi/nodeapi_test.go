package nodeapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/internal/servetest"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/webserver"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// api is a node's, with a recording of a made-up workload.
func api(t testing.TB, path string) http.Handler {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "made.db")
		must(t, storetest.Build(path, storetest.Load{Calls: 4000, Threads: 2}, sqlite.Options{}))
	}
	src := source.New(path)
	t.Cleanup(func() { src.Close() })
	return nodeapi.New(src, nodeapi.Options{Version: "test", Node: "host"})
}

// ask returns the status and the body.
func ask(t testing.TB, h http.Handler, method, target, body string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	return w.Code, w.Body.Bytes()
}

// document is what the test reads of an OpenAPI document.
type document struct {
	Components struct{ Schemas map[string]*jsonschema.Schema }
	Paths      map[string]map[string]struct {
		Parameters []struct {
			Name   string
			Schema struct {
				Type string
				Enum []string
			}
		}
		RequestBody map[string]any
		Responses   map[string]struct {
			Content map[string]struct{ Schema *jsonschema.Schema }
		}
	}
}

// examples are values of the parameters.
var examples = map[string]string{
	"since": "all", "from": "2020-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z", "pid": "4000", "tid": "4000",
	"process": "trainer", "op": "cudaLaunchKernel", "limit": "7", "skip": "1", "buckets": "64", "columns": "20",
	"rows": "10", "a": "0s-1h", "b": "pid=4000",
}

// TestHandlersAnswerAsTheDocumentSays asks everything that the document has, with every
// parameter, and holds the answers against the schemas.
func TestHandlersAnswerAsTheDocumentSays(t *testing.T) {
	h := api(t, "")
	_, b := ask(t, h, "GET", nodeapi.Prefix+"openapi.json", "")
	var doc document
	must(t, json.Unmarshal(b, &doc))
	if len(doc.Paths) < 11 {
		t.Errorf("only %d paths", len(doc.Paths))
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			body := ""
			if op.RequestBody != nil {
				body = `{"sql": "select node, op, count(*), avg(duration_ns), null as none, x'ff' as blob from events group by op", "limit": 3}`
			}
			queries := []url.Values{{}}
			for _, p := range op.Parameters {
				v := examples[p.Name]
				if len(p.Schema.Enum) > 0 {
					v = p.Schema.Enum[0]
				}
				if v == "" {
					t.Fatalf("%s has no example of %s", path, p.Name)
				}
				queries = append(queries, url.Values{p.Name: {v}})
			}
			for _, q := range queries {
				code, answer := ask(t, h, strings.ToUpper(method), path+"?"+q.Encode(), body)
				if code != http.StatusOK {
					t.Errorf("%s %s?%s: %d %s", method, path, q.Encode(), code, answer)
				}
				if s := op.Responses["200"].Content["application/json"].Schema; s != nil {
					doc.conforms(t, path, s, answer)
				}
			}
			if code, answer := ask(t, h, strings.ToUpper(method), path+"?no_such=1", body); code != http.StatusBadRequest {
				t.Errorf("%s with a parameter it does not have: %d %s", path, code, answer)
			} else {
				doc.conforms(t, path, op.Responses["default"].Content["application/json"].Schema, answer)
			}
			if code, _ := ask(t, h, http.MethodDelete, path, ""); code != http.StatusMethodNotAllowed {
				t.Errorf("DELETE %s: %d", path, code)
			}
		}
	}
}

// TestAnswersOnOtherRecordingsAreAsTheDocumentSays holds answers on recordings with findings,
// on those of earlier versions, and on some of these that were merged, against the schemas.
func TestAnswersOnOtherRecordingsAreAsTheDocumentSays(t *testing.T) {
	paths, err := filepath.Glob("../../investigations/*.db")
	must(t, err)
	if len(paths) == 0 {
		t.Fatal("no recordings")
	}
	for _, version := range []string{"0.9", "0.8", "0.8"} {
		script, err := os.ReadFile("../../store/sqlite/testdata/earlier_" + version + ".sql")
		must(t, err)
		paths = append(paths, filepath.Join(t.TempDir(), version+".db"))
		c, err := zombie.OpenConn(paths[len(paths)-1], zombie.OpenReadWrite, zombie.OpenCreate)
		must(t, err)
		must(t, sqlitex.ExecuteScript(c, string(script), nil))
		must(t, c.Close())
	}
	merged, last := filepath.Join(t.TempDir(), "merged.db"), len(paths)-1
	inputs := []sqlite.MergeInput{{Path: paths[last-1], Node: "gpu-01"}, {Path: paths[last], Node: "gpu-02"}}
	_, err = sqlite.Merge(t.Context(), merged, inputs, sqlite.MergeOptions{})
	must(t, err)
	paths[last] = merged
	b, err := nodeapi.Document("")
	must(t, err)
	var doc document
	must(t, json.Unmarshal(b, &doc))
	for _, file := range paths {
		h := api(t, file)
		for path, methods := range doc.Paths {
			op, ok := methods["get"]
			if s := op.Responses["200"].Content["application/json"].Schema; ok && s != nil {
				_, answer := ask(t, h, http.MethodGet, path, "")
				doc.conforms(t, file+path, s, answer)
			}
		}
	}
}

// conforms holds an answer against a schema, which may refer to the document's components.
func (d *document) conforms(t *testing.T, path string, s *jsonschema.Schema, answer []byte) {
	t.Helper()
	b, err := json.Marshal(&jsonschema.Schema{Defs: d.Components.Schemas, AllOf: []*jsonschema.Schema{s}})
	must(t, err)
	var root jsonschema.Schema
	must(t, json.Unmarshal(bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/")), &root))
	for _, c := range root.Defs {
		closed(c)
	}
	r, err := root.Resolve(nil)
	must(t, err)
	var v any
	must(t, json.Unmarshal(answer, &v))
	if err := r.Validate(v); err != nil {
		t.Errorf("%s: %v in %.300s", path, err, answer)
	}
}

// closed has a schema allow only what it names: what an answer has beside that is not
// described.
func closed(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	for _, p := range s.Properties {
		closed(p)
	}
	closed(s.Items)
}

// TestDocumentIsThatOfTheRepository fails when what clients rely on changes: run "make
// generate", and look at the difference.
func TestDocumentIsThatOfTheRepository(t *testing.T) {
	got, err := nodeapi.Document("")
	must(t, err)
	want, err := os.ReadFile("../../docs/openapi.json")
	must(t, err)
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/openapi.json differs (-page +made; make generate writes it):\n%s", d)
	}
}

func TestAnswersHoldWhatIsRecorded(t *testing.T) {
	h := api(t, "")
	read := func(path string, out any) {
		t.Helper()
		code, b := ask(t, h, "GET", nodeapi.Prefix+path, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, b)
		}
		must(t, json.Unmarshal(b, out))
	}
	var over struct {
		Node  string
		Calls uint64
	}
	read("overview?since=all", &over)
	var ops struct{ Ops []struct{ Calls uint64 } }
	read("ops?since=all", &ops)
	sum := uint64(0)
	for _, o := range ops.Ops {
		sum += o.Calls
	}
	if over.Calls < 4000 || sum != over.Calls {
		t.Errorf("overview has %d calls, ops %d", over.Calls, sum)
	}
	// A timeline in parts has each call and interval once.
	type timeline struct {
		Calls []struct {
			StartNS uint64 `json:"start_ns"`
		}
		OffCPU []struct {
			StartNS uint64 `json:"start_ns"`
		} `json:"off_cpu"`
		NextNS uint64 `json:"next_ns"`
	}
	var whole timeline
	read("timeline?since=all&limit=50000", &whole)
	calls, intervals, from := 0, 0, uint64(1)
	for parts := 0; from != 0; parts++ {
		var part timeline
		read(fmt.Sprintf("timeline?from=%d&limit=500", from), &part)
		calls, intervals, from = calls+len(part.Calls), intervals+len(part.OffCPU), part.NextNS
		if n := len(part.Calls) + len(part.OffCPU); n > 500 || n == 0 || parts > 100 {
			t.Fatalf("part %d has %d calls and %d intervals, next %d", parts, len(part.Calls), len(part.OffCPU), part.NextNS)
		}
	}
	if calls != len(whole.Calls) || intervals != len(whole.OffCPU) || calls < 1000 || intervals == 0 {
		t.Errorf("parts have %d calls and %d intervals, the whole %d and %d", calls, intervals, len(whole.Calls),
			len(whole.OffCPU))
	}
}

func TestMetricsAreWellFormed(t *testing.T) {
	_, b := ask(t, api(t, ""), "GET", "/metrics", "")
	problems, err := promlint.New(bytes.NewReader(b)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v in\n%s", err, problems, b)
	}
	if !strings.Contains(string(b), "\ningero_recording_up 1\n") {
		t.Errorf("%s", b)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	h := api(t, "")
	for _, c := range []struct {
		method, target, body string
		want                 int
		text                 string
	}{
		{"GET", "ops?since=yesterday", "", 400, `invalid since`},
		{"GET", "ops?pid=1", "", 400, "no process 1"},
		{"GET", "ops?pid=x", "", 400, "pid"},
		{"GET", "ops?op=launch", "", 400, "no such operation"},
		{"GET", "ops?process=nobody", "", 400, "nobody"},
		{"GET", "ops?since=1m&since=2m", "", 400, "2 times"},
		{"GET", "timeline?limit=0", "", 400, "must be positive"},
		{"GET", "stacks?by=name", "", 400, "none of"},
		{"GET", "timeline?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "", 400, "not after"},
		{"GET", "nothing", "", 404, "openapi.json"},
		{"GET", "query", "", 405, "POST"},
		{"POST", "query", "", 400, "body"},
		{"POST", "query", `{"sql": ""}`, 400, "no statement"},
		{"POST", "query", `{"statement": "select 1"}`, 400, "body"},
		{"POST", "query", `{"sql": "delete from calls"}`, 400, "only reading"},
		{"POST", "query", `{"sql": "select 1; select 2"}`, 400, "more than one"},
		{"POST", "query", `{"sql": "select load_extension('x')"}`, 400, ""},
		{"POST", "query", `{"sql": "select printf('%.*c', 900000000, 'x')"}`, 400, "larger"},
		{"POST", "query", `{"sql": "` + strings.Repeat(" ", 20_000) + `select 1"}`, 400, "more than"},
		{"POST", "query", strings.Repeat("x", 1<<20), 413, "too long"},
	} {
		if code, b := ask(t, h, c.method, nodeapi.Prefix+c.target, c.body); code != c.want ||
			!strings.Contains(string(b), c.text) {
			t.Errorf("%s %s %.60s: %d %s, want %d %s", c.method, c.target, c.body, code, b, c.want, c.text)
		}
	}
}

func TestUnreadableRecordingsAreReported(t *testing.T) {
	torn := filepath.Join(t.TempDir(), "torn.db")
	must(t, os.WriteFile(torn, []byte("SQLite format 3\x00"), 0o600))
	for path, want := range map[string]string{"none.db": "no such database", torn: "damaged"} {
		h := api(t, path)
		for _, p := range []string{"healthz", "overview", "ops", "chains", "timeline", "stacks", "processes", "snapshots"} {
			if code, b := ask(t, h, "GET", nodeapi.Prefix+p, ""); code != 503 || !strings.Contains(string(b), want) {
				t.Errorf("%s of %s: %d %s", p, path, code, b)
			}
		}
		if code, b := ask(t, h, "GET", "/metrics", ""); code != 200 || !strings.Contains(string(b), "ingero_recording_up 0") {
			t.Errorf("metrics of %s: %d %s", path, code, b)
		}
	}
}

// TestScanOfThePort tries what may not pass: old TLS, wrong tokens, wrong certificates of
// clients, names of others.
func TestScanOfThePort(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	now := time.Now()
	own := func(name string) *webserver.Cert {
		c, err := webserver.OwnCert(t.TempDir(), name, []string{"localhost", "127.0.0.1"}, now)
		must(t, err)
		return c
	}
	node, friend, stranger := own("node"), servetest.ClientCert(t), servetest.ClientCert(t)
	cas := x509.NewCertPool()
	cas.AddCert(friend.Leaf)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- webserver.Serve(ctx, ln, api(t, ""), &node.TLS, webserver.Options{Token: secret, ClientCAs: cas})
	}()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	pool := x509.NewCertPool()
	pool.AddCert(node.TLS.Leaf)
	good := tls.Config{RootCAs: pool, Certificates: []tls.Certificate{friend}}
	for _, c := range []struct {
		what   string
		config func(*tls.Config)
		change func(*http.Request)
		want   int // 0: no answer at all
	}{
		{"a friend", nil, nil, 200},
		{"TLS 1.2", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, nil, 0},
		{"no certificate", func(c *tls.Config) { c.Certificates = nil }, nil, 0},
		{"a stranger's certificate", func(c *tls.Config) { c.Certificates = []tls.Certificate{stranger} }, nil, 0},
		{"the server's own certificate", func(c *tls.Config) { c.Certificates = []tls.Certificate{node.TLS} }, nil, 0},
		{"no token", nil, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"a wrong token", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x"+secret) }, 401},
		{
			"the token in the address", nil,
			func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + secret }, 401,
		},
		{"a foreign name", nil, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"another page", nil, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
	} {
		for _, path := range []string{"/metrics", nodeapi.Prefix + "healthz", nodeapi.Prefix + "openapi.json"} {
			conf := good.Clone()
			if c.config != nil {
				c.config(conf)
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
			r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+ln.Addr().String()+path, nil)
			must(t, err)
			r.Header.Set("Authorization", "Bearer "+secret)
			if c.change != nil {
				c.change(r)
			}
			code := 0
			if resp, err := client.Do(r); err == nil {
				code = resp.StatusCode
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if code != c.want {
				t.Errorf("%s at %s: status %d, want %d", c.what, path, code, c.want)
			}
		}
	}
}
