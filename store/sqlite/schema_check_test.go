package sqlite

import (
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestKnownObjectsAreWhatMigrationsMake compares what is read from the scripts with what SQLite has after running them,
// up to each schema: a table that the check would not know could not be opened.
func TestKnownObjectsAreWhatMigrationsMake(t *testing.T) {
	c, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ours := knownObjects()
	for n := range migrations() {
		if err := migrate(c, migrations()[:n+1]); err != nil {
			t.Fatal(err)
		}
		if err := checkSchema(c, "schema", true); err != nil {
			t.Errorf("schema %d: %v", n+1, err)
		}
	}
	err = sqlitex.ExecuteTransient(c, "select name from sqlite_schema where type = 'table' or sql <> ''",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			if name := s.ColumnText(0); ours[name] == nil {
				t.Errorf("%s is not known, so that anything may be called so", name)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
}
