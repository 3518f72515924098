package mcptool_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// connect serves a recording in this process and returns a client of it.
func connect(t testing.TB, path string, o mcptool.Options) *mcp.ClientSession {
	t.Helper()
	return connectTo(t, source.New(path), o, nil)
}

func connectTo(t testing.TB, src recording.Source, o mcptool.Options, c *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	t.Cleanup(func() { src.Close() })
	o.Demos = knownFaults()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := mcptool.NewServer(src, o).Connect(context.Background(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ss.Close() })
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, c).Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// call calls a tool, which must succeed, and reads its answer into out.
func call(t testing.TB, cs *mcp.ClientSession, tool string, args any, out any) *mcp.CallToolResult {
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

// fails calls a tool, which must refuse, and returns what it says.
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

// made is a recording of a made-up workload.
func made(t testing.TB, l storetest.Load) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	if err := storetest.Build(path, l, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// thinnedRecording has more calls than rows.
func thinnedRecording(t testing.TB) string {
	t.Helper()
	return made(t, storetest.Load{Calls: 300_000, Rate: 150_000})
}
