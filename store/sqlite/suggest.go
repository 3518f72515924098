package sqlite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

var (
	noTable  = regexp.MustCompile(`no such table: (\S+)`)
	noColumn = regexp.MustCompile(`no such column: (\S+)`)
)

// explain adds to an error of compiling a statement what to write instead.
func (r *Rows) explain(sql string, g *guard, err error) error {
	code := sqlite.ErrCode(err)
	if code.ToPrimary() == sqlite.ResultAuth || g.refused != "" {
		what := g.refused
		if what == "" {
			what = message(err)
		}
		return fmt.Errorf("%w: %s is refused", store.ErrRefused, what)
	}
	if r.ctx.Err() != nil || code == sqlite.ResultInterrupt {
		return r.explainStep(err)
	}
	if code.ToPrimary() != sqlite.ResultError {
		wrapped := r.source.explain(err)
		if errors.Is(wrapped, store.ErrCorrupt) {
			return wrapped
		}
		return fmt.Errorf("%w: %s", store.ErrSyntax, message(err))
	}
	text := message(err)
	if strings.HasPrefix(text, "cannot modify") {
		return fmt.Errorf("%w: %s", store.ErrRefused, text)
	}
	names := r.schemaNames()
	if m := noTable.FindStringSubmatch(text); m != nil {
		var tables []string
		for t := range names {
			tables = append(tables, t)
		}
		return fmt.Errorf("%w: %s; %s", store.ErrSyntax, text, store.Suggest(unqualified(m[1]), tables, "tables and views"))
	}
	if m := noColumn.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%w: %s; %s", store.ErrSyntax, text, columnHint(names, m[1], readings(sql)))
	}
	return fmt.Errorf("%w: %s", store.ErrSyntax, text)
}

// columnHint suggests a column in place of a missing one: one of what the statement reads, or the
// list of its columns; and the other views that have it.
func columnHint(names map[string]*relation, column string, asked []reading) string {
	table, wrong, qualified := strings.Cut(column, ".")
	if !qualified {
		wrong = column
	}
	wrong = unqualified(wrong)
	var read, columns []string
	for _, a := range asked {
		if qualified && !strings.EqualFold(table, a.name) && !strings.EqualFold(table, a.alias) {
			continue
		}
		for name, r := range names {
			if strings.EqualFold(name, a.name) && !slices.Contains(read, name) {
				read, columns = append(read, name), append(columns, r.columns...)
			}
		}
	}
	columns = slices.DeleteFunc(columns, func(c string) bool { return strings.EqualFold(c, wrong) }) // of another table
	hint := store.Suggest(wrong, columns, "columns of "+strings.Join(read, ", "))
	in := having(names, wrong)
	switch {
	case len(in) == 0:
		return hint
	case len(columns) == 0:
		return "it is in " + strings.Join(in, ", ")
	}
	return hint + "; " + wrong + " is in " + strings.Join(in, ", ")
}

// unqualified is a name without its schema or table.
func unqualified(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// having names the views that have a column, or else the tables; only a few.
func having(names map[string]*relation, column string) []string {
	var views, tables []string
	for name, r := range names {
		switch {
		case !slices.ContainsFunc(r.columns, func(c string) bool { return strings.EqualFold(c, column) }):
		case r.view:
			views = append(views, name)
		default:
			tables = append(tables, name)
		}
	}
	in := views
	if len(in) == 0 {
		in = tables
	}
	slices.Sort(in)
	const most = 6
	if len(in) > most {
		in = append(in[:most:most], "…")
	}
	return in
}

// relation is a table or a view.
type relation struct {
	view    bool
	columns []string
}

// schemaNames lists every table and view.
func (r *Rows) schemaNames() map[string]*relation {
	names := map[string]*relation{}
	if err := r.conn.SetAuthorizer(nil); err != nil {
		return names
	}
	// On an error there is just no suggestion.
	_ = sqlitex.ExecuteTransient(r.conn, `select s.name, c.name, s.type = 'view' from (
			select name, type from sqlite_schema where type in ('table', 'view')
			union select name, type from sqlite_temp_schema where name not like 'old\_%' escape '\'
			and name not like 'earlier\_%' escape '\'
		) s left join pragma_table_info(s.name) c`, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		name := s.ColumnText(0)
		if names[name] == nil {
			names[name] = &relation{view: s.ColumnBool(2)}
		}
		names[name].columns = append(names[name].columns, s.ColumnText(1))
		return nil
	}})
	return names
}
