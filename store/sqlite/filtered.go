package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
)

// A filteredView shows only some of what it is about: adding its rows up is less than there was.
type filteredView struct {
	name    string
	holds   string // what it has rows of
	instead string // views whose sums are exact; empty if there is none
}

// filteredViews are also rows of the view filtered_views.
var filteredViews = []filteredView{
	{"off_cpu", "intervals of 0.1 ms or more off the CPU, usual waits for the GPU left out", "off_cpu_times"},
	{"off_cpu_events", "intervals of 0.1 ms or more off the CPU, usual waits for the GPU left out", "off_cpu_times"},
	{"culprits", "who ran in intervals of 0.1 ms or more", ""},
	{"ledger", "calls and gaps in which the thread left the CPU; calls within calls are rows of their own", "thread_times"},
	{"host_events", "of waits, intervals of 0.1 ms or more off the CPU", "off_cpu_times, syscalls"},
	{"net_events", "of waits, intervals of 0.1 ms or more off the CPU", "off_cpu_times"},
	{"io_events", "of waits, intervals of 0.1 ms or more off the CPU; of requests, those that the rate limit allowed", "off_cpu_times, io_seconds"},
	{"io_requests", "requests of traced processes that the rate limit allowed, and slow ones of others", "io_seconds"},
	{"long_calls", "calls of more than a second", "op_seconds"},
}

// filteredViewsView is the statement that makes a view of them.
func filteredViewsView(b *strings.Builder) {
	text := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	b.WriteString("\n-- Views that show only some of what they are about, and those whose sums are exact.\n" +
		"create view filtered_views (name, holds, exact) as values")
	for i, v := range filteredViews {
		exact := "null"
		if v.instead != "" {
			exact = text(v.instead)
		}
		fmt.Fprintf(b, "%s\n  (%s, %s, %s)", strings.Repeat(",", min(i, 1)), text(v.name), text(v.holds), exact)
	}
	b.WriteString(";\n")
}

// callViews have rows of calls within calls.
var callViews = []string{"events", "calls", "cuda_events", "op_seconds"}

// statementReads is what a statement reads. SQLite tells while it compiles the statement, so
// that nobody needs to parse SQL.
type statementReads struct {
	named   map[string]bool // views whose columns the statement itself names
	columns map[string]bool // these columns
	inside  map[string]bool // views that were opened
	within  map[string]bool // views whose columns another view names
}

func (r *statementReads) note(a sqlite.Action) {
	if a.Type() != sqlite.OpRead {
		return
	}
	if r.named == nil {
		*r = statementReads{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	table, by := strings.ToLower(a.Table()), strings.ToLower(a.Accessor())
	if isView(by) { // else the statement, or a table that it defines
		r.inside[by], r.within[table] = true, true
		return
	}
	r.named[table], r.columns[strings.ToLower(a.Column())] = true, true
}

// uses reports whether the statement itself reads a view; one that only counts its rows names
// no columns.
func (r *statementReads) uses(view string) bool {
	return r.named[view] || r.inside[view] && !r.within[view]
}

// isView reports whether a name is that of a public view.
func isView(name string) bool {
	list, err := publicViews()
	return err == nil && name != "" && slices.ContainsFunc(list, func(v publicView) bool { return strings.EqualFold(v.name, name) })
}

// aggregates are the functions with which a statement makes one row of many. It may have been
// compiled already.
func aggregates(c *sqlite.Conn, sql string) map[string]bool {
	found := map[string]bool{}
	s, _, err := c.PrepareTransient("explain " + sql)
	if err != nil {
		return found // it is an explain itself
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

// notes say what sums of the statement are of, where that is easily mistaken.
func (r *statementReads) notes(c *sqlite.Conn, sql string) (list []string) {
	filtered := slices.ContainsFunc(filteredViews, func(v filteredView) bool { return r.uses(v.name) })
	if !filtered && !has(r.named, callViews...) {
		return nil
	}
	by := aggregates(c, sql)
	if !has(by, "count", "sum", "total", "avg") {
		return nil
	}
	for _, v := range filteredViews {
		if !r.uses(v.name) {
			continue
		}
		text := v.name + " has only " + v.holds
		if v.instead != "" {
			text += "; all, exact: " + v.instead
		}
		list = append(list, text)
	}
	if has(by, "sum", "total") && has(r.named, callViews...) && has(r.columns, "duration_ns", "duration", "sum_ns") &&
		!has(r.columns, "depth", "nested", "op", "source") {
		list = append(list, "calls within calls are rows too, so that their time counts twice: add where depth = 0 "+
			"(of op_seconds: nested = 0)")
	}
	return list
}

// threadTimesViews makes the views of what threads' time went to, from running totals: each
// row is the time between two of them, so that nothing is left out and nothing counts twice.
// Totals that fall are those of another thread with this number.
func threadTimesViews(b *strings.Builder) {
	var all, before, columns, classes, grown strings.Builder
	names := []string{"on_cpu"}
	for c := range event.NumClasses {
		names = append(names, c.String())
	}
	for i, n := range names {
		plus := " + "
		if i == 0 {
			plus = ""
		}
		fmt.Fprintf(&grown, " and coalesce(%s, 0) >= coalesce(lag(%[1]s) over w, 0)", n)
		fmt.Fprintf(&all, "%scoalesce(x.%s, 0)", plus, n)
		fmt.Fprintf(&before, ", coalesce(lag(%s) over w, 0) as %[1]s_before", n)
		fmt.Fprintf(&columns, ", coalesce(%s, 0) - case when goes_on then %[1]s_before else 0 end as %[1]s_ns", n)
		if i > 0 {
			fmt.Fprintf(&classes, " when %d then t.%s_ns", i-1, n)
		}
	}
	fmt.Fprintf(b, `
-- What each traced thread's time went to, exactly: some ten rows a second of its being
-- accounted for. timestamp is the begin of a row's time, and duration_ns its length, the sum
-- of all other columns in ns.
create view thread_times as
with totals as (
  select x.*, t.session, t.pid, t.tid, t.comm, %s as total
  from thread_time x join thread t on t.id = x.thread
), pairs as (
  select *, lag(ts) over w as ts_before, coalesce(lag(total) over w, 0) as total_before,
    lag(ts) over w is not null%s as goes_on%s
  from totals window w as (partition by session, pid, tid order by ts)
)
select case when goes_on then ts_before else ts - total end as timestamp,
  total - case when goes_on then total_before else 0 end as duration_ns, s.node, p.pid, p.tid, p.comm%s
from pairs p left join session s on s.id = p.session;

-- The same time off the CPU, a row for each class: the sums that those over off_cpu are a part of.
create view off_cpu_times as
select * from (
  select t.timestamp, t.node, t.pid, t.tid, t.comm, c.name as class, case c.id%s end as duration_ns
  from thread_times t cross join class_name c
) where duration_ns > 0;
`, &all, &grown, &before, &columns, &classes)
}
