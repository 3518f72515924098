package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

var _ store.Merged = (*Reader)(nil)

// Machines implements store.Merged. Sessions are of the same machine if they have the same node and
// boot id: then ids of processes and threads, and numbers of CPUs and GPUs, have the same meaning.
func (r *Reader) Machines(ctx context.Context) ([]store.Reader, error) {
	sum, err := r.Summary(ctx)
	if err != nil {
		return nil, err
	}
	var names [][2]string
	sessions := map[[2]string][]int64{}
	for i := range sum.Sessions {
		s := &sum.Sessions[i]
		name := [2]string{s.Node, s.Boot}
		if sessions[name] == nil {
			names = append(names, name)
		}
		sessions[name] = append(sessions[name], s.ID)
	}
	if len(names) < 2 {
		return []store.Reader{r}, nil
	}
	var list []store.Reader
	for _, n := range names {
		m, err := openMachine(r.source.path, sessions[n])
		if err != nil {
			for _, m := range list {
				_ = m.Close() // a reader has no data to lose
			}
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// openMachine opens a recording as if it had only some of its sessions.
func openMachine(path string, sessions []int64) (*Reader, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	return newTables(s, sessions)
}

// newTables is newReader for a source in this version's schema or an earlier one of it. sessions are those to be
// read, nil for all.
func newTables(s *source, sessions []int64) (*Reader, error) {
	if sessions != nil {
		s.prepare = func(c *sqlite.Conn) error { return arrange(c, sessions, nil) }
	}
	r, err := newReader(s, func(c *sqlite.Conn) error { return checkOurs(c, s.path, false) })
	if err != nil {
		return nil, err
	}
	r.sessions = sessions
	return r, nil
}

var _ store.Distinct = (*Reader)(nil)

// Distinct implements store.Distinct.
func (r *Reader) Distinct(ctx context.Context) (store.Reader, error) {
	if r.recent != nil {
		return r, nil // the latest users are those that matter
	}
	c, err := r.take(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := r.source.findReuse(c)
	r.put(c)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), r.source.path+": "):
		return nil, err
	case err != nil:
		return nil, r.source.explain(err)
	case ids == nil:
		return r, nil
	}
	s, err := openSource(r.source.path)
	if err != nil {
		return nil, err
	}
	s.prepare = func(c *sqlite.Conn) error { return arrange(c, r.sessions, ids) }
	d, err := newReader(s, func(c *sqlite.Conn) error { return checkOurs(c, s.path, false) })
	if err != nil {
		return nil, err
	}
	return distinct{d}, nil
}

// distinct is a Reader in which each process and thread has an id of its own.
type distinct struct{ *Reader }

// Distinct implements store.Distinct.
func (d distinct) Distinct(context.Context) (store.Reader, error) { return d, nil }

// arrange puts a temporary view before each table of which a Reader sees something else: with a session, the rows of
// the given sessions only, unless they are nil; and with ids that were used again, those of their users, unless ids
// is nil. The view has the name of the table.
func arrange(c *sqlite.Conn, sessions []int64, ids *reuse) error {
	tables, err := columnsOf(c, "select name from main.sqlite_schema where type = 'table'")
	if err != nil {
		return err
	}
	if err := exec(c, "pragma temp_store = memory"); err != nil {
		return err
	}
	if ids != nil {
		if err := ids.tell(c); err != nil {
			return err
		}
	}
	var script strings.Builder
	for name, columns := range tables {
		what, other := "*", false
		if ids != nil {
			list := make([]string, len(columns))
			for i, column := range columns {
				list[i] = ids.column(name, column, columns)
				other = other || strings.HasSuffix(list[i], fmt.Sprintf(" as %q", column)) ||
					strings.HasSuffix(list[i], " as "+column)
			}
			what = strings.Join(list, ", ")
		}
		where := whereSession(name, columns, sessions)
		if ids != nil {
			if known := ids.known(name, columns); known != "" {
				where += map[bool]string{true: " where ", false: " and "}[where == ""] + known
			}
		}
		if where != "" || other {
			fmt.Fprintf(&script, "create temp view %q as select %s from main.%[1]q x%[3]s;\n", name, what, where)
		}
	}
	return execAll(c, script.String())
}

// whereSession is the condition for a table's rows of some sessions, nil for all; empty if it shows all rows.
func whereSession(name string, columns []string, sessions []int64) string {
	if sessions == nil {
		return ""
	}
	ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(sessions), " ", ", "), "[]")
	_, child := mergeChildren[name]
	switch {
	case child: // read with its parent
	case name == "session":
		return " where id in (" + ids + ")"
	case slices.Contains(columns, "session"):
		return " where session in (" + ids + ")"
	case slices.Contains(columns, "thread"):
		return " where thread in (select id from main.thread where session in (" + ids + "))"
	}
	return ""
}

// Machines implements store.Merged. In files merged by an earlier Ingero, ids that two nodes use
// are made distinct on reading.
func (r *legacyReader) Machines(context.Context) ([]store.Reader, error) {
	return []store.Reader{r}, nil
}
