// Package nodeapi answers for one recording over HTTP: what other nodes, a browser and
// scripts ask. Each thing that can be asked is a row of the list in routes.go; what is
// said of it there becomes the OpenAPI document that is served with it. Who may ask is the
// business of package webserver.
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

// Prefix is what the addresses of this version of the API begin with.
const Prefix = "/api/v1/"

// Options configure an API. The zero value is usable.
type Options struct {
	Version string           // of Ingero
	Node    string           // what this machine is called if the recording does not say
	Logger  *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: time.Now
	Limits  webserver.Limits // zero: webserver.DefaultLimits
}

// API answers for a recording. It is an http.Handler.
type API struct {
	src    recording.Source
	opts   Options
	gate   *webserver.Gate
	lanes  lanes.Cache
	routes map[string]*route // by path
}

// New makes the API of a recording. It answers, and says what is wrong, also when the
// recording cannot be read.
func New(src recording.Source, o Options) *API {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits == (webserver.Limits{}) {
		o.Limits = webserver.DefaultLimits()
	}
	a := &API{src: src, opts: o, gate: webserver.NewGate(o.Limits), routes: map[string]*route{}}
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
			errors.New("there is nothing at this address; "+Prefix+"openapi.json lists what there is"))
		return
	case r.Method != rt.method && (r.Method != http.MethodHead || rt.method != http.MethodGet):
		w.Header().Set("Allow", rt.method)
		fail(w, http.StatusMethodNotAllowed, fmt.Errorf("%s is asked with %s", rt.path, rt.method))
		return
	}
	in, code, err := rt.read(w, r)
	if err != nil {
		fail(w, code, err)
		return
	}
	in.received = received
	defer webserver.Begin(w, r)()
	if !rt.free {
		leave, err := a.gate.Enter(r.Context(), rt.path)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		defer leave()
	}
	out, err := a.run(r.Context(), rt, in)
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	answer(w, out)
}

// run has a panic fail one request: the process may be a tracer.
func (a *API) run(ctx context.Context, rt *route, in *input) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.opts.Logger.Error("a request failed inside; please report it", "path", rt.path, "err", fmt.Sprint(p), "stack",
				string(debug.Stack()))
			err = errInternal
		}
	}()
	return rt.run(ctx, a, in)
}

// The errors that have a status of their own.
var (
	errInternal = errors.New("this recording makes Ingero fail, which is a mistake in it; please report it")
	errAsked    = errors.New("") // what was asked is wrong
)

// statusOf tells whose fault an error is.
func statusOf(err error) int {
	for _, e := range []error{errAsked, store.ErrRefused, store.ErrSyntax, store.ErrTooLarge} {
		if errors.Is(err, e) {
			return http.StatusBadRequest
		}
	}
	for _, e := range []error{store.ErrNotFound, store.ErrForeign, store.ErrCorrupt, store.ErrNewer, store.ErrPermission} {
		if errors.Is(err, e) {
			return http.StatusServiceUnavailable // another may be there the next time
		}
	}
	if errors.Is(err, store.ErrTooLong) {
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// asked is an error in what was asked.
type asked struct{ error }

func (asked) Is(target error) bool { return target == errAsked }

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// nobody is left to be told
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

// plain is an answer that is no JSON, or JSON already.
type plain struct {
	kind string
	body []byte
}
