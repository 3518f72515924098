package sqlite

import (
	"context"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

// callViews have rows for calls within calls.
var callViews = []string{"events", "calls", "cuda_events", "op_seconds"}

// statementReads is what a statement reads. SQLite reports it while it compiles the statement, so
// the SQL need not be parsed.
type statementReads struct {
	views   map[string]bool // all views, among them those in place of older tables
	named   map[string]bool // views whose columns the statement itself names
	columns map[string]bool // these columns
	inside  map[string]bool // views that were opened
	within  map[string]bool // views whose columns another view names
}

// newStatementReads is for the next statement on a connection. If the schema cannot be read, the
// statement will report why.
func newStatementReads(c *sqlite.Conn) statementReads {
	r := statementReads{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	const views = "select name from sqlite_schema where type = 'view' union select name from sqlite_temp_schema where " +
		"type = 'view'"
	_ = sqlitex.ExecuteTransient(c, views, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		r.views[strings.ToLower(s.ColumnText(0))] = true
		return nil
	}})
	return r
}

func (r *statementReads) note(a sqlite.Action) {
	if a.Type() != sqlite.OpRead || r.named == nil {
		return
	}
	table, by := strings.ToLower(a.Table()), strings.ToLower(a.Accessor())
	if r.views[by] { // else the statement itself, or a table that it defines
		r.inside[by], r.within[table] = true, true
		return
	}
	r.named[table], r.columns[strings.ToLower(a.Column())] = true, true
}

// uses reports whether the statement itself reads a view. One that only counts its rows names no
// columns.
func (r *statementReads) uses(view string) bool {
	return r.named[view] || r.inside[view] && !r.within[view]
}

// aggregates are the functions with which a statement makes one row of many. The statement may have
// been compiled before.
func aggregates(c *sqlite.Conn, sql string) map[string]bool {
	found := map[string]bool{}
	s, _, err := c.PrepareTransient("explain " + sql)
	if err != nil {
		return found // it is an explain statement itself
	}
	defer s.Finalize() //nolint:errcheck // what it has said is of use
	for {
		if more, err := s.Step(); err != nil || !more {
			return found
		}
		if s.GetText("opcode") == "AggStep" {
			name, _, _ := strings.Cut(s.GetText("p4"), "(")
			found[name] = true
		}
	}
}

func has(set map[string]bool, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return set[n] })
}

// asker writes the notes to a statement on its connection.
type asker struct {
	reads   statementReads
	conn    *sqlite.Conn
	sql     string
	columns []string // of the answer
}

// notes say what the sums of a statement cover, where they are easily misread.
func (a *asker) notes(ctx context.Context) (list []store.Note) {
	r := &a.reads
	filtered := slices.ContainsFunc(filteredViews, func(v filteredView) bool { return r.uses(v.name) })
	if !filtered && !has(r.named, callViews...) {
		return nil
	}
	by := aggregates(a.conn, a.sql)
	if !has(by, "count", "sum", "total", "avg") {
		return nil
	}
	briefly(ctx, a.conn, func() {
		for _, v := range filteredViews {
			if r.uses(v.name) {
				list = append(list, a.ofFiltered(&v))
			}
		}
		if has(by, "sum", "total") && has(r.columns, "duration_ns", "duration", "sum_ns") && !has(r.columns, "op", "source") {
			list = append(list, a.ofNested()...)
		}
	})
	return list
}

// ofFiltered is the note for a view that shows only a part of what it is about.
func (a *asker) ofFiltered(v *filteredView) store.Note {
	text := v.name + " has only " + v.holds
	if v.instead == "" {
		return store.NewNote(text, nil, nil)
	}
	var there []string
	for name := range strings.SplitSeq(v.instead, ", ") {
		if table := keptIn[name]; table == "" || a.any("select 1 from "+table+" limit 1") {
			there = append(there, name)
		}
	}
	if there == nil {
		return store.NewNote(text+"; this recording does not hold the rest ("+v.instead+" would)", nil, nil)
	}
	text += "; all, exact: " + strings.Join(there, ", ")
	if v.all.from == "" {
		return store.NewNote(text, nil, nil)
	}
	return store.NewNote(text, a.columns, exactSums(a.conn, a.sql, v.name, &a.reads, v.all))
}

// ofNested are the notes for views of calls. Time counts twice where calls are within calls, or
// where waits are listed beside the calls in which they occurred.
func (a *asker) ofNested() (list []store.Note) {
	r := &a.reads
	if r.named["op_seconds"] && !has(r.columns, "nested") {
		text, exact := "calls within calls are counted too, so that their time counts twice: add where nested = 0",
			outermostSeconds
		if !a.any("select 1 from call_second where nested is not null limit 1") {
			text, exact = "calls within calls are counted too, so that their time counts twice; this recording does not say "+
				"how many: "+a.instead(), exactView{}
		}
		list = append(list, store.NewNote(text, a.columns, a.sums("op_seconds", exact)))
	}
	for _, view := range []string{"events", "calls", "cuda_events"} {
		if !r.named[view] {
			continue
		}
		var twice []string
		if !has(r.columns, "depth") {
			twice = append(twice, "calls within calls")
		}
		if view == "events" && (a.any("select 1 from off_cpu limit 1") || a.any("select 1 from io_requests limit 1")) {
			twice = append(twice, "waits and requests within calls")
		}
		if twice == nil {
			continue
		}
		text := strings.Join(twice, ", and ") + " are rows of " + view + " too, so that their time counts twice: " +
			a.instead()
		list = append(list, store.NewNote(text, a.columns, a.sums(view, outermost)))
	}
	return list
}

func (a *asker) sums(view string, all exactView) [][]any {
	if all.from == "" {
		return nil
	}
	return exactSums(a.conn, a.sql, view, &a.reads, all)
}

// instead says where outermost calls can be found.
func (a *asker) instead() string {
	if !a.any("select 1 from call limit 1") { // a recording of Ingero 0.8 or 0.9, which has no depth
		return "add calls of one source only (cuda_events has it)"
	}
	return "add from cuda_events where depth = 0"
}

// any reports whether a statement returns a row; false if it fails.
func (a *asker) any(sql string) bool {
	s, _, err := a.conn.PrepareTransient(sql)
	if err != nil {
		return false
	}
	defer s.Finalize() //nolint:errcheck // what it has said is of use
	more, err := s.Step()
	return err == nil && more
}
