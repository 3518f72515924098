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
			id integer, session integer, process integer, ended integer, is_id integer, born integer,
			primary key (id, session, process, ended, is_id)
		) without rowid;
		create temp table reused_birth (
			session integer, pid integer, born integer, primary key (session, pid)
		) without rowid;`
	if err := execAll(c, script); err != nil {
		return err
	}
	for k, born := range r.births {
		err := runQuery(c, "insert into reused_birth values (?, ?, ?)", r.ids[k.session], int64(k.pid), int64(born))
		if err != nil {
			return err
		}
	}
	for n, list := range r.users {
		if !r.ambiguous(list) {
			continue
		}
		if err := runQuery(c, "insert into reused_id values (?)", int64(n)); err != nil {
			return err
		}
		for _, u := range list {
			for i := range u.parts {
				p := &u.parts[i]
				err := runQuery(c, "insert or ignore into reused_user values (?, ?, ?, ?, ?, ?)", int64(n), r.ids[p.session],
					u.process == u, int64(p.end()), int64(u.id), int64(p.born))
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
		const query = "insert into reused_thread values (?, ?, ?, ?)"
		err := runQuery(c, query, t.id, int64(t.user.process.id), int64(t.user.id), name)
		if err != nil {
			return err
		}
	}
	return nil
}

// runQuery executes a statement that is used again.
func runQuery(c *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(c, query, &sqlitex.ExecOptions{Args: args})
}

// known is the condition for a table's rows that are not of processes that came since; empty if it shows all rows.
func (r *reuse) known(table string, columns []string) string {
	if table != "process" || !slices.Contains(columns, "born") {
		return ""
	}
	return fmt.Sprintf("x.id <= %d and not %s and %s & %d <> %[4]d", r.lastProcess, bornLater, describedProcess,
		event.UnknownID(0))
}

// describedProcess is an expression for the id of the process that a row of process describes: the one that began when
// the row says, else the last one that had the id in that session. If they are known to have begun at other times, it
// is that of nobody known.
var describedProcess = fmt.Sprintf(`case when x.pid in (select id from temp.reused_id) then coalesce(
	(select u.is_id from temp.reused_user u where u.id = x.pid and u.session = x.session and u.process and u.born = x.born
		limit 1),
	(select u.is_id from temp.reused_user u where u.id = x.pid and u.session = x.session and u.process
		and (u.born = 0 or x.born is null) order by u.ended desc limit 1),
	x.pid | %d) else x.pid end`, event.UnknownID(0))

// bornLater is the condition for a row of thread or process of another process than the last one that was known.
const bornLater = "exists (select 1 from temp.reused_birth b " +
	"where b.session = x.session and b.pid = x.pid and b.born <> x.born)"

// column is an expression for a column of a table, with the ids of users instead of the kernel's.
func (r *reuse) column(table, column string, columns []string) string {
	name := fmt.Sprintf("%q", column)
	whose := "session"
	switch {
	case table == "process" && column == "pid" && slices.Contains(columns, "born"):
		return describedProcess + " as pid"
	case table == "thread" && slices.Contains([]string{"pid", "tid", "comm"}, column):
		otherwise := "x." + column
		if column != "comm" { // a row that came since may be of another process or thread
			other := fmt.Sprintf("x.%s in (select id from temp.reused_id)", column)
			if slices.Contains(columns, "born") {
				other += " or " + bornLater
			}
			otherwise = fmt.Sprintf("case when x.id > %d and (%s) then x.%s | %d else x.%[3]s end", r.lastThread, other, column,
				event.UnknownID(0))
		}
		return fmt.Sprintf("coalesce((select u.%s from temp.reused_thread u where u.id = x.id), %s) as %[1]s", column,
			otherwise)
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
