package webserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ingero-io/ingero/lib/crosssite"
)

// Options say who may send requests.
type Options struct {
	// Token is what a caller must send, as "Authorization: Bearer TOKEN". Empty: no token is
	// needed.
	Token string
	// Public, if set, reports requests that need no token: those for static files without data.
	Public func(r *http.Request) bool
	// ClientCAs sign the certificates that callers must present, in addition to the token if
	// there is one. Nil: none is needed. It needs TLS.
	ClientCAs *x509.CertPool
	// Names are the host names of the server, in addition to localhost. A request for another
	// name is refused: a web page could have made its own name resolve to this machine (DNS
	// rebinding).
	Names []string
	// Addresses allows requests to any IP address. This is needed for a server that is not
	// bound to the loopback address.
	Addresses bool
	// Draining, if set, is called when the server ends and accepts no more connections. It
	// returns when running requests have ended, or ctx has.
	Draining Drain
	// Refuse, if set, answers requests that are not allowed; nil: in plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, why string)
	// Requests, if set, reports pending requests.
	Requests *Requests
	Logger   *slog.Logger // nil: silent
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Refuse == nil {
		o.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, why string) { http.Error(w, why, status) }
	}
	return o
}

// checker refuses requests that are not allowed, and passes on the others.
type checker struct {
	next  http.Handler
	opts  Options
	token [sha256.Size]byte
}

// Check is a handler that passes on allowed requests. It disconnects a peer that sends, or reads,
// too slowly.
func Check(next http.Handler, o Options) http.Handler {
	return &checker{next: next, opts: o.withDefaults(), token: sha256.Sum256([]byte(o.Token))}
}

func (c *checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // not supported in tests
	crosssite.Protect(w.Header())
	if code, why := c.refuse(r); code != 0 {
		if r.ProtoMajor == 1 { // the body is not read; in HTTP/2 this would also end the connection's other requests
			w.Header().Set("Connection", "close")
		}
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		c.opts.Logger.Debug("request refused", "remote", r.RemoteAddr, "why", why)
		c.opts.Refuse(w, r, code, why)
		return
	}
	c.next.ServeHTTP(&deadlineWriter{w, rc}, r)
}

// refuse returns why a request is refused without reading it, and the status of the answer.
func (c *checker) refuse(r *http.Request) (int, string) {
	if !c.opts.named(r.Host) {
		return http.StatusForbidden,
			fmt.Sprintf("host name %q is not accepted; to accept it, start the server with --host", crosssite.Hostname(r.Host))
	}
	o := r.Header.Values("Origin")
	if crosssite.Foreign(r) || len(o) > 0 && (len(o) > 1 || !c.opts.ownOrigin(o[0])) {
		return http.StatusForbidden, crosssite.Page
	}
	if c.opts.Token == "" || c.opts.Public != nil && c.opts.Public(r) {
		return 0, ""
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	// Equal lengths, so that the time does not depend on the token.
	right := subtle.ConstantTimeCompare(got[:], c.token[:]) == 1
	if !strings.EqualFold(kind, "Bearer") || !right {
		return http.StatusUnauthorized, "missing or wrong bearer token"
	}
	return 0, ""
}
