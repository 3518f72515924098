package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
)

// tell writes the ids to temporary tables of a connection, for the views.
func (r *reuse) tell(c *sqlite.Conn) error {
	const script = `
		create temp table reused_id (id integer primary key);
		create temp table reused_thread (id integer primary key, pid integer, tid integer, comm text);
		create temp table reused_user (
			id integer, session integer, process integer, ended integer, is_id integer,
			primary key (id, session, process, ended, is_id)
		) without rowid;`
	if err := execAll(c, script); err != nil {
		return err
	}
	for n, list := range r.users {
		if !r.ambiguous(list) {
			continue
		}
		if err := run(c, "insert into reused_id values (?)", int64(n)); err != nil {
			return err
		}
		for _, u := range list {
			for i := range u.parts {
				p := &u.parts[i]
				err := run(c, "insert or ignore into reused_user values (?, ?, ?, ?, ?)", int64(n), r.ids[p.session],
					u.process == u, int64(p.end()), int64(u.id))
				if err != nil {
					return err
				}
			}
		}
	}
	for i := range r.threads {
		t := &r.threads[i]
		if t.user.id == t.tid && t.user.process.id == t.pid {
			continue
		}
		name := t.comm
		if t.user.id == event.ReusedID(t.tid, event.MaxReused) {
			name = ""
		}
		err := run(c, "insert into reused_thread values (?, ?, ?, ?)", t.id, int64(t.user.process.id), int64(t.user.id), name)
		if err != nil {
			return err
		}
	}
	return nil
}

// run executes a statement that is used again.
func run(c *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(c, query, &sqlitex.ExecOptions{Args: args})
}

// column is an expression for a column of a table, with the ids of users instead of the kernel's.
func (r *reuse) column(table, column string, columns []string) string {
	name := fmt.Sprintf("%q", column)
	whose := "session"
	switch {
	case table == "thread" && slices.Contains([]string{"pid", "tid", "comm"}, column):
		return fmt.Sprintf("coalesce((select u.%s from temp.reused_thread u where u.id = x.id), x.%[1]s) as %[1]s", column)
	case table == "interval" && column == "holder", table == "collective" && column == "sync_tid",
		table == "request" && column == "by":
		whose = "thread"
	case table == "session" && column == "tracer":
		whose = "id"
	case slices.Contains(columns, "session") && slices.Contains(columns, "pid") &&
		slices.Contains([]string{"pid", "tid", "parent"}, column) && !slices.Contains(columns, "thread"):
	default:
		return "x." + name
	}
	session := "x.session"
	switch whose {
	case "id":
		session = "x.id"
	case "thread":
		session = "(select t.session from main.thread t where t.id = x.thread)"
	}
	at := "9223372036854775806"
	if slices.Contains(columns, "ts") {
		at = "x.ts"
	}
	process := ""
	if column == "pid" || column == "parent" || column == "tracer" {
		process = " and u.process"
	}
	return strings.NewReplacer("NAME", name, "SESSION", session, "AT", at, "PROCESS", process,
		"UNKNOWN", fmt.Sprint(event.UnknownID(0))).Replace(
		`case when x.NAME in (select id from temp.reused_id) then coalesce((select u.is_id from temp.reused_user u
			where u.id = x.NAME and u.session = SESSIONPROCESS and u.ended > AT order by u.ended limit 1),
			x.NAME | UNKNOWN) else x.NAME end as NAME`)
}
