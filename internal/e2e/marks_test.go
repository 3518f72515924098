package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	timeline "github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// marked traces a program of 300 steps, with ranges and marks of NVTX or without, and returns its recording.
func marked(t *testing.T, marks string) (db string) {
	t.Helper()
	kerneltest.Require(t)
	dir := t.TempDir()
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	const name = "libnvToolsExt.so.1"
	lib, program, from := filepath.Join(dir, name), filepath.Join(dir, "marked"), "../../capture/probe/nvtx/testdata/"
	kerneltest.GCC(t, "-o", lib, from+"library.c", "-fPIC", "-shared", "-Wl,-soname,"+name)
	kerneltest.GCC(t, "-o", program, "testdata/marked.c", "-I"+from, lib,
		filepath.Join(files.LibDir, "libcudart.so.12"), "-Wl,-rpath,"+dir+":"+files.LibDir)
	db = filepath.Join(dir, "marks.db")
	s, err := agent.Run(t.Context(), agent.Options{
		Command: []string{program, marks}, UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()),
		Record: &agent.Recording{Path: db, Node: "n", Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range s.Losses {
		if l.Kind == event.LostMark || l.Kind.Counts() {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
	return db
}

func rows(t *testing.T, db, sql string) (out [][]any) {
	t.Helper()
	q, err := sqlite.Query(t.Context(), db, sql, store.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer q.Close()
	for q.Next() {
		out = append(out, append([]any(nil), q.Values()...))
	}
	if q.Err() != nil {
		t.Fatalf("%s: %v", sql, q.Err())
	}
	return out
}

// SQL has the ranges of a program, each with its text. Its steps are the same as without ranges.
func TestRangesOfAProgramAreRecordedAndAreNoPartOfItsSteps(t *testing.T) {
	per := map[string]string{}
	calls := map[string]string{}
	for _, marks := range []string{"with", "without"} {
		db := marked(t, marks)
		r, err := sqlite.OpenReader(db)
		if err != nil {
			t.Fatal(err)
		}
		line, err := timeline.ReadTimeline(t.Context(), r, store.Window{}, 10, func(event.Thread) bool { return true })
		r.Close()
		if err != nil || line == nil {
			t.Fatalf("no timeline: %v", err)
		}
		per[marks] = line.PerStep
		calls[marks] = fmt.Sprint(rows(t, db, "select op, sum(calls) from op_seconds group by op order by op"),
			rows(t, db, "select count(*) from threads where dispatch"))
		if marks == "without" {
			continue
		}
		for sql, want := range map[string]string{
			// A step sleeps for 2 ms: a range has what is in it, and nothing else.
			`select count(*), count(distinct text), min(duration_ns) >= 2000000, sum(text = 'step 299') from nvtx_ranges
				where text like 'step %'`: "[[300 300 1 1]]",
			"select count(*), min(duration_ns) >= 1000000 from nvtx_ranges where text = 'forward'": "[[300 1]]",
			"select count(*), sum(duration_ns is null) from nvtx_ranges where kind = 'start'":      "[[1 0]]",
			"select count(*), min(text) from nvtx_marks where kind = 'mark'":                       "[[300 queued]]",
			// Each wait is in the range of its step.
			`select count(*), count(distinct r.text) from cudaStreamSynchronize c join nvtx_ranges r
				on r.text like 'step %' and r.pid = c.pid and c.timestamp between r.timestamp and r.ended`: "[[300 300]]",
		} {
			if got := fmt.Sprint(rows(t, db, sql)); got != want {
				t.Errorf("%s: %s, want %s", sql, got, want)
			}
		}
	}
	if per["with"] == "" || per["with"] != per["without"] {
		t.Errorf("a step is %q, and %q without marks", per["with"], per["without"])
	}
	if calls["with"] != calls["without"] {
		t.Errorf("calls are %s, and %s without marks", calls["with"], calls["without"])
	}
}
