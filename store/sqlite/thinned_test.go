package sqlite_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// fastCalls are calls of which most share a row: two threads with launches of the runtime and
// of the driver within them, the driver's own launches, and allocations of many sizes.
func fastCalls(t testing.TB, seed uint64, n int) []event.Call {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	launch, inner, alloc := opOf(t, "cudaLaunchKernel"), opOf(t, "cuLaunchKernel"), opOf(t, "cudaMalloc")
	var calls []event.Call
	at := t0
	for len(calls) < n {
		at += 20_000 + rng.Uint64N(1<<(8+2*(len(calls)/3000%8)))
		thread := event.Thread{PID: 7 + uint32(rng.IntN(2)), TID: 7}
		thread.TID = thread.PID
		ns := 3000 + rng.Uint64N(2000)
		switch rng.IntN(10) {
		case 0:
			calls = append(calls, event.Call{Start: at, Duration: 1000 + rng.Uint64N(900), Thread: thread, Op: inner})
		case 1, 2:
			calls = append(calls,
				event.Call{Start: at, Duration: ns, Thread: thread, Op: alloc, Args: [4]uint64{1 + rng.Uint64N(1<<20)}})
		default:
			if rng.IntN(500) == 0 {
				ns += 2_000_000
			}
			calls = append(calls, event.Call{Start: at + 500, Duration: ns - 1000, Thread: thread, Op: inner, Depth: 1},
				event.Call{Start: at, Duration: ns, Thread: thread, Op: launch})
			at += ns
		}
	}
	return calls
}

// thinnedRecording has calls of which at most some hundred a second have a row of their own.
func thinnedRecording(t testing.TB, calls []event.Call, seed uint64) string {
	t.Helper()
	w, path := create(t, sqlite.Options{
		RawRate: 200, Seed: seed,
		Session: store.Session{Node: fmt.Sprint("node ", seed), Started: t0 + seed},
	})
	for n := 0; n < len(calls); n += 500 {
		must(t, w.Write(&store.Batch{Tables: store.Tables{
			Records: event.Records{
				Calls: calls[n:min(n+500, len(calls))],
			},
			Processes: []store.Process{{PID: 7, Name: "seven"}, {PID: 8, Name: "eight"}},
		}}))
		if n%7000 == 0 {
			must(t, w.Flush(t.Context()))
		}
	}
	must(t, w.Close())
	stored := query(t, path, "select sum(stored), count(*), count(distinct id), sum(weight) from calls")[0]
	if n := int64(len(calls)); stored[0].(int64) > n/3 || stored[1] != n || stored[2] != n || stored[3] != n {
		t.Fatalf("%d calls: %v stored, counted, ids and weight", n, stored)
	}
	return path
}

// sum is what a query counts of calls.
type sum struct {
	n, ns, max, min, bytes uint64
}

func (s *sum) add(c *event.Call) {
	if s.n++; s.n == 1 {
		s.min = c.Duration
	}
	s.ns, s.max, s.min = s.ns+c.Duration, max(s.max, c.Duration), min(s.min, c.Duration)
	s.bytes += c.Args[0]
}

// sumsOf adds calls up by what key makes of them.
func sumsOf(calls []event.Call, key func(*event.Call) string) map[string]sum {
	all := map[string]sum{}
	for i := range calls {
		if k := key(&calls[i]); k != "" {
			s := all[k]
			s.add(&calls[i])
			all[k] = s
		}
	}
	return all
}

// TestViewsOfThinnedCallsCountEachCall: who counts, adds up or averages rows of a view
// gets what is so of the calls that were made, however few of them were stored.
func TestViewsOfThinnedCallsCountEachCall(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		calls := fastCalls(t, seed, 30_000)
		path := thinnedRecording(t, calls, seed+1)
		byOp := func(c *event.Call) string { return c.Op.String() }
		for _, view := range []string{"events", "cuda_events", "calls"} {
			compareSums(t, path, "select op, FIGURES from "+view+" group by op", sumsOf(calls, byOp))
		}
		compareSums(t, path, "select pid || op || depth || (timestamp / 1000000000), FIGURES from cuda_events group by 1",
			sumsOf(calls, func(c *event.Call) string {
				return fmt.Sprintf("%d%s%d%d", c.PID, c.Op, c.Depth, c.Start/1e9)
			}))
		compareSums(t, path, "select tid || ' ' || (timestamp / 30000000000), FIGURES from events where op = 'cudaMalloc' "+
			"group by 1", sumsOf(calls, func(c *event.Call) string {
			if c.Op != opOf(t, "cudaMalloc") {
				return ""
			}
			return fmt.Sprint(c.TID, " ", c.Start/30e9)
		}))
		for _, op := range []string{"cudaLaunchKernel", "cuLaunchKernel", "cudaMalloc"} {
			of := func(c *event.Call) string {
				if c.Op.String() != op {
					return ""
				}
				return fmt.Sprint(c.PID)
			}
			bytes := map[string]string{"cudaMalloc": "sum(bytes)"}[op]
			compareSums(t, path, "select pid, count(*), sum(duration_ns), max(duration_ns), min(duration_ns), "+cmp.Or(bytes,
				"0")+" from "+op+" group by pid", sumsOf(calls, of))
		}
		rows := map[string]sum{} // as programs read them, which do not ask with SQL
		for _, c := range allCalls(t, reader(t, path)) {
			s := rows[c.Op.String()]
			s.n, s.ns = s.n+uint64(max(c.Weight, 1)), s.ns+c.TotalNS()
			rows[c.Op.String()] = s
		}
		for op, s := range sumsOf(calls, byOp) {
			if rows[op].n != s.n || rows[op].ns != s.ns {
				t.Errorf("rows of %s stand for %d calls of %d ns, want %d of %d", op, rows[op].n, rows[op].ns, s.n, s.ns)
			}
		}
		if repeated := query(t, path,
			"select timestamp, count(*) from calls where stored group by 1 having count(*) > 1"); len(repeated) != 0 {
			t.Errorf("stored twice: %v", repeated)
		}
	}
}

