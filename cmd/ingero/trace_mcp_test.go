package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// TestTracerServesAgents asks the process that traces while it does, until it has seen
// the recording grow.
func TestTracerServesAgents(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, []string{"LD_LIBRARY_PATH=" + files.LibDir},
		"trace", "--mcp", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "run.db"), "--", files.Victim, "loop",
		"--seconds", "30")
	c := s.client()
	var seen []uint64 // calls in the recording, each time there are more
	for deadline := time.Now().Add(20 * time.Second); len(seen) < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the recording does not grow: %v", seen)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "diagnose"})
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			continue // nothing is recorded yet
		}
		var out struct{ Calls uint64 }
		b, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		if out.Calls > 0 && (len(seen) == 0 || out.Calls > seen[len(seen)-1]) {
			seen = append(seen, out.Calls)
		}
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
