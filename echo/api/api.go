// Package api answers questions over HTTP. It has no listener and no command line.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/serve/webserver"
)

// maxBody is how long a request may be, in bytes.
const maxBody = 64 << 10

// maxWaiting is how many questions may wait for others to end.
const maxWaiting = 64

// DefaultLimits are those of a question.
func DefaultLimits() store.Limits {
	return store.Limits{Time: 10 * time.Second, Rows: 10_000, Bytes: 8 << 20}
}

// Options of the API.
type Options struct {
	Store  store.Reader
	Tokens *access.Tokens
	Limits store.Limits
	// Gate bounds how many questions run at a time; nil: one for each CPU, two at least.
	Gate   *webserver.Gate
	Logger *slog.Logger // nil: silent
}

type server struct{ Options }

// Handler answers POST of /api/v1/sql, and GET of /api/v1/health and /api/v1/whoami.
func Handler(o Options) http.Handler {
	if o.Gate == nil {
		n := max(2, runtime.GOMAXPROCS(0))
		o.Gate = webserver.NewGate(webserver.Limits{Calls: n, PerTool: n, Waiting: maxWaiting})
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := server{o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sql", s.sql)
	mux.HandleFunc("GET /api/v1/health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /api/v1/whoami", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string][]string{"scopes": s.Tokens.Of(r.Header.Get("Authorization")).Strings()})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is nothing here; see POST /api/v1/sql")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope := s.Tokens.Of(r.Header.Get("Authorization"))
		switch {
		case scope == 0:
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "unauthorized", "missing or wrong bearer token")
		case scope&access.Read == 0 && r.URL.Path != "/api/v1/whoami":
			refuse(w, http.StatusForbidden, "forbidden", "this token may not read")
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// table is the answer to a question.
type table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Cut says which limit cut rows off.
	Cut string `json:"cut,omitempty"`
}

func (s server) sql(w http.ResponseWriter, r *http.Request) {
	body, err := webserver.Body(w, r, maxBody)
	if err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	var question struct {
		SQL string `json:"sql"`
	}
	if err := json.Unmarshal(body, &question); err != nil || question.SQL == "" {
		refuse(w, http.StatusBadRequest, "bad_request",
			`the body must be an object of JSON with a statement: {"sql": "select …"}`)
		return
	}
	defer webserver.Begin(w, r)()
	leave, err := s.Gate.Enter(r.Context(), "sql")
	if err != nil {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "busy", err.Error())
		return
	}
	defer leave()
	// Here, and again in the store, so that no other way into the store goes around it.
	if err := s.Store.Check(r.Context(), question.SQL); err != nil {
		s.failed(w, err)
		return
	}
	result, err := s.Store.Query(r.Context(), question.SQL, s.Limits)
	if err != nil {
		s.failed(w, err)
		return
	}
	for _, values := range result.Rows {
		for i := range values {
			values[i] = finite(values[i])
		}
	}
	answer(w, http.StatusOK, table{result.Columns, result.Rows, result.Cut})
}

// failed answers why there is no table.
func (s server) failed(w http.ResponseWriter, err error) {
	switch {
	case errors.As(err, new(*store.RefusedError)):
		refuse(w, http.StatusForbidden, "refused", err.Error())
	case errors.As(err, new(*store.LimitError)):
		refuse(w, http.StatusUnprocessableEntity, "limit", err.Error())
	case errors.As(err, new(*store.StatementError)):
		refuse(w, http.StatusBadRequest, "statement", err.Error())
	case errors.Is(err, context.Canceled):
		refuse(w, http.StatusServiceUnavailable, "canceled", "the question was given up")
	default:
		s.Logger.Error("a question failed", "err", err)
		refuse(w, http.StatusInternalServerError, "internal", "the store failed; see its log")
	}
}

// finite is a value with numbers that JSON does not have as texts.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = finite(v[name])
		}
	}
	return v
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
	_, _ = io.WriteString(w, string(b)+"\n") // the peer has gone
}
