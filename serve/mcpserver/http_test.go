package mcpserver_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

const secret = "0123456789abcdef0123456789abcdef"

func TestClientIsServedOverTLS(t *testing.T) {
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{Token: secret})
	c, err := s.session(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: in{"hi"}})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	if _, err := s.session("another" + secret); err == nil {
		t.Error("a wrong token was taken")
	}
}

func TestOnlyTLS13IsSpoken(t *testing.T) {
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{})
	for v, ok := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: false, tls.VersionTLS10: false} {
		c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: s.pool, MinVersion: v, MaxVersion: v})
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(v), err)
		}
		if err == nil {
			c.Close()
		}
	}
	resp, err := http.Get("http://" + s.addr + mcpserver.Path)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: status %d", resp.StatusCode)
	}
}

func TestWrongTokensAreRefused(t *testing.T) {
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{Token: secret})
	for header, want := range map[string]int{
		"":                                      401,
		"Bearer":                                401,
		"Bearer ":                               401,
		secret:                                  401,
		"Basic " + secret:                       401,
		"Bearer " + secret[1:]:                  401,
		"Bearer " + secret + "x":                401,
		"Bearer x" + secret:                     401,
		"Bearer " + secret + " " + secret:       401,
		"Bearer " + strings.Repeat("x", 10_000): 401,
		"Bearer ünïcödé":                        401,
		"Bearer " + secret:                      200,
		"bearer " + secret:                      200,
	} {
		code, body := s.do(s.request("POST", hello, func(r *http.Request) {
			if header != "" {
				r.Header.Set("Authorization", header)
			}
		}))
		if code != want {
			t.Errorf("%.60q: status %d, want %d: %s", header, code, want, body)
		}
		if strings.Contains(body, secret) {
			t.Errorf("%.60q: the token is in the answer", header)
		}
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	local := newSite(t, webserver.DefaultLimits(), webserver.Options{Names: []string{"gpu-node-01"}})
	remote := newSite(t, webserver.DefaultLimits(), webserver.Options{Addresses: true})
	for _, c := range []struct {
		s            *site
		host, origin string
		want         int
	}{
		{local, "", "", 200},
		{local, "localhost:1234", "", 200},
		{local, "LOCALHOST", "", 200},
		{local, "[::1]:99", "", 200},
		{local, "gpu-node-01:8443", "", 200},
		{local, "evil.example", "", 403},
		{local, "localhost.evil.example", "", 403},
		{local, "127.0.0.1.evil.example:8443", "", 403},
		{local, "192.0.2.1", "", 403},
		{remote, "192.0.2.1:8443", "", 200},
		{remote, "[2001:db8::1]", "", 200},
		{remote, "evil.example", "", 403},
		{local, "", "https://localhost:5173", 200},
		{local, "", "http://127.0.0.1", 200},
		{local, "", "https://gpu-node-01", 200},
		{local, "", "https://evil.example", 403},
		{local, "", "https://localhost.evil.example", 403},
		{local, "", "https://evil.example#localhost", 403},
		{local, "", "https://localhost@evil.example", 403},
		{local, "", "null", 403},
		{local, "", "file://", 403},
		{local, "", "javascript:localhost", 403},
	} {
		code, body := c.s.do(c.s.request("POST", hello, func(r *http.Request) {
			if c.host != "" {
				r.Host = c.host
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		}))
		if code != c.want {
			t.Errorf("host %q, origin %q: status %d, want %d: %s", c.host, c.origin, code, c.want, body)
		}
	}
}

func TestBadRequestsAreAnswered(t *testing.T) {
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{})
	huge := func(r *http.Request) {
		r.Body = io.NopCloser(&endless{900_000_000, strings.NewReader("")})
		r.ContentLength = -1
	}
	for _, c := range []struct {
		name, method, body string
		change             func(*http.Request)
		want               int
		text               string
	}{
		{"no JSON", "POST", "{", nil, 400, "-32700"},
		{"no UTF-8", "POST", "\"\xff\"", nil, 400, "-32700"},
		{"empty", "POST", "", nil, 400, "-32700"},
		{"no request", "POST", "{}", nil, 400, ""},
		{"900 MB", "POST", "", huge, 413, "longer than"},
		{"no session", "GET", "", nil, 400, ""},
		{"unknown session", "GET", "", func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "x") }, 404, ""},
		{"unknown session", "DELETE", "", func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "\u00e9") }, 404, ""},
		{"other type", "POST", hello, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, ""},
		{"other method", "PUT", hello, nil, 405, ""},
		{"other path", "POST", hello, func(r *http.Request) { r.URL.Path = "/etc/passwd" }, 404, ""},
		{"long header", "POST", hello, func(r *http.Request) { r.Header.Set("X", strings.Repeat("x", 1<<20)) }, 431, ""},
		{"unknown version", "POST", hello, func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "zzzz") }, 400, ""},
	} {
		resp, err := s.client.Do(s.request(c.method, c.body, c.change))
		if err != nil {
			if c.want == 431 || c.want == 413 { // the server may hang up before it has received everything
				continue
			}
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.want || !strings.Contains(string(b), c.text) {
			t.Errorf("%s: status %d, want %d: %s", c.name, resp.StatusCode, c.want, b)
		}
	}
	if code, body := s.do(s.request("POST", hello, nil)); code != 200 {
		t.Errorf("after all that: %d %s", code, body)
	}
}

