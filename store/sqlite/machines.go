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
	s.prepare = func(c *sqlite.Conn) error { return only(c, sessions) }
	return newReader(s, func(c *sqlite.Conn) error { return checkOurs(c, path, false) })
}

// only puts a temporary view before each table with a session, which hides the rows of other
// sessions. The view has the name of the table.
func only(c *sqlite.Conn, sessions []int64) error {
	tables, err := columnsOf(c, "select name from main.sqlite_schema where type = 'table'")
	if err != nil {
		return err
	}
	ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(sessions), " ", ", "), "[]")
	var script strings.Builder
	script.WriteString("pragma temp_store = memory;\n")
	for name, columns := range tables {
		_, child := mergeChildren[name]
		where := ""
		switch {
		case child: // read with its parent
		case name == "session":
			where = "id in (" + ids + ")"
		case slices.Contains(columns, "session"):
			where = "session in (" + ids + ")"
		case slices.Contains(columns, "thread"):
			where = "thread in (select id from main.thread where session in (" + ids + "))"
		}
		if where != "" {
			fmt.Fprintf(&script, "create temp view %q as select * from main.%[1]q where %s;\n", name, where)
		}
	}
	return execAll(c, script.String())
}

// Machines implements store.Merged. In files merged by an earlier Ingero, ids that two nodes use
// are made distinct on reading.
func (r *legacyReader) Machines(context.Context) ([]store.Reader, error) {
	return []store.Reader{r}, nil
}
