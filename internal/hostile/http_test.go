package hostile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAttacksReachAServerWithTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Proto + " " + r.URL.Path)) // a client that hangs up needs no answer
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	trusting := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}
	at := map[string]string{"": tlsAddress + s.Listener.Addr().String()}
	const (
		preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		h2      = "GET /\nRaw: yes\nProtocol: h2\n\n" + preface
	)
	for name, c := range map[string]struct {
		input   string
		refused bool
		said    string
	}{
		"a request":             {"GET /a", false, "HTTP/1.1 /a"},
		"bytes":                 {"GET /\nRaw: yes\n\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n", false, "HTTP/1.1 /b"},
		"without TLS":           {"GET /\nPlain: yes", true, "to an HTTPS server"},
		"bytes without TLS":     {"GET /\nRaw: yes\nPlain: yes\n\nx\r\n\r\n", true, ""},
		"a stream of HTTP/2":    {h2 + streams(1, "\x82\x87\x84\x41\x01h", false), false, "HTTP/2.0 /"},
		"no stream of HTTP/2":   {h2, true, ""},
		"no preface of HTTP/2":  {"GET /\nRaw: yes\nProtocol: h2\n\nx", true, ""},
		"many clients":          {"GET /c\nClients: 20", false, "HTTP/1.1 /c"},
		"many that say nothing": {"GET /\nRaw: yes\nClients: 20\n\n", true, ""},
	} {
		o, err := tryRequest(t.Context(), Attack{Input: []byte(c.input)}, at, trusting)
		if err != nil || o.Refused != c.refused || !strings.Contains(o.Said, c.said) {
			t.Errorf("%s: %+v %v", name, o, err)
		}
	}
	// An attack that was not sent is not taken for one that was refused.
	for _, input := range []string{"GET /", "GET /\nClients: 3"} {
		other := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}
		if _, err := tryRequest(t.Context(), Attack{Input: []byte(input)}, at, other); !errors.Is(err, errTurnedAway) {
			t.Error(input, err)
		}
	}
	if _, err := tryRequest(t.Context(), Attack{Input: []byte("GET /\nProtocol: h3")}, at, trusting); err == nil {
		t.Error("a protocol that the server does not speak")
	}
}

func TestErrorsOfMCPAreRefusals(t *testing.T) {
	for body, refused := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                              false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}`:                                        true,
		"Content-Type: text/event-stream\r\n\r\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"error\":{}}\n": true,
		`data: {"jsonrpc":"2.0","result":{"content":[],"isError":true}}`:                                    true,
		`{"error":"this is not MCP"}`:                                                                       false,
	} {
		a := answer{status: http.StatusOK, body: []byte(body)}
		if a.refused() != refused {
			t.Errorf("%q: %t", body, !refused)
		}
	}
}