// TestSlowAndSilentPeersBlockNoOthers opens more connections than are served. They send
// nothing, half a handshake, half a header or half a body. Then a client makes a request.
func TestSlowAndSilentPeersBlockNoOthers(t *testing.T) {
	const connections = 600
	var conns []net.Conn
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{})
	begin := []func(c net.Conn){
		func(net.Conn) {},
		func(c net.Conn) { _, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01") },
		func(c net.Conn) { s.half(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") },
		func(c net.Conn) {
			s.half(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{")
		},
	}
	for i := range connections {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
		if i%len(begin) > 1 && i > 100 { // handshakes are dear
			continue
		}
		begin[i%len(begin)](c)
	}
	session, err := s.session("")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: in{"hi"}}); err != nil ||
		r.IsError {
		t.Fatal(r, err)
	}
	// Who came first had to go; a peer that only waits for a header is given 5 s.
	if err := conns[0].SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conns[0].Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the first connection is still open")
	}
}

// half does a handshake and writes the beginning of a request.
func (s *site) half(c net.Conn, text string) {
	tc := tls.Client(c, &tls.Config{RootCAs: s.pool, ServerName: "localhost"})
	if err := tc.HandshakeContext(s.t.Context()); err == nil { // else it had to make room already
		_, _ = io.WriteString(tc, text)
	}
}

// begin begins a session, and returns its number.
func (s *site) begin() string {
	s.t.Helper()
	resp, err := s.client.Do(s.request("POST", hello, nil))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("Mcp-Session-Id") == "" {
		s.t.Fatalf("a session cannot begin: %s", resp.Status)
	}
	return resp.Header.Get("Mcp-Session-Id")
}

// inSession is what makes a request one of a session.
func inSession(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Mcp-Session-Id", id) }
}

// TestTheIdlestSessionMakesRoom begins sessions that are never ended. Others still begin; those that are in use stay.
func TestTheIdlestSessionMakesRoom(t *testing.T) {
	const most = 128
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{})
	calling, first, used := s.begin(), s.begin(), s.begin()
	if code, body := s.do(s.request("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		inSession(calling))); code/100 != 2 {
		t.Fatal(code, body)
	}
	called := make(chan int, 1)
	go func() {
		code, _ := s.do(s.request("POST", call("1", "slow"), inSession(calling)))
		called <- code
	}()
	<-s.began
	for range 3 * most {
		s.begin()
		if code, body := s.do(s.request("POST", call("1", "echo"), inSession(used))); code != 200 {
			t.Fatalf("a session that is in use has made room: %d %s", code, body)
		}
	}
	n := 0
	for range s.Server.Sessions() {
		n++
	}
	if n > most {
		t.Errorf("%d sessions; %d at most", n, most)
	}
	if code, body := s.do(s.request("POST", call("1", "echo"), inSession(first))); code != 404 {
		t.Errorf("the idlest session is still there: %d %s", code, body)
	}
	s.release()
	if code := <-called; code != 200 {
		t.Errorf("a session with a call in flight has made room: %d", code)
	}
}

// TestNoSessionWithACallMakesRoom has a call running in each session that may be.
func TestNoSessionWithACallMakesRoom(t *testing.T) {
	const most = 128
	s := newSite(t, webserver.Limits{Calls: 1000, PerTool: 1000, Waiting: 1000}, webserver.Options{})
	var calls sync.WaitGroup
	for range most {
		id := s.begin()
		calls.Go(func() {
			if code, body := s.do(s.request("POST", call("1", "slow"), inSession(id))); code != 200 {
				t.Errorf("%d %s", code, body)
			}
		})
		<-s.began
	}
	resp, err := s.client.Do(s.request("POST", hello, nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", resp.Status)
	}
	s.release()
	calls.Wait()
	s.begin()
}

// TestRequestsAreBounded has as many calls running as there are places.
func TestRequestsAreBounded(t *testing.T) {
	const places = 128
	s := newSite(t, webserver.Limits{Calls: 1000, PerTool: 1000, Waiting: 1000}, webserver.Options{})
	resp, err := s.client.Do(s.request("POST", hello, nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	in := inSession(resp.Header.Get("Mcp-Session-Id"))
	if code, body := s.do(s.request("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		in)); code/100 != 2 {
		t.Fatal(code, body)
	}
	var calls sync.WaitGroup
	for i := range places {
		calls.Go(func() {
			if code, body := s.do(s.request("POST", call(fmt.Sprint(i), "slow"), in)); code != 200 {
				t.Errorf("call %d: %d %s", i, code, body)
			}
		})
	}
	for range places {
		<-s.began
	}
	if code, body := s.do(s.request("POST", call("1000", "echo"), in)); code != 503 {
		t.Errorf("one more: %d %s", code, body)
	}
	s.release()
	calls.Wait()
	if code, body := s.do(s.request("POST", call("1001", "echo"), in)); code != 200 {
		t.Errorf("afterwards: %d %s", code, body)
	}
}

// TestShutdownLetsCallsFinish stops the server while a call is running and a client listens
// for events.
func TestShutdownLetsCallsFinish(t *testing.T) {
	s := newSite(t, webserver.DefaultLimits(), webserver.Options{})
	session, err := s.session("")
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow", Arguments: in{}})
		if err == nil && r.IsError {
			err = errors.New("the call failed")
		}
		answered <- err
	}()
	<-s.began
	s.stop()
	for { // until it takes no more
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			break
		}
		c.Close()
	}
	s.release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
