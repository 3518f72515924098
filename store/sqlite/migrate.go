package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

//go:embed migration/*.sql
var migrationFS embed.FS

// applicationID marks our files in the header (PRAGMA application_id): "Inge".
const applicationID = 0x496e6765

// migrations returns the numbered scripts in order. Script n leads from schema
// n-1 to n; a released script is never changed.
func migrations() []string {
	names, err := fs.Glob(migrationFS, "migration/*.sql")
	if err != nil {
		panic(err)
	}
	var scripts []string
	for _, n := range names {
		b, err := migrationFS.ReadFile(n)
		if err != nil {
			panic(err)
		}
		scripts = append(scripts, string(b))
	}
	return scripts
}

// schemaVersion is the schema this program writes and reads.
var schemaVersion = len(migrations())

// migrate brings a recording, or an empty database, up to the given scripts in one transaction.
func migrate(c *sqlite.Conn, scripts []string) (err error) {
	have, err := pragmaInt(c, "user_version")
	if err != nil {
		return err
	}
	if have > len(scripts) {
		return fmt.Errorf("schema %d, this program knows %d: %w", have, len(scripts), store.ErrNewer)
	}
	if have == len(scripts) {
		return nil
	}
	end, err := sqlitex.ImmediateTransaction(c)
	if err != nil {
		return err
	}
	defer end(&err)
	for n := have; n < len(scripts); n++ {
		if err := sqlitex.ExecuteScript(c, scripts[n], nil); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", n+1, err)
		}
	}
	return sqlitex.ExecuteScript(c, "pragma application_id = "+strconv.Itoa(applicationID)+
		"; pragma user_version = "+strconv.Itoa(len(scripts))+";", nil)
}

func pragmaInt(c *sqlite.Conn, name string) (int, error) {
	n, err := queryInt(c, "pragma "+name)
	return int(n), err
}

// queryInt runs a query for one number; no row and null are 0.
func queryInt(c *sqlite.Conn, q string, args ...any) (n int64, err error) {
	err = sqlitex.ExecuteTransient(c, q, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(s *sqlite.Stmt) error { n = s.ColumnInt64(0); return nil },
	})
	return n, err
}

// exec runs a statement and ignores its rows.
func exec(c *sqlite.Conn, q string, args ...any) error {
	return sqlitex.ExecuteTransient(c, q, &sqlitex.ExecOptions{Args: args})
}
