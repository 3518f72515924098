package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// Path is where MCP is served.
	Path = "/mcp"

	// The bounds of what all peers together may hold open.
	maxCalls     = 128 // requests being handled
	maxListeners = 128 // streams of events, which have no end
	maxSessions  = 128

	sessionIdle = 30 * time.Minute // a session nobody uses is forgotten
	bodyTime    = 10 * time.Second // for a whole request to arrive
	writeTime   = 20 * time.Second // for a peer to take what is written to it

	// firstStateless is the first version of the protocol without sessions.
	firstStateless = "2026-07-28"
)

// Options are who may ask.
type Options struct {
	// Token is what a caller has to show, as "Authorization: Bearer TOKEN". Empty: any
	// caller is answered.
	Token string
	// Names are the host names by which the server may be addressed, beside
	// localhost. A request for another name is refused: a web page could have had its
	// own name resolved to this machine.
	Names []string
	// Addresses says that the server may also be addressed by any IP address, as one
	// that is not bound to the loopback address has to be.
	Addresses bool
	Logger    *slog.Logger // nil: silent
}

// Handler serves MCP over HTTP, at Path and at the root.
func Handler(server *mcp.Server, o Options) http.Handler { return newHandler(server, o) }

// handler is what a request passes through before the SDK sees it.
type handler struct {
	server              *mcp.Server
	opts                Options
	token               [sha256.Size]byte
	calls, listeners    chan struct{} // a place for each
	sessions, stateless http.Handler
}

func newHandler(server *mcp.Server, o Options) *handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	get := func(*http.Request) *mcp.Server { return server }
	options := mcp.StreamableHTTPOptions{
		Logger: o.Logger, SessionTimeout: sessionIdle, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // refuse checks more
	}
	h := &handler{
		server: server, opts: o, token: sha256.Sum256([]byte(o.Token)),
		calls: make(chan struct{}, maxCalls), listeners: make(chan struct{}, maxListeners),
		sessions: mcp.NewStreamableHTTPHandler(get, &options),
	}
	options.Stateless = true
	h.stateless = mcp.NewStreamableHTTPHandler(get, &options)
	return h
}

// drain waits until no call is being handled, and lets none begin.
func (h *handler) drain(ctx context.Context) {
	for range cap(h.calls) {
		select {
		case h.calls <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // no deadline, no harm: in tests
	if r.URL.Path != Path && r.URL.Path != "/" {
		http.Error(w, "MCP is served at "+Path, http.StatusNotFound)
		return
	}
	if code, why := h.refuse(r); code != 0 {
		w.Header().Set("Connection", "close")
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		h.opts.Logger.Debug("request refused", "remote", r.RemoteAddr, "why", why)
		http.Error(w, why, code)
		return
	}
	places, ok := h.readBody(w, r)
	if !ok {
		return
	}
	_ = rc.SetReadDeadline(time.Time{})
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		busy(w, "too many requests at a time")
		return
	}
	defer working(r.Context())()
	r = r.WithContext(context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr))
	next := h.sessions
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		next = h.stateless
	} else if r.Header.Get("Mcp-Session-Id") == "" && r.Method == http.MethodPost && h.full() {
		busy(w, "too many sessions; end those that are not needed")
		return
	}
	next.ServeHTTP(&patientWriter{w, rc}, r)
}

func busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// full reports whether no further session may begin.
func (h *handler) full() bool {
	n := 0
	for range h.server.Sessions() {
		n++
	}
	return n >= maxSessions
}

// refuse returns why a request is not even read, and the status of the answer.
func (h *handler) refuse(r *http.Request) (int, string) {
	if !h.named(r.Host) {
		return http.StatusForbidden, fmt.Sprintf("this server is not known as %q; if it should be, start it with --host", hostname(r.Host))
	}
	if o := r.Header.Values("Origin"); len(o) > 0 && (len(o) > 1 || !h.ownOrigin(o[0])) {
		return http.StatusForbidden, "requests of other web pages are not answered"
	}
	if h.opts.Token == "" {
		return 0, ""
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	// Equal lengths, so that the time says nothing of the token.
	right := subtle.ConstantTimeCompare(got[:], h.token[:]) == 1
	if !strings.EqualFold(kind, "Bearer") || !right {
		return http.StatusUnauthorized, "a bearer token is needed, or the one given is wrong"
	}
	return 0, ""
}

// readBody takes the whole body into memory, so that a peer that sends slowly holds
// nothing but its connection. It returns among whom the request finds its place, and
// whether there is something to handle.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request) (places chan struct{}, ok bool) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet:
		return h.listeners, true
	default:
		return h.calls, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		answer(w, http.StatusRequestEntityTooLarge, tooLong())
		return nil, false
	case err != nil:
		http.Error(w, "the request did not arrive in full", http.StatusRequestTimeout)
		return nil, false
	}
	if no := unreadable(body); no != nil {
		answer(w, http.StatusBadRequest, no)
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct{ Method string }
	if json.Unmarshal(body, &m) == nil && m.Method == "subscriptions/listen" {
		return h.listeners, true
	}
	return h.calls, true
}

func answer(w http.ResponseWriter, code int, no *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(no.encode()) // nobody is left to be told
}

// patientWriter gives a peer some time to take what is written to it, and no more: one
// that does not read holds what waits to be written.
type patientWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Unwrap is for http.ResponseController.
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p *patientWriter) Write(b []byte) (int, error) {
	defer p.limit()()
	return p.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (p *patientWriter) FlushError() error {
	defer p.limit()()
	return p.rc.Flush()
}

// limit sets the deadline until its result is called: between two events a stream may
// be silent for long.
func (p *patientWriter) limit() func() {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // no deadline, no harm: in tests
	return func() { _ = p.rc.SetWriteDeadline(time.Time{}) }
}
