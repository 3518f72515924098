// Package recording makes recordings that mean harm: files that a stranger sends and asks to have explained. Each is
// small, or at least no larger than what is honestly recorded in a minute. It knows nothing of who reads them.
package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	ours "github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// Attack is one way to make a hostile recording.
type Attack struct {
	Name  string
	Write func(path string) error // makes the file, which must not exist
}

// Attacks returns all of them: files whose schema lies, whose rows do, and whose bytes do.
func Attacks() []Attack {
	return slices.Concat(schemaAttacks(), rowAttacks(), byteAttacks(), legacyAttacks())
}

// honest is a recording of two seconds, as bytes of a file.
var honest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ingero-hostile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // a leftover in the temporary folder does no harm
	path := filepath.Join(dir, "honest.db")
	err = storetest.Build(path, storetest.Load{Calls: 20_000, Rate: 10_000, Threads: 2, Graphs: true, Waits: true},
		ours.Options{})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Honest makes a recording that means no harm.
func Honest(path string) error {
	b, err := honest()
	if err != nil {
		return fmt.Errorf("make an honest recording: %w", err)
	}
	return os.WriteFile(path, b, 0o600)
}

// script is an attack that changes an honest recording by SQL.
func script(name, sql string) Attack {
	return Attack{name, func(path string) error {
		if err := Honest(path); err != nil {
			return err
		}
		return runSQL(path, sql)
	}}
}

// runSQL runs a script on a file, which is created if it is not there.
func runSQL(path, sql string) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return err
	}
	defer c.Close() // an error of the script is the one that matters
	if err := sqlitex.ExecuteTransient(c, "pragma journal_mode = delete", nil); err != nil {
		return err
	}
	return sqlitex.ExecuteScript(c, sql, nil)
}

// named are the tables or views of an honest recording.
func named(kind string) (names []string, err error) {
	dir, err := os.MkdirTemp("", "ingero-hostile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // likewise
	path := filepath.Join(dir, "honest.db")
	if err := Honest(path); err != nil {
		return nil, err
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	defer c.Close() // nothing was written
	err = sqlitex.ExecuteTransient(c, "select name from sqlite_schema where type = ? and name not like 'sqlite%'",
		&sqlitex.ExecOptions{Args: []any{kind}, ResultFunc: func(s *sqlite.Stmt) error {
			names = append(names, s.ColumnText(0))
			return nil
		}})
	return names, err
}

// columns are the columns of a table of an honest recording.
func columns(c *sqlite.Conn, table string) (names []string, err error) {
	err = sqlitex.ExecuteTransient(c, "select name from pragma_table_info(?)",
		&sqlitex.ExecOptions{Args: []any{table}, ResultFunc: func(s *sqlite.Stmt) error {
			names = append(names, s.ColumnText(0))
			return nil
		}})
	return names, err
}

// endless is a select with a table's columns that has rows without end.
func endless(columns []string, value string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = fmt.Sprintf("%s as %q", value, c)
	}
	return "with recursive r(n) as (select 1 union all select n + 1 from r) select " + strings.Join(list, ", ") +
		" from r"
}
