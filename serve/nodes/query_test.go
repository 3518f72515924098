package nodes_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/store"
	recording "github.com/ingero-io/ingero/store/sqlite"
)

// statements are asked of three nodes. Want is what one recording of all three would
// answer, except where a note says that each node answered for itself.
var statements = []struct{ sql, want, note string }{
	{"select count(*) from cuda_events", "all 120", ""},
	{
		"SELECT op, count(*) AS n FROM cuda_events GROUP BY op ORDER BY n DESC",
		"all cudaLaunchKernel 90|all cudaStreamSynchronize 30", "",
	},
	// 40 calls of 1 to 40 us, 20 of 101 to 120, 60 of 11 to 70: the mean of means would be 57.17.
	{"select avg(duration_ns)/1000 as us from cuda_events", "all 45.5", ""},
	{
		"select sum(duration_ns)/1000, min(duration_ns), max(duration_ns), total(duration_ns)/1000 from cuda_events",
		"all 5460 1000 120000 5460", "",
	},
	{
		"select max(duration_ns) - min(duration_ns) as spread, count(*) * 2 from events where op = 'cudaLaunchKernel'",
		"all 118000 180", "",
	},
	{
		"select round(avg(duration_ns)/1000, 1) as us, op from cuda_events group by 2 having count(*) > 30 order by us",
		"all 45 cudaLaunchKernel", "",
	},
	{
		"select node, count(*) as n, max(duration_ns) from cuda_events group by node order by n desc limit 2",
		"c 60 70000|a 40 40000", "",
	},
	{
		"select upper(op) o, count(*) from cuda_events group by o order by 1 limit 1 offset 1",
		"all CUDASTREAMSYNCHRONIZE 30", "",
	},
	{"select duration_ns > 50000 as slow, count(*) from cuda_events group by slow order by slow", "all 0 80|all 1 40", ""},
	{"select count(*), avg(duration_ns), sum(duration_ns) from cuda_events where duration_ns < 0", "all 0 NULL NULL", ""},
	{"select sum(rows) from (select count(*) as rows from cuda_events)", "a 40|b 20|c 60", "subquery"},
	{"select count(distinct op) from cuda_events", "a 2|b 2|c 2", "distinct"},
	{"select group_concat(distinct op) from cuda_events", "", "group_concat"},
	{"select op, duration_ns, count(*) from cuda_events group by op", "", "does not group by"},
	{"with x as (select 1 as one) select one from x", "a 1|b 1|c 1", "does not begin with select"},
	{"select 1 as x union select 2", "a 1|a 2|b 1|b 2|c 1|c 2", "union"},
	{
		"select distinct op from cuda_events where op like '%Launch%'",
		"a cudaLaunchKernel|b cudaLaunchKernel|c cudaLaunchKernel", "within each node",
	},
	{"select duration_ns/1000 as us from cuda_events order by duration_ns desc limit 3", "b 120|b 119|b 118", ""},
	{
		"select duration_ns/1000 as us, op from cuda_events order by us desc, op limit 2 offset 19",
		"b 101 cudaLaunchKernel|c 70 cudaStreamSynchronize", "",
	},
	{"select duration_ns from cuda_events order by 1 limit 2;", "a 1000|a 2000", ""},
	{
		"select node, duration_ns/1000 from cuda_events where duration_ns = 11000 order by node desc -- both", "c 11|a 11",
		"",
	},
	{
		"select 1.0 as whole, 'it''s \"x\", (' as text, null as none, x'ff00' as blob limit 1", "a 1 it's \"x\", ( NULL ff00",
		"",
	},
}

func three(t *testing.T) *nodes.Client {
	t.Helper()
	return newClient(t, nodes.Config{Nodes: []string{
		plain(t, api(t, recorded(t, "a", 40, 1), 0)), plain(t, api(t, recorded(t, "b", 20, 101), 0)),
		plain(t, api(t, recorded(t, "c", 60, 11), 0)),
	}})
}

