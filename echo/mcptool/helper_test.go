package mcptool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/made"
	"github.com/ingero-io/ingero/echo/mcptool"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
)

// end is the end of what all tests send; now is three seconds later.
const end = 1_780_000_000_000_000_000

func now() time.Time { return time.Unix(0, end).Add(3 * time.Second) }

func limits() store.Limits { return store.Limits{Time: 30 * time.Second, Rows: 10_000, Bytes: 8 << 20} }

// open opens an empty store.
var open = func(t testing.TB) (store.Store, error) {
	t.Helper()
	return duckdb.Open(context.Background(), filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{})
}

// filled returns a store that has received requests as over HTTP.
func filled(t testing.TB, requests []demo.Request) store.Store {
	t.Helper()
	file, err := open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	queue := intake.New(file, intake.Options{})
	defer queue.Close()
	in := ingest.New(ingest.Options{Queue: queue, Tokens: &access.Tokens{}, Now: now}).Handler()
	for _, r := range requests {
		req := httptest.NewRequest(http.MethodPost, r.Path, bytes.NewReader(r.Body))
		req.Header.Set("Content-Type", "application/x-protobuf")
		w := httptest.NewRecorder()
		if in.ServeHTTP(w, req); w.Code != http.StatusOK || w.Body.Len() > 2 { // an empty partial success
			t.Fatalf("%s: %d %q", r.Path, w.Code, w.Body)
		}
	}
	return file
}

func tools(s store.Store) *mcptool.Tools {
	return mcptool.New(mcptool.Options{Version: "test", Store: s, Rates: cost.Example(), Limits: limits(), Now: now})
}

// connect returns a client of the tools.
func connect(t testing.TB, s *mcptool.Tools) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := s.Server().Connect(context.Background(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ss.Close() })
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// requests returns the demo's requests.
func requests(t testing.TB) []demo.Request {
	t.Helper()
	list, err := made.Requests(end)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// call calls a tool, which must succeed, and parses its answer into out.
func call(t testing.TB, cs *mcp.ClientSession, tool string, args, out any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		t.Fatalf("%s %v: %s", tool, args, textOf(res))
	}
	if out != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatalf("%s: %v in %s", tool, err, b)
		}
	}
	return res
}

// fails calls a tool, which must refuse, and returns its error.
func fails(t testing.TB, cs *mcp.ClientSession, tool string, args any) string {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if !res.IsError {
		t.Fatalf("%s %v succeeded: %s", tool, args, textOf(res))
	}
	return textOf(res)
}

func textOf(res *mcp.CallToolResult) string {
	var s string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			s += t.Text
		}
	}
	return s
}
