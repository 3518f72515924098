package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

const (
	// Path is where MCP is served.
	Path = "/mcp"

	// Limits for all peers together.
	maxCalls     = 128 // requests being handled
	maxListeners = 128 // event streams, which do not end by themselves
	maxSessions  = 128

	sessionIdle = 30 * time.Minute // a session without requests is dropped

	// firstStateless is the first version of the protocol without sessions.
	firstStateless = "2026-07-28"
)

// Handler serves MCP over HTTP, at Path and at the root, to allowed callers.
func Handler(server *mcp.Server, o webserver.Options) http.Handler {
	return webserver.Check(newHandler(server, o.Logger), o)
}

// handler is what a request passes through before the SDK sees it.
type handler struct {
	use                 *sessions
	calls, listeners    chan struct{} // one entry for each
	sessions, stateless http.Handler
}

func newHandler(server *mcp.Server, log *slog.Logger) *handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	get := func(*http.Request) *mcp.Server { return server }
	options := mcp.StreamableHTTPOptions{
		Logger: log, SessionTimeout: sessionIdle, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // package webserver checks more
	}
	h := &handler{
		use: newSessions(server), calls: make(chan struct{}, maxCalls), listeners: make(chan struct{}, maxListeners),
		sessions: mcp.NewStreamableHTTPHandler(get, &options),
	}
	options.Stateless = true
	h.stateless = mcp.NewStreamableHTTPHandler(get, &options)
	return h
}

// drain waits until no call is running, and admits no new one.
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
	if r.URL.Path != Path && r.URL.Path != "/" {
		http.Error(w, "MCP is served at "+Path, http.StatusNotFound)
		return
	}
	places, ok := h.readBody(w, r)
	if !ok {
		return
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		webserver.Busy(w, "too many requests at a time")
		return
	}
	defer webserver.Begin(w, r)()
	r = r.WithContext(context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr))
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		h.stateless.ServeHTTP(w, r)
		return
	}
	h.use.serve(w, r, h.sessions)
}

// readBody reads the whole body into memory. It returns the channel for the request's place, and
// whether there is something to handle.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request) (places chan struct{}, ok bool) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet:
		return h.listeners, true
	default:
		return h.calls, true
	}
	body, err := webserver.Body(w, r, MaxMessage)
	switch {
	case errors.Is(err, webserver.ErrTooLarge):
		answer(w, http.StatusRequestEntityTooLarge, tooLong())
		return nil, false
	case err != nil:
		http.Error(w, err.Error(), http.StatusRequestTimeout)
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
	_, _ = w.Write(no.encode()) // if it fails, the peer has gone
}