func TestNodesAnswerAsOneRecording(t *testing.T) {
	f := three(t)
	for _, s := range statements {
		table, err := f.Query(t.Context(), s.sql, 0)
		if err != nil {
			t.Errorf("%s: %v", s.sql, err)
			continue
		}
		if got := written(table.Rows); s.want != "" && got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.sql, got, s.want)
		}
		if !strings.EqualFold(table.Columns[0], "node") {
			t.Errorf("%s: columns %v", s.sql, table.Columns)
		}
		w := strings.Join(table.Warnings, "\n")
		if (s.note == "") != (w == "") || !strings.Contains(w, s.note) {
			t.Errorf("%s: warnings %q, want %q", s.sql, w, s.note)
		}
	}
}

func written(rows [][]any) string {
	var lines []string
	for _, r := range rows {
		var line []string
		for _, v := range r {
			if v == nil {
				v = "NULL"
			}
			line = append(line, fmt.Sprint(v))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return strings.Join(lines, "|")
}

func TestWrongStatementsAreRefusedByTheNodes(t *testing.T) {
	f := three(t)
	for sql, want := range map[string]string{
		"select x from nowhere": "nowhere",
		"delete from calls":     "only reading",
		"select 1; select 2":    "more than one statement",
		"":                      "no statement",
		"select 'open":          "SQL not understood",
		"select count(*) from cuda_events group by":        "SQL not understood",
		"select count( from cuda_events":                   "SQL not understood",
		"select printf('%.*c', 900000000, 'x') from calls": "larger than",
	} {
		if _, err := f.Query(t.Context(), sql, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", sql, err, want)
		}
	}
}

// TestNodesWithTheSameNameAreDistinguished has two nodes whose recordings have the same node name.
func TestNodesWithTheSameNameAreDistinguished(t *testing.T) {
	x, y := plain(t, api(t, recorded(t, "same", 40, 1), 0)), plain(t, api(t, recorded(t, "same", 20, 1), 0))
	f := newClient(t, nodes.Config{Nodes: []string{x, y}})
	for sql, want := range map[string]string{
		"select node, count(*) as n from cuda_events group by node order by n desc":         x + " 40|" + y + " 20",
		"select node, duration_ns from cuda_events order by duration_ns desc, node limit 1": x + " 40000",
		"select op from cuda_events order by duration_ns desc limit 1":                      x + " cudaStreamSynchronize",
	} {
		table, err := f.Query(t.Context(), sql, 0)
		must(t, err)
		if got := written(table.Rows); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
		if len(table.Warnings) != 1 || !strings.Contains(table.Warnings[0], "both call themselves same") {
			t.Errorf("warnings %q", table.Warnings)
		}
	}
}

// FuzzStatements asks one node alone with any statement: what is made of its answer must
// be what it answers when it is asked directly.
func FuzzStatements(f *testing.F) {
	for _, s := range statements {
		f.Add(s.sql)
	}
	path := recorded(f, "a", 12, 1)
	f.Fuzz(func(t *testing.T, sql string) {
		want, err := direct(t, path, sql)
		if err != nil || changesWithTime(sql) {
			return
		}
		node := nodes.NodeSQL(sql)
		answer, err := direct(t, path, node)
		if err != nil {
			t.Fatalf("%q became %q: %v", sql, node, err)
		}
		got, err := nodes.Finish(t.Context(), sql, answer)
		if err != nil {
			t.Fatalf("%q of %q: %v", sql, node, err)
		}
		if g, w := sorted(got), sorted(want.Rows); g != w && !strings.Contains(strings.ToLower(sql), "limit") {
			t.Errorf("%q of %q:\n got %s\nwant %s", sql, node, g, w)
		} else if len(got) != len(want.Rows) {
			t.Errorf("%q of %q: %d rows, want %d", sql, node, len(got), len(want.Rows))
		}
	})
}

// direct asks a recording.
func direct(t *testing.T, path, sql string) (wire.Rows, error) {
	r, err := recording.Query(t.Context(), path, sql, store.Limits{Rows: 1000, Time: time.Minute})
	if err != nil {
		return wire.Rows{}, err
	}
	defer r.Close()
	out := wire.Rows{Columns: r.Columns()}
	for r.Next() {
		line := []any{}
		for _, v := range r.Values() {
			line = append(line, store.JSONValue(v))
		}
		out.Rows = append(out.Rows, line)
	}
	return out, r.Err()
}

// changesWithTime reports whether a statement may have another answer each time it is run.
func changesWithTime(sql string) bool {
	sql = strings.ToLower(sql)
	return slices.ContainsFunc([]string{"random", "now", "current", "date", "time", "julian", "unixepoch"},
		func(s string) bool { return strings.Contains(sql, s) })
}

// sorted are rows whose order was not asked for.
func sorted(rows [][]any) string {
	lines := strings.Split(rounded(rows), "|")
	slices.Sort(lines)
	return strings.Join(lines, "|")
}

// rounded are rows as text. Sums of the same numbers may be rounded in another order.
func rounded(rows [][]any) string {
	var lines []string
	for _, r := range rows {
		line := ""
		for _, v := range r {
			if n, ok := v.(float64); ok {
				v = fmt.Sprintf("%.9g", n)
			}
			line += fmt.Sprintf("%v ", v)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "|")
}

// TestNotesOfNodesAreMerged: a note on sums is made once for all nodes, with the numbers of all.
func TestNotesOfNodesAreMerged(t *testing.T) {
	waited := func(node string, sleep, futex uint64) string {
		path := filepath.Join(t.TempDir(), "run.db")
		at := uint64(time.Now().Add(-time.Minute).UnixNano())
		who := event.Thread{PID: 100, TID: 100}
		launch, _ := event.ByName("cudaLaunchKernel")
		inner, _ := event.ByName("cuLaunchKernel")
		w, err := recording.OpenWriter(path, recording.Options{Session: store.Session{Started: at, Node: node}})
		must(t, err)
		must(t, w.Write(&store.Batch{Tables: store.Tables{
			Records: event.Records{
				Calls: []event.Call{
					{Start: at + 1, Duration: 50, Thread: who, Op: inner.Op, Depth: 1, GPU: event.NoGPU},
					{Start: at, Duration: sleep / 10, Thread: who, Op: launch.Op, GPU: event.NoGPU},
				},
				OffCPU: []event.OffCPU{{Start: at + 1000, Duration: 100_000, Thread: who, Class: event.Sleep}},
				ThreadTimes: []event.ThreadTime{{
					Thread: who, At: at + 1e9, OnCPU: 1,
					NS: [event.NumClasses]uint64{event.Sleep: sleep, event.Futex: futex},
				}},
			},
		}}))
		must(t, w.Close())
		return path
	}
	f := newClient(t, nodes.Config{Nodes: []string{
		plain(t, api(t, waited("a", 5000, 300), 0)),
		plain(t, api(t, waited("b", 7000, 0), 0)),
	}})
	for sql, want := range map[string]string{
		"select sum(duration_ns) from off_cpu": "off_cpu_times: node, " +
			"sum(duration_ns) = all 12300",
		"select class, count(*) as n, sum(duration_ns) as ns from off_cpu group by class": "off_cpu_times: node, class, " +
			"ns = all sleep 12000; all futex 300",
		"select node, sum(duration_ns) from off_cpu group by node order by 2 limit 1": "node, sum(duration_ns) = b " +
			"7000; a 5300",
		"select sum(duration_ns) from cuda_events": "where depth = 0: node, " +
			"sum(duration_ns) = all 1200",
		"select avg(duration_ns) from off_cpu":                                           "off_cpu_times",
		"select class, sum(duration_ns) from off_cpu group by class having count(*) > 5": "off_cpu_times",
		"with x as (select duration_ns as d from off_cpu) select sum(d) from x":          "off_cpu_times",
		"select sum(duration_ns) from cuda_events where depth = 0":                       "",
		"select max(duration_ns) from off_cpu":                                           "",
		"select count(*) from (select * from off_cpu)":                                   "off_cpu_times",
	} {
		table, err := f.Query(t.Context(), sql, 0)
		must(t, err)
		switch {
		case want == "" && len(table.Notes) == 0:
		case len(table.Notes) != 1 || want == "" || !strings.HasSuffix(table.Notes[0].Text, want):
			t.Errorf("%s: notes %q, want %q", sql, table.Notes, want)
		}
	}
}
