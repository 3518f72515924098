package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/api"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/mcptool"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/serve/webserver"
)

// made is a store whose answers depend on the statement.
type made struct{ started chan struct{} }

func (m *made) Check(_ context.Context, sql string) error {
	if sql == "refused" {
		return store.Refuse("it is a test")
	}
	return nil
}

func (m *made) Query(ctx context.Context, sql string, _ store.Limits) (*store.Result, error) {
	switch sql {
	case "limit":
		return nil, &store.LimitError{Limit: "it took longer than 10s"}
	case "statement":
		return nil, &store.StatementError{Why: "there is no column x"}
	case "away":
		return nil, fmt.Errorf("%w: shard 2", store.ErrAway)
	case "internal":
		return nil, errors.New("open /secret: no such file")
	case "slow":
		m.started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	case "infinite":
		return &store.Result{Columns: []string{"a"}, Rows: [][]any{{1e308 * float64(len(sql)) * 10}}, Cut: "rows"}, nil
	}
	return &store.Result{Columns: []string{"a"}, Rows: [][]any{{int64(1)}}}, nil
}

const (
	both  = "both-1234567"
	write = "write-1234567"
	read  = "read-12345678"
)

func handler(t *testing.T, m *made, gate *webserver.Gate) http.Handler {
	t.Helper()
	var tokens access.Tokens
	if err := tokens.Parse(both + "\n" + write + " write\n" + read + " read\n"); err != nil {
		t.Fatal(err)
	}
	return api.Handler(api.Options{
		Store: m, Tokens: &tokens, Limits: api.DefaultLimits(), Gate: gate, Version: "test",
		Tools: mcptool.New(mcptool.Options{Store: m, Rates: cost.Example(), Limits: api.DefaultLimits()}),
		MCP:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "MCP") }),
	})
}

