package sqlite

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
)

//go:embed legacy_views.sql
var legacyViewSQL string

// publicView is a view or table that users' queries rely on.
type publicView struct {
	name    string
	columns []string
	sql     string // that makes it
}

// publicViews lists the current views, and the table that is one for queries, in order of creation:
// each comes after those that it reads.
var publicViews = sync.OnceValues(func() ([]publicView, error) {
	return schemaOfToday("select name from sqlite_schema where type = 'view' or name = 'causal_chains'")
})

// tables lists the current tables in the same way.
var tables = sync.OnceValues(func() ([]publicView, error) {
	return schemaOfToday("select name from sqlite_schema where type = 'table'")
})

// schemaOfToday is the part of a new recording's schema that a query selects.
func schemaOfToday(names string) (list []publicView, err error) {
	c, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer c.Close() // an empty database in memory
	if err := migrate(c, migrations()); err != nil {
		return nil, err
	}
	if err := sqlitex.ExecuteScript(c, views(), nil); err != nil {
		return nil, err
	}
	all, err := columnsOf(c, names)
	if err != nil {
		return nil, err
	}
	err = sqlitex.ExecuteTransient(c, "select name, sql from sqlite_schema order by rowid",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			if name := s.ColumnText(0); all[name] != nil {
				list = append(list, publicView{name, all[name], s.ColumnText(1)})
			}
			return nil
		}})
	return list, err
}

// columnsOf returns the columns of the tables and views that a query names.
func columnsOf(c *sqlite.Conn, names string) (map[string][]string, error) {
	all := make(map[string][]string)
	err := sqlitex.ExecuteTransient(c, "select m.name, c.name from ("+names+
		") m, pragma_table_info(m.name) c order by m.name, c.cid", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			all[s.ColumnText(0)] = append(all[s.ColumnText(0)], s.ColumnText(1))
			return nil
		},
	})
	return all, err
}

// publish creates the current views for a recording by an earlier Ingero. A view without data is
// empty, a missing column is null. Columns that only the recording has come last.
func publish(c *sqlite.Conn) error {
	today, err := publicViews()
	if err != nil {
		return fmt.Errorf("list the views: %w", err)
	}
	if err := execAll(c, legacyViewSQL); err != nil {
		return err
	}
	old, err := columnsOf(c, "select name from sqlite_temp_schema where name like 'old\\_%' escape '\\'")
	if err != nil {
		return err
	}
	for _, v := range today {
		if err := exec(c, v.over(old)); err != nil {
			return fmt.Errorf("view %s: %w", v.name, err)
		}
	}
	return nil
}

// over returns the statement that creates the view over the old one of the same name.
func (v *publicView) over(old map[string][]string) string {
	from, have := "where 0", []string(nil)
	values := map[string]string{}
	if info, ok := event.ByName(v.name); ok {
		from, have = fmt.Sprintf("from old_calls where op = '%s'", v.name), old["old_calls"]
		for n, a := range info.Args[:min(len(info.Args), 2)] {
			values[a.Name] = fmt.Sprintf("arg%d", n)
		}
	} else if columns := old["old_"+v.name]; columns != nil {
		from, have = "from old_"+v.name, columns
	}
	var list []string
	for _, c := range v.columns {
		value := "null"
		switch {
		case values[c] != "":
			value = values[c]
		case slices.Contains(have, c):
			value = fmt.Sprintf("%q", c)
		}
		list = append(list, fmt.Sprintf("%s as %q", value, c))
	}
	if v.name == "sessions" {
		for _, c := range have {
			if !slices.Contains(v.columns, c) {
				list = append(list, fmt.Sprintf("%q", c))
			}
		}
	}
	return fmt.Sprintf("create temp view %q as select %s %s", v.name, strings.Join(list, ", "), from)
}

// execAll runs statements one by one: a script would be put into a savepoint on the file.
func execAll(c *sqlite.Conn, script string) error {
	for statement := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := exec(c, statement); err != nil {
			return fmt.Errorf("prepare how it is read: %w", err)
		}
	}
	return nil
}
