package sqlite

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// A filteredView shows only a part of what it is about: sums over its rows are too low.
type filteredView struct {
	name    string
	holds   string // what its rows are
	instead string // views with exact sums; empty if there is none
	all     exactView
}

// filteredViews are also rows of the view filtered_views.
var filteredViews = []filteredView{
	{"off_cpu", "intervals of 0.1 ms or more off the CPU, usual waits for the GPU left out", "off_cpu_times", exactView{
		"select node, pid, tid, comm, class, duration_ns from off_cpu_times",
		[]string{"node", "pid", "tid", "comm", "class", "duration_ns"},
	}},
	{
		"off_cpu_events", "intervals of 0.1 ms or more off the CPU, usual waits for the GPU left out", "off_cpu_times",
		exactView{
			"select node, pid, tid, comm, duration_ns, duration_ns as duration from off_cpu_times",
			[]string{"node", "pid", "tid", "comm", "duration_ns", "duration"},
		},
	},
	{"culprits", "who ran in intervals of 0.1 ms or more", "", exactView{}},
	{
		"ledger", "calls and gaps in which the thread left the CPU; calls within calls are rows of their own (depth > 0)",
		"thread_times",
		exactView{"select * from thread_times", append([]string{"node", "pid", "tid", "comm"}, classColumns()...)},
	},
	{"host_events", "of waits, intervals of 0.1 ms or more off the CPU", "off_cpu_times, syscalls", exactView{}},
	{"net_events", "of waits, intervals of 0.1 ms or more off the CPU", "off_cpu_times", exactView{}},
	{
		"io_events", "of waits, intervals of 0.1 ms or more off the CPU; of requests, those that the rate limit allowed",
		"off_cpu_times, io_seconds",
		exactView{},
	},
	{
		"io_requests", "requests of traced processes that the rate limit allowed, and slow ones of others", "io_seconds",
		exactView{
			"select *, queue_ns + device_ns as duration_ns from io_seconds",
			[]string{"node", "pid", "comm", "op", "device", "bytes", "queue_ns", "device_ns", "duration_ns"},
		},
	},
	{"long_calls", "calls of more than a second", "op_seconds", exactView{}},
}

// classColumns are the columns of the wait classes, as ledger and thread_times have them.
func classColumns() (list []string) {
	for c := range event.NumClasses {
		list = append(list, c.String()+"_ns")
	}
	return list
}

// keptIn are the tables behind the exact views. A recording of an earlier version may lack them, or
// have no rows in them.
var keptIn = map[string]string{
	"off_cpu_times": "thread_time", "thread_times": "thread_time", "io_seconds": "request_second",
	"syscalls": "syscall_second",
}

// filteredViewsView creates the view filtered_views.
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

// threadTimesViews creates the views of how threads' time was spent, from running totals: each row
// is the difference of two of them, so that no time is left out or counted twice. Totals that
// decrease belong to another thread with the same id.
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
-- of all other columns in ns but the last: kernel_ns is the part of on_cpu_ns in the kernel, by
-- timer ticks; null: not known.
create view thread_times as
with totals as (
  select x.*, t.session, t.pid, t.tid, t.comm, %s as total
  from thread_time x join thread t on t.id = x.thread
), pairs as (
  select *, lag(ts) over w as ts_before, coalesce(lag(total) over w, 0) as total_before,
    lag(ts) over w is not null%s as goes_on, lag(kernel) over w as kernel_before%s
  from totals window w as (partition by session, pid, tid order by ts)
)
select case when goes_on then ts_before else ts - total end as timestamp,
  total - case when goes_on then total_before else 0 end as duration_ns, s.node, p.pid, p.tid, p.comm%s,
  case when goes_on then max(coalesce(p.kernel, 0) - p.kernel_before, 0) end as kernel_ns
from pairs p left join session s on s.id = p.session;

-- The same time off the CPU, a row for each class: the sums that those over off_cpu are a part of.
create view off_cpu_times as
select * from (
  select t.timestamp, t.node, t.pid, t.tid, t.comm, c.name as class, case c.id%s end as duration_ns
  from thread_times t cross join class_name c
) where duration_ns > 0;
`, &all, &grown, &before, &columns, &classes)
}
