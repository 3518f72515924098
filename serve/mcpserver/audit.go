package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// Audit is middleware that logs each tool call: a JSON line with time, tool, caller, rows, duration
// and outcome. Arguments and results are not logged: they may be confidential. If w fails, that is
// logged once, and calls continue.
func Audit(w io.Writer, log *slog.Logger) mcp.Middleware {
	a := &auditor{w: w, log: log, now: time.Now}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil {
				return next(ctx, method, req)
			}
			began := a.now()
			res, err := next(ctx, method, req)
			a.write(&auditLine{
				Time: began.UTC(), Tool: clip(call.Params.Name), Caller: caller(ctx, call),
				Rows: rows(res), Milliseconds: float64(a.now().Sub(began).Microseconds()) / 1000, Outcome: outcome(ctx, res, err),
			})
			return res, err
		}
	}
}

type auditLine struct {
	Time         time.Time `json:"time"`
	Tool         string    `json:"tool"`
	Caller       string    `json:"caller"`
	Rows         int       `json:"rows"`
	Milliseconds float64   `json:"ms"`
	Outcome      string    `json:"outcome"` // ok, error, cancelled
}

type auditor struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex // guards the rest
	w      io.Writer
	broken bool
}

func (a *auditor) write(l *auditLine) {
	b, err := json.Marshal(l)
	if err != nil { // strings and numbers
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.w.Write(append(b, '\n')); err != nil && !a.broken {
		a.broken = true
		a.log.Error("cannot write the audit log; calls go on unrecorded", "err", err)
	}
}

// remoteKey is the context key for the address of a caller over HTTP.
type remoteKey struct{}

// caller is the client's name for itself, and its address.
func caller(ctx context.Context, call *mcp.CallToolRequest) string {
	name := "unknown"
	if info := call.ClientInfo(); info != nil && info.Name != "" {
		name = info.Name
		if info.Version != "" {
			name += "/" + info.Version
		}
	}
	name = clip(name)
	if remote, ok := ctx.Value(remoteKey{}).(string); ok {
		name += " at " + remote
	}
	return name
}

// clip bounds the length of text from a peer in the log. JSON escapes unprintable characters.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// RowsMeta is the key in a result's _meta for its number of rows.
const RowsMeta = "rows"

func rows(res mcp.Result) int {
	if r, ok := res.(*mcp.CallToolResult); ok && r != nil {
		if n, ok := r.Meta[RowsMeta].(int); ok {
			return n
		}
	}
	return 0
}

func outcome(ctx context.Context, res mcp.Result, err error) string {
	r, ok := res.(*mcp.CallToolResult)
	switch {
	case ctx.Err() != nil:
		return "cancelled"
	case err != nil, ok && r != nil && r.IsError:
		return "error"
	}
	return "ok"
}

// Protect adds what every server needs on any transport: the audit log, the limits, and that a
// panic fails only one call.
func Protect(server *mcp.Server, audit io.Writer, g *webserver.Gate, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	server.AddReceivingMiddleware(Audit(audit, log), Survive(log), Bound(g))
}