// compareSums runs a query for a key and the FIGURES of a sum.
func compareSums(t *testing.T, path, sql string, want map[string]sum) {
	t.Helper()
	rows := query(t, path,
		strings.ReplaceAll(sql, "FIGURES", "count(*), sum(duration_ns), max(duration_ns), min(duration_ns), sum(arg0)"))
	if len(rows) != len(want) {
		t.Errorf("%s: %d rows, want %d", sql, len(rows), len(want))
	}
	for _, r := range rows {
		figure := func(i int) uint64 { return uint64(r[i].(int64)) }
		if got := (sum{figure(1), figure(2), figure(3), figure(4), figure(5)}); got != want[fmt.Sprint(r[0])] {
			t.Errorf("%s: %v: %+v, want %+v", sql, r[0], got, want[fmt.Sprint(r[0])])
		}
	}
}

// TestPublishedQueriesOnThinnedRecordings runs the queries of the published posts as they
// stand there.
func TestPublishedQueriesOnThinnedRecordings(t *testing.T) {
	t.Parallel()
	calls := fastCalls(t, 9, 30_000)
	path := thinnedRecording(t, calls, 9)
	allocs := sumsOf(calls, func(c *event.Call) string {
		if c.Op.String() != "cudaMalloc" {
			return ""
		}
		return fmt.Sprint(c.Start / 30e9 * 30)
	})
	rows := query(t, path, `SELECT
  (timestamp / 30000000000) * 30 as window_sec,
  COUNT(*) as allocs,
  AVG(duration_ns)/1000 as avg_us,
  MAX(duration_ns)/1000 as max_us,
  SUM(arg0)/1048576 as total_mb
FROM events
WHERE op = 'cudaMalloc'
GROUP BY window_sec
ORDER BY window_sec;`)
	if len(rows) != len(allocs) {
		t.Errorf("%d windows, want %d", len(rows), len(allocs))
	}
	for _, r := range rows {
		s := allocs[fmt.Sprint(r[0])]
		want := []any{r[0], int64(s.n), float64(s.ns) / float64(s.n) / 1000, int64(s.max / 1000), int64(s.bytes / 1048576)}
		if fmt.Sprint(r) != fmt.Sprint(want) {
			t.Errorf("allocations by window: %v, want %v", r, want)
		}
	}
	people := sumsOf(calls, func(c *event.Call) string { return map[uint32]string{7: "seven", 8: "eight"}[c.PID] })
	for _, r := range query(t, path, `SELECT pn.name, COUNT(*) as events
FROM events e
JOIN process_names pn ON e.pid = pn.pid
GROUP BY pn.name
ORDER BY events DESC`) {
		if want := people[r[0].(string)].n; r[1] != int64(want) {
			t.Errorf("events of %v: %v, want %d", r[0], r[1], want)
		}
	}
	ops := sumsOf(calls, func(c *event.Call) string { return fmt.Sprint(c.Op.Source()) })
	for _, r := range query(t, path,
		"select node, source, count(*) as cnt, avg(duration)/1000 as avg_us from events group by node, source") {
		s := ops[fmt.Sprint(event.Source(r[1].(int64)))]
		if want := float64(s.ns) / float64(s.n) / 1000; r[2] != int64(s.n) || r[3] != want {
			t.Errorf("source %v: %v, want %d calls of %v us", r[1], r, s.n, want)
		}
	}
	if n := len(query(t, path, "SELECT * FROM cuda_events LIMIT 20")); n != 20 {
		t.Errorf("%d rows of 20", n)
	}
}

