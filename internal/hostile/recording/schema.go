package recording

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// schemaAttacks have other things in place of the tables and views that a reader expects.
func schemaAttacks() []Attack {
	list := []Attack{
		{"every table is an endless view", func(path string) error { return replaceAll(path, "table", "n") }},
		{"every table is an endless view of long texts", func(path string) error {
			return replaceAll(path, "table", "hex(zeroblob(100000))")
		}},
		{"every view is endless", func(path string) error { return replaceAll(path, "view", "n") }},
		script("a table is virtual", `drop table session; create virtual table session using fts5(id, node, host, kernel,
			arch, cpus, memory, version, backend, tracer, flags, started_ns, stopped_ns, flushed_ns, first_ns, last_ns, calls,
			stored, pruned, boot)`),
		script("a table is a tree of rectangles",
			"drop table stall; create virtual table stall using rtree_i32(ts, dur, cpu, session, x)"),
		script("a column is computed", `drop table stall; create table stall (ts integer primary key, dur integer,
			cpu integer, session integer as (length(hex(zeroblob(1000000)))) virtual); insert into stall values (1, 1, 1)`),
		script("a table has other columns", "drop table session; create table session (id integer primary key, x)"),
		script("a table has no row ids", `drop table stall; create table stall (ts integer primary key, dur integer,
			cpu integer, session integer) without rowid`),
		script("a table has another's index", "create index evil on call (hex(zeroblob(op)))"),
		script("an insert inserts", `create trigger evil after insert on session begin
			insert into thread (session, pid, tid, comm, dispatch) select 1, 1, 1, hex(zeroblob(1000)), 0 from call a, call b; end`),
		script("an update deletes", "create trigger evil after update on session begin delete from call; end"),
		script("names differ by case", "drop table stall; create table STALL (TS integer primary key, x as (zeroblob(1e9)))"),
		script("a hundred thousand tables", `pragma writable_schema = on; with recursive r(n) as (select 1 union all select
			n + 1 from r where n < 100000) insert into sqlite_schema select 'view', 'v' || n, 'v' || n, 0,
			'create view v' || n || ' as select 1' from r`),
		script("views that double", doubling(40)),
		script("a schema that is no SQL",
			"pragma writable_schema = on; update sqlite_schema set sql = 'create table session (' where name = 'session'"),
		script("a table of a schema that is to come", "pragma user_version = 2147483647"),
		script("a schema before the first", "pragma user_version = -1"),
		script("a recording without tables", "pragma writable_schema = on; delete from sqlite_schema"),
		script("an older schema, endless", `drop table rank_step; drop table rank_event; pragma user_version = 28;
			drop view op_seconds; create view op_seconds as with recursive r(n) as (select 1 union all select n + 1 from r)
			select n as timestamp from r`),
	}
	return append(list, eachTable()...)
}

// eachTable are recordings of which one table is an endless view.
func eachTable() (list []Attack) {
	tables, err := named("table")
	if err != nil {
		return []Attack{{"each table", func(string) error { return err }}}
	}
	for _, t := range tables {
		list = append(list, Attack{t + " is an endless view", func(path string) error { return replace(path, t, "table", "n") }})
	}
	return list
}

func replaceAll(path, kind, value string) error {
	names, err := named(kind)
	if err != nil {
		return err
	}
	if err := Honest(path); err != nil {
		return err
	}
	for _, n := range names {
		if err := endlessly(path, n, kind, value); err != nil {
			return err
		}
	}
	return nil
}

func replace(path, name, kind, value string) error {
	if err := Honest(path); err != nil {
		return err
	}
	return endlessly(path, name, kind, value)
}

// endlessly puts an endless view in place of a table or view.
func endlessly(path, name, kind, value string) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return err
	}
	list, err := columns(c, name)
	c.Close() // nothing was written
	if err != nil {
		return err
	}
	if len(list) == 0 { // a view of what was replaced before
		list = []string{"x"}
	}
	return runSQL(path, fmt.Sprintf("drop %s %q; create view %[2]q as %s", kind, name, endless(list, value)))
}

// doubling is views each of which reads the one before twice, in place of one that is read.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("create view d0 as select 1 as timestamp;\n")
	for i := range n {
		fmt.Fprintf(&b, "create view d%d as select a.timestamp from d%d a, d%[2]d b;\n", i+1, i)
	}
	fmt.Fprintf(&b, "drop view events; create view events as select * from d%d;", n)
	return b.String()
}
