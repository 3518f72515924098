package nodes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/serve/nodes"
)

func script(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, sql, nil))
	must(t, c.Close())
}

// TestRecordingsOfOtherVersions has a recording of Ingero 0.8, which is read, one of a later
// version, which is not, and one of the current version.
func TestRecordingsOfOtherVersions(t *testing.T) {
	sql, err := os.ReadFile("../../store/sqlite/testdata/earlier_0.8.sql")
	must(t, err)
	older := filepath.Join(t.TempDir(), "older.db")
	script(t, older, string(sql))
	newer := recorded(t, "newer", 4, 1)
	script(t, newer, "pragma user_version = 9999")
	today := recorded(t, "today", 40, 1)
	addresses := []string{plain(t, api(t, older, 0)), plain(t, api(t, newer, 0)), plain(t, api(t, today, 0))}
	f := newClient(t, nodes.Config{Nodes: addresses})

	e, err := f.Explain(t.Context(), nodes.Scope{Since: "all"})
	must(t, err)
	if e.Answered() != 2 || len(e.Failed) != 1 || e.Failed[0].Node != addresses[1] ||
		!strings.Contains(e.Failed[0].Error, "newer version") {
		t.Errorf("explain: %+v", e.Coverage)
	}
	table, err := f.Query(t.Context(), "select count(*) as n from events where op = 'cudaLaunchKernel'", 0)
	must(t, err)
	if n, ok := table.Rows[0][1].(int64); !ok || n <= 30 {
		t.Errorf("%v: the older recording's calls are missing", table.Rows)
	}
	table, err = f.Query(t.Context(), "select * from events limit 1000", 0)
	must(t, err)
	if len(table.Rows) <= 40 {
		t.Errorf("%d rows, %+v", len(table.Rows), table.Coverage)
	}
}
