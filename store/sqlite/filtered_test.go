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
		"select count(*) from off_cpu":                                                  "0.1 ms or more",
		"select comm, count(*) from io_events group by 1":                               "0.1 ms or more",
		"with x as (select duration_ns as d from off_cpu o) select avg(d) from x":       "off_cpu_times",
		"select total(sleep_ns) from ledger":                                            "thread_times",
		"select comm, syscall, count(*) as n from host_events group by 1, 2 -- off_cpu": "off_cpu_times",
		"select pid, sum(duration_ns) from events group by pid":                         "depth = 0",
		"select pid, sum(duration_ns) from cuda_events where depth = 0 group by pid":    "",
		"select sum(sum_ns) from op_seconds":                                            "nested = 0",
		"select sum(sum_ns) from op_seconds where coalesce(nested, 0) = 0":              "",
		"select pid, sum(duration_ns) from events where depth = 0 group by pid":         "waits and requests within calls",
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
		rows, err := sqlite.Query(t.Context(), path, sql, store.Limits{})
		must(t, err)
		notes := textOf(rows.Notes())
		rows.Close()
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: notes %q, want %q", sql, notes, want)
		}
	}
}

func textOf(notes []store.Note) string {
	var list []string
	for _, n := range notes {
		list = append(list, n.Text)
	}
	return strings.Join(list, "\n")
}

// waitingCalls are a thread's calls, with calls within, and what its time went to.
func waitingCalls(t *testing.T, w store.Writer, seed uint64) (outer uint64, waited event.ThreadTime) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 8))
	thread := event.Thread{PID: 9, TID: 9}
	b := &store.Batch{}
	launch, inner := opOf(t, "cudaLaunchKernel"), opOf(t, "cuLaunchKernel")
	waited = event.ThreadTime{Thread: thread, At: t0}
	for at := t0; len(b.Calls) < 10_000; {
		ns := 2000 + rng.Uint64N(5000)
		b.Calls = append(b.Calls, event.Call{Start: at + 100, Duration: ns - 200, Thread: thread, Op: inner, Depth: 1},
			event.Call{Start: at, Duration: ns, Thread: thread, Op: launch})
		if rng.IntN(100) == 0 {
			b.OffCPU = append(b.OffCPU, event.OffCPU{Start: at + ns, Duration: 200_000, Thread: thread, Class: event.Sleep})
		}
		at += ns + 200_000
		outer += ns
		waited.NS[event.Sleep] += 200_000
		waited.NS[event.Futex] += 1000
		waited.At, waited.OnCPU = at, waited.OnCPU+ns-1000
	}
	b.ThreadTimes = []event.ThreadTime{waited}
	must(t, w.Write(b))
	must(t, w.Close())
	return outer, waited
}

