package mcpserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// site is a server over TLS at an address of this machine.
type site struct {
	*bench
	t      *testing.T
	addr   string
	pool   *x509.CertPool
	client *http.Client
	stop   context.CancelFunc
	ended  chan error
}

func newSite(t *testing.T, l webserver.Limits, o webserver.Options) *site {
	t.Helper()
	cert, err := webserver.OwnCert(t.TempDir(), "mcp", []string{"localhost", "127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{bench: newBench(t, l), t: t, addr: ln.Addr().String(), pool: x509.NewCertPool(), ended: make(chan error, 1)}
	s.pool.AddCert(cert.TLS.Leaf)
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() { s.ended <- mcpserver.Serve(ctx, ln, s.Server, &cert.TLS, o) }()
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: s.pool},
		ForceAttemptHTTP2: true,
	}}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.release()
		stop()
		if err := <-s.ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	return s
}

// request makes a request as a client would, except for what change changes.
func (s *site) request(method, body string, change func(*http.Request)) *http.Request {
	r, err := http.NewRequestWithContext(s.t.Context(), method, "https://"+s.addr+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(r)
	}
	return r
}

// do returns the status and the body.
func (s *site) do(r *http.Request) (int, string) {
	s.t.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// session is a client of the SDK's.
func (s *site) session(token string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "9"}, nil)
	return c.Connect(s.t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   "https://" + s.addr + mcpserver.Path,
		HTTPClient: &http.Client{Transport: bearer{token, s.client.Transport}},
	}, nil)
}

type bearer struct {
	token string
	http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}
