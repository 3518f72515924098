package sqlite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

// A recording may come from a stranger. What is called like one of our tables has to be that table, as a migration
// makes it: a view or a virtual table may have rows without end, a computed column may be of any size, and a trigger or
// an index does work of its own when a row is written.

// definition is what a create statement says, in a form in which two can be compared.
type definition struct {
	kind  string   // table or index
	items []string // columns and constraints of a table
	rest  string   // what stands before and after them; of an index all of it
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	created = regexp.MustCompile(`(?is)^\s*create (table|index) "?(\w+)"?\s(.*)$`)
	altered = regexp.MustCompile(`(?is)^\s*alter table (\w+) add column (.*)$`)
)

// define reads a create statement; its name is empty if it is another one.
func define(sql string) (name string, d definition) {
	m := created.FindStringSubmatch(comment.ReplaceAllString(sql, ""))
	if m == nil {
		return "", d
	}
	name, d.kind = strings.ToLower(m[2]), strings.ToLower(m[1])
	if d.kind == "index" {
		d.rest = plain(m[3])
		return name, d
	}
	begin, end := strings.IndexByte(m[3], '('), strings.LastIndexByte(m[3], ')')
	if begin < 0 || end < begin {
		d.rest = plain(m[3])
		return name, d
	}
	d.rest = plain(m[3][:begin] + " " + m[3][end+1:])
	depth, from, list := 0, 0, m[3][begin+1:end]
	for i := range len(list) {
		switch list[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				d.items, from = append(d.items, plain(list[from:i])), i+1
			}
		}
	}
	d.items = append(d.items, plain(list[from:]))
	return name, d
}

// plain is a part of a statement whatever the blanks and capitals.
func plain(sql string) string { return strings.ToLower(strings.Join(strings.Fields(sql), " ")) }

// known is what a table or index of ours may be like: as a migration made it, with columns that later ones added.
type known struct {
	definition
	added []string
}

// knownObjects reads the migrations. It runs none of them: that would take as long as explaining a recording.
var knownObjects = sync.OnceValue(func() map[string][]known {
	all := map[string][]known{}
	for _, script := range migrations() {
		for statement := range strings.SplitSeq(comment.ReplaceAllString(script, ""), ";") {
			if name, d := define(statement); name != "" {
				all[name] = append(all[name], known{definition: d})
			} else if m := altered.FindStringSubmatch(statement); m != nil {
				for i := range all[m[1]] {
					all[m[1]][i].added = append(all[m[1]][i].added, plain(m[2]))
				}
			}
		}
	}
	return all
})

// allows reports whether a file's object may be this one.
func (k *known) allows(d *definition) bool {
	for _, item := range k.items {
		if !slices.Contains(d.items, item) {
			return false
		}
	}
	for i, item := range d.items {
		if !slices.Contains(k.items, item) && !slices.Contains(k.added, item) || slices.Contains(d.items[:i], item) {
			return false
		}
	}
	return k.kind == d.kind && k.rest == d.rest
}

// mostObjects is how many tables, indexes and views a recording may have: five times as many as ours, each of which
// takes its time whenever the file is opened.
const mostObjects = 4000

// checkSchema refuses a recording in which something else has the name of one of our tables. A writer also refuses
// indexes that others added: they are computed for each row that it inserts.
func checkSchema(c *sqlite.Conn, path string, writes bool) error {
	ours, why, n := knownObjects(), "", 0
	err := sqlitex.ExecuteTransient(c, "select type, lower(name), lower(tbl_name), sql from main.sqlite_schema",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			if n++; n > mostObjects {
				why = fmt.Sprintf("it has more than %d tables and views", mostObjects)
			}
			if why == "" {
				why = wrong(ours, s.ColumnText(0), s.ColumnText(1), s.ColumnText(2), s.ColumnText(3), writes)
			}
			return nil
		}})
	if err != nil {
		return wrap(path, err)
	}
	if why != "" {
		return fmt.Errorf("%s: %w but made to look like one: %s; no Ingero writes such a file", path, store.ErrForeign, why)
	}
	return nil
}

// wrong says what is wrong with something that a file has; empty: nothing, or it is none of ours.
func wrong(ours map[string][]known, kind, name, table, sql string, writes bool) string {
	list, onOurs := ours[name], ours[table] != nil
	switch {
	case sql == "" && kind == "index": // of a primary key or another constraint
	case list != nil:
		as, d := define(sql)
		if as == name && d.kind == kind && slices.ContainsFunc(list, func(k known) bool { return k.allows(&d) }) {
			return ""
		}
		return fmt.Sprintf("the %s %s is not as Ingero makes it", kind, name)
	case kind == "trigger" && onOurs:
		return fmt.Sprintf("the trigger %q is on the table %s", name, table)
	case kind == "index" && onOurs && writes:
		return fmt.Sprintf("the index %q is on the table %s; drop it to record into this file", name, table)
	}
	return ""
}

// checkTables refuses what is a table to SQLite but has no rows of its own, in a recording by an earlier Ingero.
func (l layout) checkTables(c *sqlite.Conn, path string) error {
	var why string
	err := sqlitex.ExecuteTransient(c, `select lower(t.name), t.rootpage, (select count(*) from pragma_table_xinfo(t.name)
		where hidden <> 0) from main.sqlite_schema t where t.type = 'table'`, &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			for _, t := range legacyTables {
				if t.name == s.ColumnText(0) && (s.ColumnInt64(1) == 0 || s.ColumnInt64(2) > 0) {
					why = t.name
				}
			}
			return nil
		},
	})
	if err != nil {
		return wrap(path, err)
	}
	if why != "" {
		return fmt.Errorf("%s: %w but made to look like one: its table %s is computed; no Ingero writes such a file", path,
			store.ErrForeign, why)
	}
	return nil
}
