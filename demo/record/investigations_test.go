package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

const folder = "../../investigations"

// culprits are the names of the process and the thread that the first chain of an investigation
// must blame.
var culprits = map[string][2]string{
	"data-loader-starvation": {"data-worker", "data-worker"},
	"lock-through-disk":      {"trainer", "metrics-flush"},
	"noisy-neighbour":        {"backup-agent", "backup-agent"},
	"graph-recapture":        {"trainer", "trainer"},
	"memory-leak":            {"trainer", "trainer"},
}

func TestEveryInvestigationIsExplainedRight(t *testing.T) {
	for _, c := range investigations() {
		t.Run(c.Name, func(t *testing.T) {
			path := filepath.Join(folder, c.Name+".db")
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; record it with make investigations", err)
			}
			if len(before) > maxInvestigation {
				t.Errorf("it has %d bytes, at most %d are meant", len(before), maxInvestigation)
			}
			e, err := rig.Explain(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			checkFirstCause(t, &c, e.Report)
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Error("explaining it changed it")
			}
		})
	}
}

// checkFirstCause compares a report with the fault that the program was given.
func checkFirstCause(t *testing.T, c *recording, r *report.Report) {
	t.Helper()
	if c.Healthy() {
		if len(r.Chains)+len(r.NotExplained) > 0 {
			t.Errorf("nothing was wrong, but %s", r.Verdict)
		}
		return
	}
	if len(r.Chains) == 0 {
		t.Fatalf("nothing was found: %s", r.Verdict)
	}
	got := &r.Chains[0].Cause
	thread := got.Thread
	if thread == "" {
		thread = got.Process
	}
	if want := culprits[c.Name]; got.Kind != c.Expect || [2]string{got.Process, thread} != want {
		t.Errorf("%s of %s (%s), want %s of %v", got.Kind, got.Process, thread, c.Expect, want)
	}
}

func TestEveryInvestigationIsMadeByTheMakefile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".db")
		if !slices.ContainsFunc(investigations(), func(c recording) bool { return c.Name == name }) {
			t.Errorf("%s is not made by make investigations", f)
		}
	}
}

// TestInvestigationsDoNotIdentifyTheirMachine looks for data that identifies a machine: only the
// program, its culprit and kernel threads keep their names.
func TestInvestigationsDoNotIdentifyTheirMachine(t *testing.T) {
	for _, c := range investigations() {
		rows, err := sqlite.Query(t.Context(), filepath.Join(folder, c.Name+".db"), `
			select node || ' ' || host from sessions where node <> 'gpu-node-01' or host <> node
			union all select comm from threads where comm not in ('', 'trainer', 'sleeper', 'data-worker', 'metrics-flush', 'backup-agent', 'other')
				and comm not glob '*/*' and comm not glob 'rcu_*'
			union all select command from processes where command <> ''
			union all select cgroup from processes where cgroup not in ('', '/gpu-node-01')
			union all select file from stack_frames where file like '/%'
			union all select module from stack_frames where module like '/%'`, store.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			t.Errorf("%s contains %v", c.Name, rows.Values())
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
