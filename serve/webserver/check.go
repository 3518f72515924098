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
)

// Options are who may ask.
type Options struct {
	// Token is what a caller has to show, as "Authorization: Bearer TOKEN". Empty: any
	// caller is answered.
	Token string
	// Public, if set, tells requests that need no token: those for what holds no data,
	// like the page that asks for it.
	Public func(r *http.Request) bool
	// ClientCAs sign the certificates that callers have to show, beside the token if
	// there is one. Nil: none is asked for. It needs TLS.
	ClientCAs *x509.CertPool
	// Names are the host names by which the server may be addressed, beside
	// localhost. A request for another name is refused: a web page could have had its
	// own name resolved to this machine.
	Names []string
	// Addresses says that the server may also be addressed by any IP address, as one
	// that is not bound to the loopback address has to be.
	Addresses bool
	// Draining, if set, is called when the server is to end and takes no more
	// connections; it returns when what is running has ended, or ctx has.
	Draining Drain
	// Requests, if set, reports pending requests.
	Requests *Requests
	Logger   *slog.Logger // nil: silent
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// checker answers those that may not ask, and passes the others on.
type checker struct {
	next  http.Handler
	opts  Options
	token [sha256.Size]byte
}

// Check is a handler that passes on those requests that may be asked. A peer that sends too
// slowly, or does not take what is written, is cut off.
func Check(next http.Handler, o Options) http.Handler {
	return &checker{next: next, opts: o.withDefaults(), token: sha256.Sum256([]byte(o.Token))}
}

func (c *checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // no deadline, no harm: in tests
	if code, why := c.refuse(r); code != 0 {
		if r.ProtoMajor == 1 { // its body is not read; in HTTP/2 others share the connection, and would be cut off
			w.Header().Set("Connection", "close")
		}
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		c.opts.Logger.Debug("request refused", "remote", r.RemoteAddr, "why", why)
		http.Error(w, why, code)
		return
	}
	c.next.ServeHTTP(&deadlineWriter{w, rc}, r)
}

// refuse returns why a request is not even read, and the status of the answer.
func (c *checker) refuse(r *http.Request) (int, string) {
	if !c.opts.named(r.Host) {
		return http.StatusForbidden,
			fmt.Sprintf("this server is not known as %q; if it should be, start it with --host", hostname(r.Host))
	}
	if o := r.Header.Values("Origin"); len(o) > 0 && (len(o) > 1 || !c.opts.ownOrigin(o[0])) {
		return http.StatusForbidden, "requests of other web pages are not answered"
	}
	if c.opts.Token == "" || c.opts.Public != nil && c.opts.Public(r) {
		return 0, ""
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	// Equal lengths, so that the time says nothing of the token.
	right := subtle.ConstantTimeCompare(got[:], c.token[:]) == 1
	if !strings.EqualFold(kind, "Bearer") || !right {
		return http.StatusUnauthorized, "a bearer token is needed, or the one given is wrong"
	}
	return 0, ""
}
