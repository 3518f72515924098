package mcptool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// broken are recordings that cannot be read, and what each tool has to say of them.
func broken(t *testing.T) map[string][2]string {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, content, 0o600))
		return path
	}
	whole, err := os.ReadFile(made(t, storetest.Load{Calls: 2000}))
	must(t, err)
	scribbled := append([]byte{}, whole...)
	for i := 4096; i < len(scribbled)-4096; i += 512 {
		copy(scribbled[i:], "scribbled over by a failing disk")
	}
	return map[string][2]string{
		"missing":   {filepath.Join(dir, "missing.db"), "no such database"},
		"empty":     {file("empty.db", nil), "it is empty"},
		"foreign":   {file("foreign.db", []byte("# not a database at all\n"+strings.Repeat("x", 200))), "not an SQLite file"},
		"short":     {file("short.db", whole[:50]), "damaged"},
		"truncated": {file("truncated.db", whole[:len(whole)/3]), "damaged"},
		"scribbled": {file("scribbled.db", scribbled), "damaged"},
		"folder":    {dir, "director"},
	}
}

// needsRecording are the tools that cannot answer without one.
var needsRecording = map[string]bool{
	"diagnose": true, "get_trace_stats": true, "get_causal_chains": true, "get_stacks": true, "graph_lifecycle": true,
	"graph_frequency": true, "run_sql": true, "get_timeline": true,
}

func TestEachToolSaysWhatIsWrongWithTheRecording(t *testing.T) {
	for what, c := range broken(t) {
		cs := connect(t, c[0], mcptool.Options{})
		for tool := range needsRecording {
			if text := fails(t, cs, tool, defaults[tool]); !strings.Contains(text, c[1]) ||
				!strings.Contains(text, filepath.Base(c[0])) {
				t.Errorf("%s: %s says %q, not %q and the file's name", what, tool, text, c[1])
			}
		}
		if what != "missing" { // the rest looks at this machine
			continue
		}
		var check struct {
			Recording struct {
				OK      bool
				Problem string
			}
		}
		call(t, cs, "get_check", map[string]any{}, &check)
		if check.Recording.OK || !strings.Contains(check.Recording.Problem, c[1]) {
			t.Errorf("%s: get_check says %+v", what, check)
		}
		for _, tool := range []string{"query_fleet", "get_test_report", "run_demo"} {
			call(t, cs, tool, defaults[tool], nil)
		}
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ingero://summary"})
		must(t, err)
		if !strings.Contains(res.Contents[0].Text, c[1]) {
			t.Errorf("%s: the summary says %s", what, res.Contents[0].Text)
		}
	}
}

// TestUnknownLossIsNotReportedAsNone: if only SQL can read a file, it is unknown what was dropped.
func TestUnknownLossIsNotReportedAsNone(t *testing.T) {
	path := made(t, storetest.Load{Calls: 100})
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteTransient(c, "pragma user_version = 1000", nil))
	must(t, c.Close())
	cs := connect(t, path, mcptool.Options{})
	fails(t, cs, "get_trace_stats", map[string]any{})
	var out struct {
		Rows [][]any
		Note string
	}
	call(t, cs, "run_sql", map[string]any{"sql": "select 1"}, &out)
	if len(out.Rows) != 1 || !strings.Contains(out.Note, "dropped records are unknown") ||
		!strings.Contains(out.Note, "newer version") {
		t.Errorf("%+v", out)
	}
}

// TestRecordingIsReadAsSoonAsItExists reads a file when it is created, while it
// grows, and after it was replaced.
func TestRecordingIsReadAsSoonAsItExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.db")
	cs := connect(t, path, mcptool.Options{})
	fails(t, cs, "get_trace_stats", map[string]any{})
	w := openWriter(t, path)
	writeCalls(t, w, 0, 100)
	if n := callsIn(t, cs); n != 100 {
		t.Errorf("%d calls while the writer has the file open, want 100", n)
	}
	writeCalls(t, w, 100, 150)
	if n := callsIn(t, cs); n != 250 {
		t.Errorf("%d calls after more were written, want 250", n)
	}
	must(t, w.Close())
	if n := callsIn(t, cs); n != 250 {
		t.Errorf("%d calls after the writer closed the file, want 250", n)
	}
	other := made(t, storetest.Load{Calls: 22, Start: uint64(time.Now().UnixNano())})
	must(t, os.Rename(other, path))
	if n := callsIn(t, cs); n != 22 {
		t.Errorf("%d calls of the file that took its place, want 22", n)
	}
}
