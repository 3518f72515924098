// Package api answers questions over HTTP: in SQL, through tools, and over MCP, which it mounts. It has no listener
// and no command line.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/mcptool"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/serve/webserver"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 10

// maxWaiting is how many questions may wait for running ones to end.
const maxWaiting = 64

// DefaultLimits returns the limits of a question in SQL.
func DefaultLimits() store.Limits {
	return store.Limits{Time: 10 * time.Second, Rows: 10_000, Bytes: 8 << 20}
}

// AtOnce returns how many questions run at a time: one per CPU, at least two.
func AtOnce() webserver.Limits {
	n := max(2, runtime.GOMAXPROCS(0))
	return webserver.Limits{Calls: n, PerTool: n, Waiting: maxWaiting}
}

// Options of the API.
type Options struct {
	Store  store.Reader
	Tools  *mcptool.Tools
	Tokens *access.Tokens
	Limits store.Limits
	// MCP serves /mcp to callers who may read; nil: it is not served.
	MCP http.Handler
	// Gate bounds how many questions run at a time; nil: AtOnce.
	Gate    *webserver.Gate
	Version string
	Logger  *slog.Logger // nil: silent
}

type server struct{ Options }

// prefixes are the paths that the API is served below. Both are published; they do not differ.
var prefixes = []string{"/api/v1/", "/api/v2/"}

// Handler serves the routes of routes.go, and /mcp.
func Handler(o Options) http.Handler {
	if o.Gate == nil {
		o.Gate = webserver.NewGate(AtOnce())
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{o}
	mux := http.NewServeMux()
	for _, r := range routes() {
		for _, p := range prefixes {
			mux.HandleFunc(r.method+" "+p+r.path, func(w http.ResponseWriter, req *http.Request) { r.serve(s, w, req) })
		}
	}
	if o.MCP != nil {
		mux.Handle("/mcp", o.MCP)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is nothing here; see GET /api/v1/openapi.json")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestID, idOf(r))
		scope := s.Tokens.Of(r.Header.Get("Authorization"))
		switch {
		case scope == 0:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "unauthorized", "missing or wrong bearer token")
		case scope&access.Read == 0 && !anyToken(r.URL.Path):
			refuse(w, http.StatusForbidden, "forbidden", "this token may not read")
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// Refuse answers a request that the web server does not let through, as the API's own errors are answered: see
// webserver.Options.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	w.Header().Set(requestID, idOf(r))
	code := "forbidden"
	if status == http.StatusUnauthorized {
		code = "unauthorized"
	}
	refuse(w, status, code, why)
}

// anyToken reports whether a token without the right to read may ask too.
func anyToken(path string) bool {
	for _, p := range prefixes {
		if path == p+"whoami" {
			return true
		}
	}
	return false
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *server) whoami(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string][]string{"scopes": s.Tokens.Of(r.Header.Get("Authorization")).Strings()})
}

func (s *server) list(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"tools": s.Tools.List()})
}

func (s *server) document(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, Document(s.Tools.List(), s.Version))
}

// table is the answer to a question in SQL.
type table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Cut names the limit that cut rows off.
	Cut string `json:"cut,omitempty"`
}

func (s *server) sql(w http.ResponseWriter, r *http.Request) {
	var question struct {
		SQL string `json:"sql"`
	}
	if err := readRequest(w, r, &question); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if question.SQL == "" {
		refuse(w, http.StatusBadRequest, "bad_request",
			`the body must be an object of JSON with a statement: {"sql": "select …"}`)
		return
	}
	s.runQuestion(w, r, "sql", func(ctx context.Context) (any, error) {
		// Checked here and again in the store, so that no other path to the store skips it.
		if err := s.Store.Check(ctx, question.SQL); err != nil {
			return nil, err
		}
		result, err := s.Store.Query(ctx, question.SQL, s.Limits)
		if err != nil {
			return nil, err
		}
		result.Plain()
		return table{result.Columns, result.Rows, result.Cut}, nil
	})
}

func (s *server) tool(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Args json.RawMessage `json:"args"`
	}
	if err := readRequest(w, r, &call); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	name := r.PathValue("name")
	s.runQuestion(w, r, "tool "+name, func(ctx context.Context) (any, error) {
		out, err := s.Tools.Call(ctx, name, call.Args)
		return map[string]any{"result": out}, err
	})
}

// readRequest parses a JSON body; an empty one counts as an empty object.
func readRequest(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := webserver.Body(w, r, maxBody)
	switch {
	case err != nil:
		return err
	case len(body) == 0:
		return nil
	case json.Unmarshal(body, into) != nil:
		return errors.New("the body must be an object of JSON")
	}
	return nil
}

// runQuestion answers a question when there is room for it.
func (s *server) runQuestion(
	w http.ResponseWriter, r *http.Request, key string, do func(context.Context) (any, error),
) {
	defer webserver.Begin(w, r)()
	leave, err := s.Gate.Enter(r.Context(), key)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "busy", err.Error())
		return
	}
	defer leave()
	out, err := do(r.Context())
	if err != nil {
		s.failed(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

// failed answers with the reason that there is no answer.
func (s *server) failed(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, mcptool.ErrUnknown):
		refuse(w, http.StatusNotFound, "not_found", err.Error()+"; see GET /api/v1/tools/list")
	case errors.As(err, new(*mcptool.ArgumentError)):
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
	case errors.As(err, new(*store.RefusedError)):
		refuse(w, http.StatusForbidden, "refused", err.Error())
	case errors.As(err, new(*store.LimitError)):
		refuse(w, http.StatusUnprocessableEntity, "limit", err.Error())
	case errors.As(err, new(*store.StatementError)):
		refuse(w, http.StatusBadRequest, "statement", err.Error())
	case errors.Is(err, context.Canceled):
		refuse(w, http.StatusServiceUnavailable, "canceled", "the question was given up")
	case errors.Is(err, store.ErrAway):
		s.Logger.Warn("a question failed", "err", err, "request", w.Header().Get(requestID))
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "away", store.ErrAway.Error())
	default:
		s.Logger.Error("a question failed", "err", err, "request", w.Header().Get(requestID))
		refuse(w, http.StatusInternalServerError, "internal", "the store failed; see its log")
	}
}

func refuse(w http.ResponseWriter, status int, code, why string) {
	answer(w, status, map[string]string{"error": why, "code": code})
}

func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, string(b)+"\n") // on error the peer has gone
}