// TestOlderThinnedRecordingsCountEachCall: in a recording from before what the others took was
// stored, they are taken to have taken as long as the stored one.
func TestOlderThinnedRecordingsCountEachCall(t *testing.T) {
	t.Parallel()
	calls := fastCalls(t, 5, 20_000)
	path := thinnedRecording(t, calls, 5)
	want := query(t, path, "select op, count(*) from events group by op order by op")
	sqlite.Downgrade(t, path, 17)
	if got := query(t, path,
		"select op, count(*) from events group by op order by op"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("by operation: %v, want %v", got, want)
	}
	got := query(t, path, "select op, sum(duration_ns) from cuda_events group by op order by op")
	estimate := query(t, path,
		"select o.name, sum(c.dur * coalesce(c.weight, 1)) from main.call c join op_name o on o.id = c.op group by 1 "+
			"order by 1")
	if fmt.Sprint(got) != fmt.Sprint(estimate) {
		t.Errorf("durations %v, want %v", got, estimate)
	}
	if n := query(t, path, "select count(*) from cudaMalloc where stored = 1"); n[0][0].(int64) > 2000 {
		t.Errorf("%v allocations are stored", n)
	}
}

// TestMergedThinnedRecordingsCountEachCall: what the others of a row took and asked for is
// carried along, also where rows are moved, and where a recording is older.
func TestMergedThinnedRecordingsCountEachCall(t *testing.T) {
	t.Parallel()
	calls := fastCalls(t, 7, 10_000)
	a, b := thinnedRecording(t, calls, 1), thinnedRecording(t, calls, 2)
	const sums = "select op, count(*), sum(duration_ns), sum(arg0), min(duration_ns), " +
		"max(duration_ns) from events group by op"
	out, _ := merge(t, a, b)
	var want [][]any
	for _, r := range query(t, a, sums) {
		want = append(want, []any{r[0], 2 * r[1].(int64), 2 * r[2].(int64), 2 * r[3].(int64), r[4], r[5]})
	}
	if got := query(t, out, sums); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("merged: %v, want %v", got, want)
	}
	sqlite.Downgrade(t, b, 17)
	out, _ = merge(t, a, b)
	for i, r := range query(t, out, sums) {
		if r[1] != want[i][1] {
			t.Errorf("merged with an older one: %v, want %v calls", r, want[i][1])
		}
	}
}

// busyCalls are those of two threads that do nothing but call: one call after the other, most
// with calls within, as deep as three.
func busyCalls(t testing.TB, seed uint64, n int) []event.Call {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	ops := []event.Op{
		opOf(t, "cudaLaunchKernel"), opOf(t, "cuLaunchKernel"), opOf(t, "cudaMemcpyAsync"),
		opOf(t, "cuMemAlloc"),
	}
	var calls []event.Call
	var add func(thread event.Thread, at, ns uint64, depth uint8)
	add = func(thread event.Thread, at, ns uint64, depth uint8) {
		if depth < 3 && rng.IntN(3) > 0 && ns > 100 {
			half := ns / 2
			add(thread, at+1, rng.Uint64N(half-2)+1, depth+1)
			add(thread, at+half, rng.Uint64N(half-2)+1, depth+1)
		}
		calls = append(calls, event.Call{Start: at, Duration: ns, Thread: thread, Op: ops[rng.IntN(len(ops))], Depth: depth})
	}
	at := [2]uint64{t0, t0}
	for len(calls) < n {
		which := 0
		if at[1] < at[0] {
			which = 1
		}
		ns := 500 + rng.Uint64N(1_000_000)
		add(event.Thread{PID: 9, TID: 9 + uint32(which)}, at[which], ns, 0)
		at[which] += ns
	}
	return calls
}

// TestOutermostCallsOfASecondAreAtMostThatSecond: whatever is nested in what, no time of a
// thread counts twice in sums over outermost calls, and none is missing.
func TestOutermostCallsOfASecondAreAtMostThatSecond(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		calls := busyCalls(t, seed, 30_000)
		path := thinnedRecording(t, calls, seed+1)
		want := sumsOf(calls, func(c *event.Call) string {
			if c.Depth > 0 {
				return ""
			}
			return fmt.Sprintf("%d %d", c.TID, c.Start/1e9)
		})
		for _, sql := range []string{
			"select tid || ' ' || (timestamp / 1000000000), sum(duration_ns) from events where depth = 0 group by 1",
			"select tid || ' ' || (timestamp / 1000000000), sum(duration_ns) from cuda_events where depth = 0 group by 1",
			"select tid || ' ' || (timestamp / 1000000000), sum(sum_ns) from op_seconds where nested = 0 group by 1",
		} {
			rows := query(t, path, sql)
			if len(rows) != len(want) {
				t.Errorf("%s: %d rows, want %d", sql, len(rows), len(want))
			}
			for _, r := range rows {
				const overlap = 1_000_500 // the last call of a second ends in the next one
				if ns := uint64(r[1].(int64)); ns != want[r[0].(string)].ns || ns > 1e9+overlap {
					t.Errorf("%s: %v: %d ns, want %d and at most a second", sql, r[0], ns, want[r[0].(string)].ns)
				}
			}
		}
	}
}
