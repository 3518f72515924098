package storetest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestACopyOfAnEmptyRecordingIsLikeANewOne: what is recorded in it is in the same tables, row by row.
func TestACopyOfAnEmptyRecordingIsLikeANewOne(t *testing.T) {
	dir := t.TempDir()
	fresh, copied := filepath.Join(dir, "new.db"), filepath.Join(dir, "copy.db")
	for path, open := range map[string]func(string, sqlite.Options) (*sqlite.Writer, error){
		fresh: sqlite.OpenWriter, copied: storetest.OpenWriter,
	} {
		w, err := open(path, sqlite.Options{Seed: 1, Now: func() time.Time { return time.Unix(1_735_689_600, 0) }})
		if err != nil {
			t.Fatal(err)
		}
		for b := range (storetest.Load{Calls: 2000, Waits: true, Graphs: true}).Batches {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want, got := content(t, fresh), content(t, copied)
	if len(want["sqlite_schema"]) < 100 || len(want["session"]) != 1 || len(want["call"]) == 0 {
		t.Fatalf("this compares nothing: %d tables and views, %d sessions, %d calls", len(want["sqlite_schema"]),
			len(want["session"]), len(want["call"]))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a copy differs (-new +copy):\n%s", d)
	}
}

// content is the rows of each table as text, sorted, and the settings of the file. Numbers of rows are left out:
// some are given in the order of a map.
func content(t *testing.T, path string) map[string][]string {
	t.Helper()
	c, err := zombie.OpenConn(path, zombie.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows := func(query string) (list []string) {
		t.Helper()
		err := sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(s *zombie.Stmt) error {
			var row []string
			for i := range s.ColumnCount() {
				if s.ColumnName(i) != "id" {
					row = append(row, s.ColumnText(i))
				}
			}
			list = append(list, fmt.Sprintf("%q", row))
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	all := map[string][]string{"sqlite_schema": rows("select type, name, tbl_name, sql from sqlite_schema order by rowid")}
	for _, setting := range []string{"application_id", "user_version", "auto_vacuum", "journal_mode", "page_size", "encoding"} {
		all["pragma "+setting] = rows("pragma " + setting)
	}
	var tables []string
	err = sqlitex.ExecuteTransient(c, "select name from sqlite_schema where type = 'table'", &sqlitex.ExecOptions{
		ResultFunc: func(s *zombie.Stmt) error { tables = append(tables, s.ColumnText(0)); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		all[name] = rows(fmt.Sprintf("select * from %q", name))
		slices.Sort(all[name])
	}
	return all
}
