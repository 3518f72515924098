package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// session is a client of an MCP server at a URL.
func session(ctx context.Context, url, token string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1,
	}, nil)
}

// Over the network, from what a producer sends to the answer of a tool; and only with a token that may read.
func TestMCP(t *testing.T) {
	dir := t.TempDir()
	tokens, rates := filepath.Join(dir, "tokens"), filepath.Join(dir, "rates.json")
	for path, text := range map[string]string{
		tokens: "writes-1234 write\nreads-12345 read\n",
		rates:  `{"source":"our contract","date":"2026-01-31","currency":"EUR","default_per_gpu_hour":1.5}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := serve(t, filepath.Join(dir, "echo.db"), "--auth-token-file", tokens, "--rates", rates)
	client, ctx := e.client(t)
	if _, err := client.Export(ctx, published(3, 0, 250)); err != nil {
		t.Fatal(err)
	}
	url := "http://" + e.at["questions"] + "/mcp"
	for _, wrong := range []string{"writes-1234", "nothing-1234"} {
		if s, err := session(t.Context(), url, wrong); err == nil {
			t.Errorf("%s may ask", wrong)
			_ = s.Close()
		}
	}
	s, err := session(t.Context(), url, "reads-12345")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fleet.cluster." + tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := call("run_analysis", map[string]any{"sql": "select node_id, count(*) from events group by 1"}); !strings.Contains(got, `["node-h100",250]`) {
		t.Error(got)
	}
	if got := call("get_cost", nil); !strings.Contains(got, "our contract") || !strings.Contains(got, "EUR") {
		t.Error(got)
	}
	if got := call("summary", nil); !strings.Contains(got, `"nodes":1`) || !strings.Contains(got, "nothing is newer than 2023-11-14") {
		t.Error(got)
	}
	// A session of one that reads is none for one that may not.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", s.ID())
	r.Header.Set("Authorization", "Bearer writes-1234")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("with another's session: %d", got.StatusCode)
	}
	// What the web server refuses is answered as the API's own errors are.
	r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.at["questions"]+"/api/v1/health", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	r.Header.Set("X-Request-Id", "my-id")
	no, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer no.Body.Close()
	if b, err := io.ReadAll(no.Body); err != nil || no.StatusCode != http.StatusForbidden ||
		!strings.HasPrefix(string(b), `{"code":"forbidden","error":"host name`) || no.Header.Get("X-Request-Id") != "my-id" {
		t.Errorf("another name: %d %s %v, %v", no.StatusCode, b, no.Header, err)
	}
	e.end(t) // although a session is open
	if !strings.Contains(e.log.String(), `"tool":"fleet.cluster.run_analysis"`) {
		t.Error("calls are not logged")
	}
}

func TestRatesThatCannotBeRead(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "rates.json")
	if err := os.WriteFile(bad, []byte(`{"rates":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{bad: "need source", "/none": "read the rates: open /none"} {
		var errs strings.Builder
		code := run(t.Context(), []string{"serve", "--db-path", filepath.Join(t.TempDir(), "echo.db"), "--rates", path}, io.Discard, &errs,
			func(string) string { return "" })
		if code != exitFailure || !strings.Contains(errs.String(), want) {
			t.Errorf("%d: %s; want %s", code, &errs, want)
		}
	}
}

func TestDemo(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"demo", "--mcp-addr", "127.0.0.1:0"}, w, &errs, func(string) string { return "" })
		_ = w.Close()
		ended <- code
	}()
	at := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), "--transport http echo-demo "); ok {
			at = strings.TrimSuffix(rest, "/mcp")
		}
		if strings.HasPrefix(lines.Text(), "Ctrl+C") {
			break
		}
	}
	if at == "" {
		t.Fatalf("it does not say where it is: %s", &errs)
	}
	s, err := session(t.Context(), at+"/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/api/v1/tools/fleet.cluster.find_stragglers", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	late := regexp.MustCompile(`rank 5 on node-b comes \d+ ms late to every 14th of \d+ collectives`)
	if b, err := io.ReadAll(got.Body); err != nil || !late.Match(b) {
		t.Errorf("%v %s", err, b)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("%d: %s", code, &errs)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

// The command that "claude mcp add" is given.
func TestDemoOnStandardInput(t *testing.T) {
	cmd := demoCommand(io.Discard)
	var out strings.Builder
	cmd.SetIn(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fleet.cluster.get_cost","arguments":{}}}
`))
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--stdio"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "GPU-hours of waiting for 1 rank") {
		t.Error(out.String())
	}
}

func TestDemoIsForThisMachine(t *testing.T) {
	for _, args := range [][]string{{"demo", "--mcp-addr", ":8081"}, {"demo", "--mcp-addr", "10.0.0.1:8081"}, {"demo", "now"}} {
		var errs strings.Builder
		if code := run(t.Context(), args, io.Discard, &errs, func(string) string { return "" }); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, fmt.Sprint(&errs))
		}
	}
}
