package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// requestOnce asks a server once, on a connection of its own, and returns the status and the
// body; 0 if there was no answer.
func requestOnce(t *testing.T, s *served, path string, config func(*tls.Config),
	change func(*http.Request),
) (int, string) {
	t.Helper()
	conf := &tls.Config{RootCAs: s.ca}
	if config != nil {
		config(conf)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.host()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestScanOfTheDashboard tries what may not pass at the port of the command itself: the
// page is for all who may reach it, what it shows only for those who have the token.
func TestScanOfTheDashboard(t *testing.T) {
	const token, page, data = "0123456789abcdef0123456789abcdef", "/", "/api/v1/recording"
	s := serve(t, []string{"INGERO_NODE_TOKEN=" + token}, "dashboard", "../../investigations/healthy.db", "--http",
		"127.0.0.1:0")
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	old := func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }
	for _, c := range []struct {
		what       string
		config     func(*tls.Config)
		change     func(*http.Request)
		page, data int // status; 0: no answer at all
	}{
		{"the token", nil, bearer(token), 200, 200},
		{"no token", nil, nil, 200, 401},
		{"a wrong token", nil, bearer("x" + token), 200, 401},
		{"TLS 1.2", old, bearer(token), 0, 0},
		{"a foreign name", nil, func(r *http.Request) { bearer(token)(r); r.Host = "evil.example" }, 403, 403},
		{
			"another page", nil, func(r *http.Request) { bearer(token)(r); r.Header.Set("Origin", "https://evil.example") }, 403,
			403,
		},
	} {
		for path, want := range map[string]int{page: c.page, data: c.data} {
			if got, body := requestOnce(t, s, path, c.config, c.change); got != want {
				t.Errorf("%s at %s: status %d, want %d: %.200s", c.what, path, got, want, body)
			}
		}
	}
	if _, body := requestOnce(t, s, page, nil, nil); !strings.Contains(body, `<div id="app">`) ||
		strings.Contains(body, "trainer") {
		t.Errorf("the page without a token: %s", body)
	}
	keepsConnection(t, s, "https://"+s.host()+data)
	if _, err := s.agent(token + "x"); err == nil {
		t.Error("an agent with a wrong token was let in")
	}
	agent, err := s.agent(token)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if r, err := agent.CallTool(t.Context(), &mcp.CallToolParams{Name: "diagnose"}); err != nil || r.IsError {
		t.Errorf("an agent's tool: %+v, %v", r, err)
	}
	if code, _ := requestOnce(t, s, page, nil, func(r *http.Request) { r.URL.Scheme = "http" }); code == http.StatusOK {
		t.Error("the page is served without TLS")
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}

// agent is an AI agent at a server that has more than MCP at its address, with a token.
func (s *served) agent(token string) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: "https://" + s.host() + "/mcp", HTTPClient: &http.Client{Transport: &bearer{s.http().Transport, token}},
			MaxRetries: -1,
		}, nil)
}

// bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// keepsConnection sees that a refused request does not cut off the others of a page, which
// share its connection.
func keepsConnection(t *testing.T, s *served, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: s.ca},
		ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	for i := range 3 {
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(),
			&httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is free
		resp.Body.Close()
		if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUnauthorized || reused != (i > 0) {
			t.Errorf("request %d: %s, status %d, on the same connection: %v", i, resp.Proto, resp.StatusCode, reused)
		}
	}
}

// TestDashboardForCertificates wants a certificate even for the page.
func TestDashboardForCertificates(t *testing.T) {
	dir := t.TempDir()
	own := func(name string) *webserver.Cert {
		c, err := webserver.OwnCert(dir, name, []string{"localhost"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	own("ca")
	stranger := own("stranger")
	s := serve(t, nil, "dashboard", "../../investigations/healthy.db", "--http", "127.0.0.1:0", "--client-ca",
		filepath.Join(dir, "ca-cert.pem"))
	for what, config := range map[string]func(*tls.Config){
		"no certificate":           nil,
		"a stranger's certificate": func(c *tls.Config) { c.Certificates = []tls.Certificate{stranger.TLS} },
	} {
		for _, path := range []string{"/", "/mcp"} {
			if code, body := requestOnce(t, s, path, config, nil); code != 0 {
				t.Errorf("%s at %s: status %d: %.200s", what, path, code, body)
			}
		}
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