// TestNotesHaveTheExactNumber: where a statement only adds up, the note has what it would have
// said of all there was.
func TestNotesHaveTheExactNumber(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{RawRate: 50})
	outer, waited := waitingCalls(t, w, 1)
	sleep, futex := waited.NS[event.Sleep], waited.NS[event.Futex]
	for sql, want := range map[string]string{
		"select sum(duration_ns) from cuda_events": fmt.Sprintf("sum(duration_ns) = %d", outer),
		"select count(*) as n, sum(duration_ns)/1000 as us, pid from calls c where c.pid=9": fmt.Sprintf("us, pid = %d 9",
			outer/1000),
		"select tid, total(duration_ns) from events e group by 1 order by 2 desc limit 3;": fmt.Sprintf("tid, total(duration_ns) = 9 %d", outer),
		"select sum(duration_ns) from events where depth = 0":                              fmt.Sprintf("= %d", outer),
		"select sum(sum_ns) from op_seconds -- all": fmt.Sprintf("sum(sum_ns) = %d",
			outer),
		"select sum(duration_ns) from off_cpu": fmt.Sprintf("off_cpu_times: "+
			"sum(duration_ns) = %d", sleep+futex),
		"select class, count(*), sum(duration_ns) as ns from main.off_cpu group by class": fmt.Sprintf("class, ns = sleep "+
			"%d; futex %d", sleep, futex),
		"select sum(duration_ns) from Off_CPU where class = 'futex'": fmt.Sprintf("sum(duration_ns) = %d", futex),
		"select sum(sleep_ns), comm from ledger where pid = 9": fmt.Sprintf("sum(sleep_ns), "+
			"comm = %d", sleep),
		// Where this gives no exact number, the note has the view and no number.
		"select sum(duration_ns) from off_cpu where timestamp > 5":                   "exact: off_cpu_times",
		"select avg(duration_ns) from off_cpu":                                       "exact: off_cpu_times",
		"select sum(o.duration_ns) from off_cpu o join threads t on t.tid = o.tid":   "exact: off_cpu_times",
		"select sum(duration_ns) / count(*) from off_cpu":                            "exact: off_cpu_times",
		"select sum(d) from (select duration_ns as d from off_cpu)":                  "exact: off_cpu_times",
		"select sum(duration_ns) from off_cpu union select 1":                        "exact: off_cpu_times",
		"select sum(duration_ns) from off_cpu where syscall = 'from off_cpu_times'":  "exact: off_cpu_times",
		"select class, sum(duration_ns) from off_cpu group by 1 having count(*) > 1": "exact: off_cpu_times",
		"select sum(duration_ns) from cuda_events where stored":                      "where depth = 0",
	} {
		rows, err := sqlite.Query(t.Context(), path, sql, store.Limits{})
		must(t, err)
		for rows.Next() {
		}
		must(t, rows.Err())
		notes := rows.Notes()
		rows.Close()
		if got := textOf(notes); !strings.Contains(got, want) || strings.HasPrefix(want, "exact: ") &&
			!strings.HasSuffix(got, want) {
			t.Errorf("%s: notes %q, want %q", sql, got, want)
		}
	}
}

// TestNotesNameOnlyWhatTheRecordingHas: a view in which it has nothing is not one to read, nor a column
// that it does not know.
func TestNotesNameOnlyWhatTheRecordingHas(t *testing.T) {
	t.Parallel()
	w, bare := create(t, sqlite.Options{})
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{OffCPU: []event.OffCPU{{
		Start: t0, Duration: 200_000,
		Thread: event.Thread{PID: 9, TID: 9},
	}}}}}))
	must(t, w.Close())
	w, older := create(t, sqlite.Options{RawRate: 50})
	waitingCalls(t, w, 2)
	sqlite.Downgrade(t, older, 12)
	for _, c := range []struct{ path, sql, want, not string }{
		{bare, "select sum(duration_ns) from off_cpu", "does not hold the rest", "all, exact"},
		{bare, "select sum(duration_ns) from host_events", "does not hold the rest", "all, exact"},
		{older, "select sum(sum_ns) from op_seconds", "cuda_events where depth = 0", "nested = 0"},
		{legacy(t, "0.8"), "select sum(duration_ns) from cuda_events", "of one source", "depth"},
		{legacy(t, "0.8"), "select sum(duration_ns) from off_cpu", "does not hold the rest", "all, exact"},
	} {
		rows, err := sqlite.Query(t.Context(), c.path, c.sql, store.Limits{})
		must(t, err)
		if got := textOf(rows.Notes()); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: notes %q, want %q and not %q", c.sql, got, c.want, c.not)
		}
		rows.Close()
	}
}

// TestFilteredViewsNameExistingViews: what is to be read instead can be read.
func TestFilteredViewsNameExistingViews(t *testing.T) {
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
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{ThreadTimes: all}}}))
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
	overlapping := query(t, path,
		`select * from (select *, lag(timestamp + duration_ns) over (partition by pid, tid order by timestamp) as ended
		from thread_times) where timestamp < ended - 1000`)
	if len(overlapping) != 0 {
		t.Errorf("%d rows begin before the one before has ended: %v", len(overlapping), overlapping[0])
	}
	over := query(t, path,
		`select pid, tid, (timestamp + duration_ns) / 1000000000 as second, min(timestamp) as began, max(timestamp + duration_ns) as ended,
		sum(duration_ns) as ns from thread_times group by 1, 2, 3 having ns > ended - began + 1000`)
	if len(over) != 0 {
		t.Errorf("%d seconds hold more than there is: %v", len(over), over[0])
	}
}