// send sends a request and returns the recorded answer.
func send(ctx context.Context, h http.Handler, token, request, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// All statuses listed in docs/echo.md.
func TestStatuses(t *testing.T) {
	h := handler(t, &made{}, nil)
	const sql, tool = "POST /api/v1/sql", "POST /api/v1/tools/fleet.cluster.run_analysis"
	for name, c := range map[string]struct {
		token, request, body string
		status               int
		want                 string
	}{
		"SQL":                          {both, sql, `{"sql":"select 1"}`, 200, `{"columns":["a"],"rows":[[1]]}`},
		"in version 2":                 {read, "POST /api/v2/sql", `{"sql":"select 1"}`, 200, `{"columns":["a"],"rows":[[1]]}`},
		"what JSON has no number for":  {both, sql, `{"sql":"infinite"}`, 200, `{"columns":["a"],"rows":[["Infinity"]],"cut":"rows"}`},
		"a tool":                       {read, tool, `{"args":{"sql":"select 1"}}`, 200, `{"result":{"columns":["a"],"rows":[[1]],"next":[{"tool":`},
		"health":                       {read, "GET /api/v1/health", "", 200, `{"status":"ok"}`},
		"who am I":                     {read, "GET /api/v1/whoami", "", 200, `{"scopes":["read"]}`},
		"who am I, of one that writes": {write, "GET /api/v2/whoami", "", 200, `{"scopes":["write"]}`},
		"MCP":                          {read, "POST /mcp", "{}", 200, `MCP`},

		"no JSON":             {both, sql, `{`, 400, `{"code":"bad_request","error":"the body must be an object of JSON"}`},
		"no object":           {both, sql, `[]`, 400, `{"code":"bad_request","error":"the body must be an object of JSON"}`},
		"no statement":        {both, sql, `{"sql":""}`, 400, `{"code":"bad_request","error":"the body must be an object of JSON with a statement: {\"sql\": \"select …\"}"}`},
		"nothing":             {both, sql, ``, 400, `{"code":"bad_request","error":"the body must be an object of JSON with a statement: {\"sql\": \"select …\"}"}`},
		"too long":            {both, sql, strings.Repeat(" ", 70_000), 400, `{"code":"bad_request","error":"the request is too long"}`},
		"a wrong statement":   {both, sql, `{"sql":"statement"}`, 400, `{"code":"statement","error":"there is no column x"}`},
		"no argument":         {both, tool, `{"args":{}}`, 400, `{"code":"bad_request",`},
		"another argument":    {both, tool, `{"args":{"sql":"select 1","x":1}}`, 400, `{"code":"bad_request",`},
		"a tool's statement":  {both, tool, `{"args":{"sql":"statement"}}`, 400, `{"code":"statement","error":"there is no column x"}`},
		"a tool, no JSON":     {both, tool, `{"args":`, 400, `{"code":"bad_request","error":"the body must be an object of JSON"}`},
		"no token":            {"", sql, `{"sql":"select 1"}`, 401, `{"code":"unauthorized","error":"missing or wrong bearer token"}`},
		"a wrong token":       {"wrong-123456", "GET /api/v1/whoami", "", 401, `{"code":"unauthorized","error":"missing or wrong bearer token"}`},
		"MCP without a token": {"", "POST /mcp", `{}`, 401, `{"code":"unauthorized","error":"missing or wrong bearer token"}`},
		"nowhere, without":    {"", "GET /x", "", 401, `{"code":"unauthorized","error":"missing or wrong bearer token"}`},
		"one that writes":     {write, sql, `{"sql":"select 1"}`, 403, `{"code":"forbidden","error":"this token may not read"}`},
		"and asks a tool":     {write, tool, `{"args":{"sql":"select 1"}}`, 403, `{"code":"forbidden","error":"this token may not read"}`},
		"and speaks MCP":      {write, "POST /mcp", `{}`, 403, `{"code":"forbidden","error":"this token may not read"}`},
		"and lists":           {write, "GET /api/v1/tools/list", "", 403, `{"code":"forbidden","error":"this token may not read"}`},
		"and reads health":    {write, "GET /api/v1/health", "", 403, `{"code":"forbidden","error":"this token may not read"}`},
		"refused":             {both, sql, `{"sql":"refused"}`, 403, `{"code":"refused","error":"refused: it is a test"}`},
		"refused to a tool":   {both, tool, `{"args":{"sql":"refused"}}`, 403, `{"code":"refused","error":"refused: it is a test"}`},
		"nowhere":             {both, "GET /x", "", 404, `{"code":"not_found","error":"there is nothing here; see GET /api/v1/openapi.json"}`},
		"another method":      {both, "GET /api/v1/sql", "", 404, `{"code":"not_found",`},
		"another tool":        {both, "POST /api/v1/tools/fleet.cluster.x", "", 404, `{"code":"not_found","error":"there is no such tool; see GET /api/v1/tools/list"}`},
		"a limit":             {both, sql, `{"sql":"limit"}`, 422, `{"code":"limit","error":"ended: it took longer than 10s"}`},
		"a tool's limit":      {both, tool, `{"args":{"sql":"limit"}}`, 422, `{"code":"limit","error":"ended: it took longer than 10s"}`},
		"a part is away":      {both, sql, `{"sql":"away"}`, 503, `{"code":"away","error":"the store does not answer as a whole; ask again"}`},
		"the store fails":     {both, sql, `{"sql":"internal"}`, 500, `{"code":"internal","error":"the store failed; see its log"}`},
	} {
		got := send(t.Context(), h, c.token, c.request, c.body)
		if got.Code != c.status || !strings.HasPrefix(got.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %d %s", name, got.Code, got.Body, c.status, c.want)
		}
		if (got.Code == 401) != (got.Header().Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%s: %v", name, got.Header())
		}
		if kind := got.Header().Get("Content-Type"); kind != "application/json" && name != "MCP" {
			t.Errorf("%s: %s", name, kind)
		}
	}
}

// Without room, and after the caller has gone.
func TestBusyAndGivenUp(t *testing.T) {
	m := &made{started: make(chan struct{}, 1)}
	h := handler(t, m, webserver.NewGate(webserver.Limits{Calls: 1, PerTool: 1, Waiting: 1}))
	ctx, giveUp := context.WithCancel(t.Context())
	first, others := make(chan *httptest.ResponseRecorder, 1), make(chan *httptest.ResponseRecorder, 2)
	go func() { first <- send(ctx, h, both, "POST /api/v1/sql", `{"sql":"slow"}`) }()
	<-m.started
	waiting, leave := context.WithCancel(t.Context())
	for range 2 { // one waits, and there is no room for the other
		go func() { others <- send(waiting, h, both, "POST /api/v1/sql", `{"sql":"select 1"}`) }()
	}
	if got := <-others; got.Code != 503 || !strings.Contains(got.Body.String(), `"code":"busy"`) || got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	leave()
	if got := <-others; got.Code != 503 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	giveUp()
	if got := <-first; got.Code != 503 || !strings.Contains(got.Body.String(), `"code":"canceled"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestRequestID(t *testing.T) {
	h := handler(t, &made{}, nil)
	ask := func(id string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/health", nil)
		r.Header["X-Request-Id"] = []string{id}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Header().Get("X-Request-Id")
	}
	if got := ask("abc-123"); got != "abc-123" {
		t.Error(got)
	}
	seen := map[string]bool{}
	for _, id := range []string{"", "with a space", "line\nbreak", "\x1b[31m", strings.Repeat("x", 129), "ü"} {
		if got := ask(id); len(got) != 16 || seen[got] {
			t.Errorf("%q: %q", id, got)
		} else {
			seen[got] = true
		}
	}
}

// The document has every route and tool, and all its references exist.
func TestOpenAPI(t *testing.T) {
	h := handler(t, &made{}, nil)
	got := send(t.Context(), h, read, "GET /api/v1/openapi.json", "")
	var doc struct {
		OpenAPI string
		Info    map[string]any
		Paths   map[string]map[string]struct {
			Summary     string
			RequestBody any
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(got.Body.Bytes(), &doc); err != nil || got.Code != 200 || doc.OpenAPI != "3.1.0" || doc.Info["x-ingero-version"] != "test" {
		t.Fatalf("%d %v: %s", got.Code, err, got.Body)
	}
	var tools struct{ Tools []mcptool.Info }
	if err := json.Unmarshal(send(t.Context(), h, read, "GET /api/v1/tools/list", "").Body.Bytes(), &tools); err != nil || len(tools.Tools) != 7 {
		t.Fatal(err, len(tools.Tools))
	}
	want := []string{"post /api/v1/sql", "get /api/v1/tools/list", "get /api/v1/whoami", "get /api/v1/health", "get /api/v1/openapi.json"}
	for _, tool := range tools.Tools {
		want = append(want, "post /api/v1/tools/"+tool.Name)
	}
	for _, w := range want {
		method, path, _ := strings.Cut(w, " ")
		op, ok := doc.Paths[path][method]
		if !ok || op.Summary == "" || op.Responses["200"] == nil || op.Responses["401"] == nil || (method == "post") != (op.RequestBody != nil) {
			t.Errorf("%s: %+v", w, op)
		}
		delete(doc.Paths, path)
		if got := send(t.Context(), h, read, strings.ToUpper(method)+" "+path, "{}"); got.Code == 404 { // there is a route
			t.Errorf("%s: %s", w, got.Body)
		}
	}
	if len(doc.Paths) > 0 {
		t.Errorf("besides: %v", doc.Paths)
	}
	for _, part := range strings.Split(got.Body.String(), `"$ref":"`)[1:] {
		ref, _, _ := strings.Cut(part, `"`)
		name, ok := strings.CutPrefix(ref, "#/components/schemas/")
		if _, there := doc.Components.Schemas[name]; !ok || !there {
			t.Errorf("%s is not there", ref)
		}
	}
	if again := send(t.Context(), h, read, "GET /api/v2/openapi.json", ""); again.Body.String() != got.Body.String() {
		t.Error("it is not the same each time")
	}
	if fmt.Sprint(tools.Tools[0].InputSchema) == "" {
		t.Error("a tool has no schema")
	}
}
