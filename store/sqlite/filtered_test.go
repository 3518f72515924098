package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// TestSumsOverFilteredViewsComeWithANote: a sum over a view that does not show all there was
// names the one that has it.
func TestSumsOverFilteredViewsComeWithANote(t *testing.T) {
	t.Parallel()
	path := fullRecording(t)
	for sql, want := range map[string]string{
		"select class, sum(duration_ns) from off_cpu group by class":                    "off_cpu_times",
		"select count(*) from Off_CPU":                                                  "off_cpu_times",
		"with x as (select duration_ns as d from off_cpu o) select avg(d) from x":       "off_cpu_times",
		"select total(sleep_ns) from ledger":                                            "thread_times",
		"select comm, syscall, count(*) as n from host_events group by 1, 2 -- off_cpu": "syscalls",
		"select pid, sum(duration_ns) from events group by pid":                         "depth = 0",
		"select sum(sum_ns) from op_seconds":                                            "nested = 0",
		"select sum(sum_ns) from op_seconds where coalesce(nested, 0) = 0":              "",
		"select pid, sum(duration_ns) from events where depth = 0 group by pid":         "",
		"select op, sum(duration_ns) from events group by op":                           "",
		"select pid, count(*), avg(duration_ns) from events group by pid":               "",
		"select * from off_cpu order by duration_ns desc limit 5":                       "",
		"select max(duration_ns) from off_cpu":                                          "",
		"select class, sum(duration_ns) from off_cpu_times group by class":              "",
		"select 'off_cpu', count(*) from processes":                                     "",
		"explain query plan select count(*) from off_cpu":                               "",
		"select gpus from system_snapshots":                                             "",
		"select count(*) from culprits":                                                 "culprits has only",
	} {
		rows, err := sqlite.Query(t.Context(), path, sql, sqlite.Limits{})
		must(t, err)
		notes := strings.Join(rows.Notes(), "\n")
		rows.Close()
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: notes %q, want %q", sql, notes, want)
		}
	}
}

// TestFilteredViewsNameViewsThatAreThere: what is to be read instead can be read.
func TestFilteredViewsNameViewsThatAreThere(t *testing.T) {
	t.Parallel()
	path := fullRecording(t)
	for _, r := range query(t, path, "select name, coalesce(exact, '') from filtered_views") {
		for name := range strings.SplitSeq(r[0].(string)+", "+r[1].(string), ", ") {
			if name != "" {
				query(t, path, "select count(*) from "+name)
			}
		}
	}
}

// TestThreadTimesAddUp: of random threads, the classes of each row are together as long as its
// time, rows of a thread do not overlap, and what they say in all is what was accounted for,
// across ends of threads whose ids come back.
func TestThreadTimesAddUp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	w, path := create(t, sqlite.Options{})
	want := map[string]uint64{}
	var all []event.ThreadTime
	for n := range 20 {
		thread := event.Thread{PID: 50 + uint32(n%3), TID: 50 + uint32(n)}
		at := t0 + rng.Uint64N(1e9)
		total := event.ThreadTime{Thread: thread}
		for i := range 40 {
			if i%7 == 5 {
				total = event.ThreadTime{Thread: thread, OnCPU: 1} // another thread of this number
				at += rng.Uint64N(1e9)
				total.At = at
				all = append(all, total)
			}
			for c := range total.NS {
				if rng.IntN(3) == 0 {
					ns := rng.Uint64N(50_000_000)
					total.NS[c] += ns
					at += ns
					want[event.Class(c).String()] += ns
				}
			}
			ns := 1 + rng.Uint64N(10_000_000)
			total.OnCPU += ns
			at += ns
			total.At = at
			all = append(all, total)
		}
	}
	slices.SortFunc(all, func(a, b event.ThreadTime) int { return int(int64(a.At) - int64(b.At)) })
	must(t, w.Write(&store.Batch{ThreadTimes: all}))
	must(t, w.Close())
	sums := map[string]uint64{}
	for _, r := range query(t, path, "select class, sum(duration_ns) from off_cpu_times group by class") {
		sums[r[0].(string)] = uint64(r[1].(int64))
	}
	if fmt.Sprint(sums) != fmt.Sprint(want) {
		t.Errorf("by class %v, want %v", sums, want)
	}
	var classes []string
	for c := range event.NumClasses {
		classes = append(classes, c.String()+"_ns")
	}
	bad := query(t, path, "select * from thread_times where duration_ns <> on_cpu_ns + "+strings.Join(classes, " + "))
	if len(bad) != 0 {
		t.Errorf("%d rows do not add up: %v", len(bad), bad[0])
	}
	overlapping := query(t, path, `select * from (select *, lag(timestamp + duration_ns) over (partition by pid, tid order by timestamp) as ended
		from thread_times) where timestamp < ended - 1000`)
	if len(overlapping) != 0 {
		t.Errorf("%d rows begin before the one before has ended: %v", len(overlapping), overlapping[0])
	}
	over := query(t, path, `select pid, tid, (timestamp + duration_ns) / 1000000000 as second, min(timestamp) as began, max(timestamp + duration_ns) as ended,
		sum(duration_ns) as ns from thread_times group by 1, 2, 3 having ns > ended - began + 1000`)
	if len(over) != 0 {
		t.Errorf("%d seconds hold more than there is: %v", len(over), over[0])
	}
}
