package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Downgrade makes a recording one of an older schema: what later migrations brought is
// gone.
func Downgrade(t *testing.T, path string, schema int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	must(err)
	defer old.Close()
	must(migrate(old, migrations()[:schema]))
	was, err := columnsOf(old, "select name from sqlite_schema where type = 'table'")
	must(err)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(err)
	defer c.Close()
	is, err := columnsOf(c, "select name from sqlite_schema where type = 'table'")
	must(err)
	var script strings.Builder
	must(sqlitex.ExecuteTransient(c, "select name from sqlite_schema where type = 'view'", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			fmt.Fprintf(&script, "drop view %q;\n", s.ColumnText(0))
			return nil
		},
	}))
	for table, columns := range is {
		then, ok := was[table]
		if !ok && !strings.HasPrefix(table, "sqlite_") {
			fmt.Fprintf(&script, "drop table %q;\n", table)
			continue
		}
		for _, column := range columns {
			if !slices.Contains(then, column) {
				fmt.Fprintf(&script, "alter table %q drop column %q;\n", table, column)
			}
		}
	}
	fmt.Fprintf(&script, "pragma user_version = %d", schema)
	must(sqlitex.ExecuteScript(c, script.String(), nil))
}
