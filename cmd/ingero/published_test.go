package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

var update = flag.Bool("update", false, "write what explain says of the published databases into testdata")

// inProcess runs a command line and returns what it prints.
func inProcess(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot(&console{
		in: strings.NewReader(""), out: &out, err: &errs, env: func(string) string { return "" },
		now: func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }, // every recording is old
	})
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("ingero %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.Bytes()
}

// TestPublishedDatabases explains the databases that were published with Ingero
// 0.8 and 0.9.
func TestPublishedDatabases(t *testing.T) {
	dir := os.Getenv("INGERO_INVESTIGATIONS")
	if dir == "" {
		t.Skip("set INGERO_INVESTIGATIONS to the folder of the published databases")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no databases in %s (%v)", dir, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".db")
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "published", name+".golden")
			got := inProcess(t, "explain", path, "--since", "all", "--per-process")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("text differs (-want +got; -update writes it):\n%s", d)
			}
			checkStored(t, path)
		})
	}
}

// checkStored holds the chains of the JSON form against those of the file.
func checkStored(t *testing.T, path string) {
	t.Helper()
	var r report.Report
	if err := json.Unmarshal(inProcess(t, "explain", path, "--since", "all", "--json"), &r); err != nil {
		t.Fatal(err)
	}
	rows, err := sqlite.Query(t.Context(), path,
		"select id, severity, summary from main.causal_chains order by detected_at, id", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		if n >= len(r.StoredChains) {
			continue
		}
		c, v := r.StoredChains[n], rows.Values()
		if c.ID != v[0] || string(c.Severity) != v[1] || c.Summary != v[2] || c.Supported == "" {
			t.Errorf("%v was recorded, %+v is shown", v, c)
		}
	}
	if n != len(r.StoredChains) || rows.Err() != nil {
		t.Errorf("%d chains were recorded, %d are shown, %v", n, len(r.StoredChains), rows.Err())
	}
}
