package mcptool_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
)

// script makes a database by a file of SQL.
func script(t *testing.T, path, file string) {
	t.Helper()
	sql, err := os.ReadFile(file)
	must(t, err)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	must(t, err)
	defer c.Close()
	must(t, sqlitex.ExecuteScript(c, string(sql), nil))
}

const endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r"

func TestLongCallsReportProgress(t *testing.T) {
	var reported atomic.Int32
	src := source.New(manyProcesses(t))
	cs := connectTo(t, src, mcptool.Options{SQLTime: 1200 * time.Millisecond}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if r.Params.ProgressToken == "mine" && r.Params.Progress > 0 && r.Params.Message != "" {
				reported.Add(1)
			}
		},
	})
	p := &mcp.CallToolParams{Name: "run_sql", Arguments: map[string]any{"sql": endless}}
	p.SetProgressToken("mine")
	if res, err := cs.CallTool(t.Context(), p); err != nil || !res.IsError {
		t.Errorf("an endless statement: %v, %v", res, err)
	}
	if reported.Load() == 0 {
		t.Error("no progress was reported")
	}
}

// TestCancelledCallEnds cancels a statement that would run for long, and asks for
// something that would have to wait for it.
func TestCancelledCallEnds(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{SQLTime: 30 * time.Second})
	for range 4 { // more than run at once
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "run_sql", Arguments: map[string]any{"sql": endless}})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a cancelled call: %v", err)
		}
	}
	began := time.Now()
	call(t, cs, "run_sql", map[string]any{"sql": "select 1"}, nil)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a statement waited %s for cancelled ones", took)
	}
}

func TestMiddlewareSeesCalls(t *testing.T) {
	var methods []string
	var rows any
	cs := connect(t, manyProcesses(t),
		mcptool.Options{Middleware: []mcp.Middleware{func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				methods = append(methods, method)
				if r, ok := res.(*mcp.CallToolResult); ok {
					rows = r.Meta[mcptool.RowsMeta]
				}
				return res, err
			}
		}}})
	call(t, cs, "run_sql", map[string]any{"sql": "values (1), (2)"}, nil)
	if len(methods) == 0 || methods[len(methods)-1] != "tools/call" || rows != 2 {
		t.Errorf("saw the methods %v and rows %v", methods, rows)
	}
}
