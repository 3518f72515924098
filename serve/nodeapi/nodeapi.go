// Package nodeapi answers questions about one recording over HTTP, from other nodes, browsers and
// scripts. Each request is a row of the list in routes.go; the OpenAPI document is generated from
// it and served too. Access is checked by package webserver.
package nodeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/lanes"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/webserver"
	"github.com/ingero-io/ingero/store"
)

// Prefix is the path prefix of this version of the API.
const Prefix = "/api/v1/"

// Options configure an API. The zero value is usable.
type Options struct {
	Version string           // of Ingero
	Node    string           // name of this machine, used if the recording has none
	Logger  *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: time.Now
	Gate    *webserver.Gate  // nil: one of webserver.DefaultLimits
	SQLTime time.Duration    // of a statement; 0: that of recording.UntrustedLimits

	Baselines []recording.Source // others, to compare with
}

// API answers for a recording. It is an http.Handler.
type API struct {
	src    recording.Source
	opts   Options
	lanes  lanes.Cache
	routes map[string]*route // by path
}

// New makes the API of a recording. If the recording cannot be read, it answers with the reason.
func New(src recording.Source, o Options) *API {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Gate == nil {
		o.Gate = webserver.NewGate(webserver.DefaultLimits())
	}
	if o.SQLTime == 0 {
		o.SQLTime = recording.UntrustedLimits().Time
	}
	a := &API{src: src, opts: o, routes: map[string]*route{}}
	for _, rt := range routes() {
		a.routes[rt.path] = &rt
	}
	return a
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := a.opts.Now()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	rt := a.routes[r.URL.Path]
	switch {
	case rt == nil:
		fail(w, http.StatusNotFound,
			errors.New("no such path; "+Prefix+"openapi.json lists all paths"))
		return
	case r.Method != rt.method && (r.Method != http.MethodHead || rt.method != http.MethodGet):
		w.Header().Set("Allow", rt.method)
		fail(w, http.StatusMethodNotAllowed, fmt.Errorf("%s needs the method %s", rt.path, rt.method))
		return
	}
	in, code, err := rt.readInput(w, r)
	if err != nil {
		fail(w, code, err)
		return
	}
	in.received = received
	defer webserver.Begin(w, r)()
	if !rt.free {
		leave, err := a.opts.Gate.Enter(r.Context(), rt.path)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		defer leave()
	}
	out, err := a.runRoute(r.Context(), rt, in)
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	answer(w, out)
}

// runRoute turns a panic into an error of one request: the process may also be tracing.
func (a *API) runRoute(ctx context.Context, rt *route, in *input) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.opts.Logger.Error("a request failed inside; please report it", "path", rt.path, "err", fmt.Sprint(p), "stack",
				string(debug.Stack()))
			err = errInternal
		}
	}()
	return rt.run(ctx, a, in)
}

// The errors with a status of their own.
var (
	errInternal = errors.New("this recording makes Ingero fail; this is a bug, please report it")
	errAsked    = errors.New("") // the request is wrong
)

// statusOf returns the status for an error.
func statusOf(err error) int {
	for _, e := range []error{errAsked, store.ErrRefused, store.ErrSyntax, store.ErrTooLarge, store.ErrTooMuch} {
		if errors.Is(err, e) {
			return http.StatusBadRequest
		}
	}
	for _, e := range []error{store.ErrNotFound, store.ErrForeign, store.ErrCorrupt, store.ErrNewer, store.ErrPermission} {
		if errors.Is(err, e) {
			return http.StatusServiceUnavailable // it may exist at the next request
		}
	}
	if errors.Is(err, store.ErrTooLong) {
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// asked is an error in the request.
type asked struct{ error }

func (asked) Is(target error) bool { return target == errAsked }

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// if it fails, the client has gone
	_ = json.NewEncoder(w).Encode(wire.Failure{Error: strings.ToValidUTF8(err.Error(), "\uFFFD")})
}

func answer(w http.ResponseWriter, out any) {
	if text, ok := out.(plain); ok {
		w.Header().Set("Content-Type", text.kind)
		_, _ = w.Write(text.body) // as above
		return
	}
	b, err := json.Marshal(out)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // as above
}

// plain is an answer that is not JSON, or is JSON text already.
type plain struct {
	kind string
	body []byte
}
