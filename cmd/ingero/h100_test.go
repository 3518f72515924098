package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

// Recordings of healthy programs on an H100 (docs/gpu.md): a transformers training loop that launches faster than the
// GPU works, so that its launches spin while the launch queue is full, and a JAX loop that waits for its results on a
// condition of its own. Both were reported as faults of the host before.
func TestHealthyProgramsOnAnH100AreNotBlamed(t *testing.T) {
	t.Parallel()
	for name, queueWaits := range map[string]int{"training": 2, "jax": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := unzipped(t, "testdata/h100/"+name+".db.gz")
			var r report.Report
			if err := json.Unmarshal(inProcess(t, "explain", db, "--json"), &r); err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Chains {
				loading := strings.Contains(c.Summary, "while it loaded")
				if c.Cause.Kind != "cold_start" && !loading {
					t.Errorf("%s %s", c.Severity, c.Summary)
				}
			}
			if len(r.NotExplained) > 0 || r.Events < 100_000 {
				t.Errorf("%d calls, not explained: %+v", r.Events, r.NotExplained)
			}
			if len(r.QueueWaits) != queueWaits {
				t.Errorf("%d threads waited for room in the launch queue, want %d", len(r.QueueWaits), queueWaits)
			}
			for _, q := range r.QueueWaits {
				if q.UtilPct < 99 || q.Pct < 5 {
					t.Errorf("tid %d waited for %.1f %% of its time, GPU %.0f %% busy", q.TID, q.Pct, q.UtilPct)
				}
			}
		})
	}
}

// unzipped is the path of a copy of a recording.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "recording.db")
	if err := os.WriteFile(db, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return db
}
