package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A recording of an older schema gets today's tables on the way, in a copy.
func TestMergingAnOlderSchema(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	old := filepath.Join(dir, "old.db")
	c, err := sqlite.OpenConn(old, sqlite.OpenReadWrite|sqlite.OpenCreate)
	must(err)
	must(migrate(c, migrations()[:1]))
	must(sqlitex.ExecuteScript(c,
		`insert into session (id, node, host, kernel, arch, cpus, memory, version, backend, tracer, flags, started_ns, calls)
			values (1, 'two', 'two', '', 'amd64', 2, 0, '', '', 7, '', 1000, 1);
		insert into thread values (1, 1, 5, 5, 'old', 1);
		insert into call (ts, thread, op, dur) values (2000, 1, 257, 10);
		insert into snapshot values (3000, 1, 2, 3, 4, 5, 6);`, nil))
	must(c.Close())
	before, err := os.ReadFile(old)
	must(err)
	now := filepath.Join(dir, "now.db")
	w, err := OpenWriter(now, Options{Session: store.Session{Node: "one", Host: "one", Boot: "x"}})
	must(err)
	must(w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
		Start: 2000, Duration: 5,
		Thread: event.Thread{PID: 5, TID: 5}, Op: 257, GPU: event.NoGPU,
	}}}}}))
	must(w.Close())

	out := filepath.Join(dir, "merged.db")
	_, err = Merge(t.Context(), out, []MergeInput{{Path: now}, {Path: old}}, MergeOptions{})
	must(err)
	rows, err := Query(t.Context(), out, "select (select group_concat(id, ' ') from (select id from cuda_events order "+
		"by id)), (select group_concat(node) from system_snapshots)", store.Limits{})
	must(err)
	defer rows.Close()
	if !rows.Next() || fmt.Sprint(rows.Values()) != "[one:2000 two:2001 two]" {
		t.Errorf("merged: %v, %v", rows.Values(), rows.Err())
	}
	if after, err := os.ReadFile(old); err != nil || string(after) != string(before) {
		t.Errorf("the recording was changed (%v)", err)
	}
	r, err := Open(old)
	must(err)
	defer r.Close()
	if s, err := r.Summary(t.Context()); err != nil || s.Sessions[0].Boot != "" {
		t.Errorf("summary of the older schema: %+v, %v", s, err)
	}
}
