package sqlite

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// upgradeViews creates the current views for a recording, unless its own are exactly these: from its
// tables, where they have what a view needs. Missing columns are null, and a view of data that was
// not recorded then is empty.
func upgradeViews(c *sqlite.Conn) error {
	version, err := pragmaInt(c, "user_version")
	if err != nil || version > schemaVersion {
		return err
	}
	if same, err := hasViewsOfToday(c); err != nil || same {
		return err
	}
	schema, err := schemaSum(c, version)
	if err != nil {
		return err
	}
	if done, ok := upgrades.Load(schema); ok {
		for _, statement := range done.([]string) {
			if err := exec(c, statement); err != nil {
				return err
			}
		}
		return nil
	}
	u := upgrade{conn: c}
	if err := u.runUpgrade(version); err != nil {
		return err
	}
	upgrades.Store(schema, u.done)
	return nil
}

// hasViewsOfToday reports whether a file has the current views. Others of its own do not matter: these do not read
// them.
func hasViewsOfToday(c *sqlite.Conn) (bool, error) {
	today, err := publicViews()
	if err != nil {
		return false, fmt.Errorf("list the views: %w", err)
	}
	missing := make(map[string]string, len(today))
	for i := range today {
		missing[today[i].name] = today[i].sql
	}
	const query = "select name, sql from main.sqlite_schema where type = 'view' or name = 'causal_chains'"
	err = sqlitex.ExecuteTransient(c, query,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			if name := s.ColumnText(0); missing[name] == s.ColumnText(1) {
				delete(missing, name)
			}
			return nil
		}})
	return len(missing) == 0, err
}

// upgrades are the statements that make recordings look as if they had today's schema, by the sum of
// theirs: finding them out takes longer than what they do.
var upgrades sync.Map

// schemaSum tells schemas apart.
func schemaSum(c *sqlite.Conn, version int) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	fmt.Fprintln(h, version)
	err = sqlitex.ExecuteTransient(c, "select name, sql from main.sqlite_schema order by rowid", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			fmt.Fprintf(h, "%d %s %d %s ", s.ColumnLen(0), s.ColumnText(0), s.ColumnLen(1), s.ColumnText(1))
			return nil
		},
	})
	return [sha256.Size]byte(h.Sum(nil)), err
}

// upgrade is what is done on a connection to make a recording look as if it had today's schema.
type upgrade struct {
	conn *sqlite.Conn
	done []string
}

func (u *upgrade) exec(statement string) error {
	u.done = append(u.done, statement)
	return exec(u.conn, statement)
}

func (u *upgrade) runUpgrade(version int) error {
	if err := u.asToday(version); err != nil {
		return err
	}
	today, err := publicViews()
	if err != nil {
		return fmt.Errorf("list the views: %w", err)
	}
	have, err := columnsOf(u.conn, "select name from sqlite_schema where type = 'view' or name = 'causal_chains'")
	if err != nil {
		return err
	}
	for i := range today {
		v := &today[i]
		sql, isView := strings.CutPrefix(v.sql, "CREATE VIEW")
		if !isView && slices.Equal(have[v.name], v.columns) {
			continue // the table that is one for queries
		}
		before := len(u.done)
		if u.exec("create temp view"+sql) == nil && readable(u.conn, v.name) {
			continue
		}
		u.done = u.done[:before]
		if err := exec(u.conn, fmt.Sprintf("drop view if exists temp.%q", v.name)); err != nil {
			return err
		}
		if err := u.exec(v.overOlder(have[v.name])); err != nil {
			return fmt.Errorf("view %s: %w", v.name, err)
		}
	}
	return nil
}

// tallySchema is the first schema with numbers to repeat a row by.
const tallySchema = 20

// asToday makes a recording with an older schema look as if it had the current tables: missing
// tables are empty, missing columns are null. They are temporary.
func (u *upgrade) asToday(version int) error {
	today, err := tables()
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	have, err := columnsOf(u.conn, "select name from main.sqlite_schema where type = 'table'")
	if err != nil {
		return err
	}
	if have["call"] == nil {
		return nil // not a recording of ours
	}
	for _, t := range today {
		lacks := slices.DeleteFunc(slices.Clone(t.columns),
			func(column string) bool { return slices.Contains(have[t.name], column) })
		statement := "create temp table" + strings.TrimPrefix(t.sql, "CREATE TABLE")
		switch {
		case len(lacks) == 0:
			continue
		case have[t.name] != nil:
			statement = fmt.Sprintf("create temp view %q as select *, null as %s from main.%[1]q", t.name,
				strings.Join(lacks, ", null as "))
		}
		if err := u.exec(statement); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	if version >= tallySchema {
		return nil
	}
	// Rows of such recordings stand for up to 65,536 calls. A join is faster than a recursion over all of them.
	return u.exec(
		`with recursive d (n) as (select 0 union all select n + 1 from d where n < 255)
			insert into temp.tally select h.n * 256 + l.n from d h cross join d l`)
}

// readable reports whether everything that a view reads exists.
func readable(c *sqlite.Conn, view string) bool {
	s, _, err := c.PrepareTransient(fmt.Sprintf("select * from temp.%q", view))
	if err != nil {
		return false
	}
	return s.Finalize() == nil
}

// overOlder returns the statement that creates the view over the recording's own, which has some of
// its columns; empty if there is no such view.
func (v *publicView) overOlder(have []string) string {
	from := "where 0"
	if len(have) > 0 {
		from = fmt.Sprintf("from main.%q", v.name)
	}
	list := make([]string, len(v.columns))
	for i, column := range v.columns {
		list[i] = fmt.Sprintf("null as %q", column)
		if slices.Contains(have, column) {
			list[i] = fmt.Sprintf("%q", column)
		}
	}
	return fmt.Sprintf("create temp view %q as select %s %s", v.name, strings.Join(list, ", "), from)
}
