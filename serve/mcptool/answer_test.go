package mcptool_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

type opRow struct {
	Process string
	PID     int
	Op      string
	Calls   int
	TotalNS int `json:"total_ns"`
	MaxNS   int `json:"max_ns"`
	Bytes   int
}

type statsAnswer struct {
	Window, Note string
	Calls        int
	Stored       int `json:"stored_rows"`
	Ops          []opRow
	NextCursor   string `json:"next_cursor"`
	Dropped      map[string]string
}

// TestStatisticsAreThoseOfTheRollUps compares with what "ingero query" sums up of a
// recording that was thinned.
func TestStatisticsAreThoseOfTheRollUps(t *testing.T) {
	path := made(t, storetest.Load{Calls: 300_000, Rate: 150_000})
	cs := connect(t, path, mcptool.Options{})
	var got statsAnswer
	call(t, cs, "get_trace_stats", map[string]any{"since": "all"}, &got)
	rows, err := sqlite.Query(t.Context(), path, "select op, sum(calls), sum(sum_ns), max(max_ns), sum(bytes) from "+
		"op_seconds group by op order by 3 desc", store.Limits{})
	must(t, err)
	defer rows.Close()
	n, calls := 0, 0
	for ; rows.Next(); n++ {
		v := rows.Values()
		want := opRow{
			"trainer", 4000, v[0].(string), int(v[1].(int64)), int(v[2].(int64)), int(v[3].(int64)),
			int(v[4].(int64)),
		}
		if n >= len(got.Ops) || got.Ops[n] != want {
			t.Errorf("row %d: want %+v of %+v", n, want, got.Ops)
		}
		calls += want.Calls
	}
	if n != 3 || got.Calls != calls || len(got.Dropped) != 0 {
		t.Errorf("%d operations, %d calls of %d, lost %v", n, got.Calls, calls, got.Dropped)
	}
}

func TestFiltersAndWindows(t *testing.T) {
	path := manyProcesses(t)
	cs := connect(t, path, mcptool.Options{})
	var all, one statsAnswer
	call(t, cs, "get_trace_stats", map[string]any{"limit": 1000}, &all)
	if len(all.Ops) != 24*5 || all.NextCursor != "" {
		t.Errorf("%d rows, cursor %q; want one of each process and operation", len(all.Ops), all.NextCursor)
	}
	call(t, cs, "get_trace_stats", map[string]any{"pid": 103, "op": "cudaMalloc"}, &one)
	if all.Stored == 0 || one.Stored != 0 {
		t.Errorf("%d rows are said to be stored of everything, %d of one process: they are counted for the recording",
			all.Stored, one.Stored)
	}
	if len(one.Ops) != 1 || one.Ops[0].PID != 103 || one.Ops[0].Op != "cudaMalloc" || one.Ops[0].Calls != 60 {
		t.Errorf("one process and operation: %+v", one.Ops)
	}
	for _, since := range []string{"5m", "all"} {
		var first, again statsAnswer
		call(t, cs, "get_trace_stats", map[string]any{"since": since}, &first)
		call(t, cs, "get_trace_stats", map[string]any{"since": first.Window}, &again)
		if again.Calls != all.Calls || again.Window != all.Window {
			t.Errorf("the window of %s, asked for again, gives %d calls of %d in %s, not %s", since, again.Calls, all.Calls,
				again.Window, all.Window)
		}
	}
	var elsewhere struct {
		Note string
		Next []struct{ Arguments map[string]any }
	}
	call(t, cs, "diagnose", map[string]any{"since": "2001-01-01T00:00:00Z/2001-01-02T00:00:00Z"}, &elsewhere)
	if n := len(elsewhere.Next); !strings.Contains(elsewhere.Note, "nothing was recorded in this window") || n == 0 ||
		elsewhere.Next[n-1].Arguments["since"] != "all" {
		t.Errorf("a time outside of the recording leads nowhere: %+v", elsewhere)
	}
	var blank statsAnswer
	call(t, cs, "get_trace_stats", map[string]any{
		"limit": 1000, "since": "", "pid": nil, "process": "", "op": nil,
		"layer": "", "cursor": "",
	}, &blank)
	if blank.Calls != all.Calls || len(blank.Ops) != len(all.Ops) {
		t.Errorf("arguments that are blank change the answer: %d calls of %d", blank.Calls, all.Calls)
	}
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"op": "cudaLaunchKernal"}, "did you mean cudaLaunchKernel?"},
		{map[string]any{"process": "nobody"}, "the traced ones are"},
		{map[string]any{"pid": 7}, "no process 7"},
		{map[string]any{"pid": -1}, "no process -1 was recorded"},
		{map[string]any{"pid": 1 << 40}, "no process 1099511627776"},
		{map[string]any{"since": "yesterday"}, `invalid since`},
		{map[string]any{"cursor": "1.abc"}, "leave cursor out"},
		{map[string]any{"sinc": "5m"}, "sinc"},
	} {
		if got := fails(t, cs, "get_trace_stats", c.args); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q in it", c.args, got, c.want)
		}
	}
}

// TestCursorsShowEverythingOnce follows the cursors of each tool that pages.
func TestCursorsShowEverythingOnce(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{})
	for _, c := range []struct {
		tool, list string
		args       map[string]any
		want       int
	}{
		{"get_trace_stats", "ops", map[string]any{}, 24 * 5},
		{"get_causal_chains", "chains", map[string]any{}, 24},
		{"get_stacks", "stacks", map[string]any{}, 24 * 5},
		{
			"run_sql", "rows",
			map[string]any{"sql": "select timestamp, in_op, pid from off_cpu order by timestamp, pid"},
			24 * 15,
		},
		{"run_sql", "rows", map[string]any{
			"sql":   "select timestamp, in_op, pid from off_cpu order by timestamp, pid",
			"limit": 100,
		}, 24 * 15},
	} {
		seen := map[string]bool{}
		pages := 0
		for cursor := ""; ; pages++ {
			args := map[string]any{}
			maps.Copy(args, c.args)
			if cursor != "" {
				args["cursor"] = cursor
			}
			var page map[string]any
			call(t, cs, c.tool, args, &page)
			for _, item := range page[c.list].([]any) {
				s := fmt.Sprint(item)
				if seen[s] {
					t.Errorf("%s shows %.100s twice", c.tool, s)
				}
				seen[s] = true
			}
			if cursor, _ = page["next_cursor"].(string); cursor == "" {
				break
			}
		}
		if len(seen) != c.want || pages == 0 {
			t.Errorf("%s shows %d in %d pages, want %d", c.tool, len(seen), pages+1, c.want)
		}
	}
}

func TestRunSQL(t *testing.T) {
	cs := connect(t, made(t, storetest.Load{Calls: 2000}), mcptool.Options{})
	for sql, want := range map[string]string{
		"values (1, 'a'), (2, null)":                       `"rows":[[1,"a"],[2,null]]`,
		"with x(a) as (select 3) select a from x -- end":   `"columns":["a"],`,
		"/* why */ select 1.5 as f":                        `"rows":[[1.5]]`,
		"select 9007199254740993 as big, 12 as small":      `"rows":[["9007199254740993",12]]`,
		"select x'00ff' as b, 1e999 as inf":                `"rows":[["00ff",null]]`,
		"select hex(zeroblob(2000)) as long":               `"cut_values":1`,
		"explain query plan select * from events limit 1":  `"detail"`,
		"select count(*) from events where 0":              `"rows":[[0]]`,
		"select * from events where 0":                     `"rows":[]`,
		"select 1 as a, 2 as b, 3 as a; -- twice":          `"columns":["a","b","a:1"]`,
		"select op from events where op like '%Sync%' -- ": `cudaStreamSynchronize`,
		"select sum(duration_ns) as ns from off_cpu":       `does not hold the rest (off_cpu_times would)`,
	} {
		if got := textOf(call(t, cs, "run_sql", map[string]any{"sql": sql}, nil)); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s, want %s in it", sql, got, want)
		}
	}
	for sql, want := range map[string]string{
		"select duration_n from events":         "did you mean duration_ns?",
		"select * from event":                   "did you mean events?",
		"select 1; select 2":                    "more than one statement",
		"delete from events":                    "only reading is allowed",
		"attach '/tmp/x.db' as x":               "attach is refused",
		"selec 1":                               "syntax error",
		"select printf('%.*c', 900000000, 'x')": "a value is too large: it is larger than 262144 bytes; take a part",
		"select * from events where pid = :pid": ":pid has no value; write the value itself",
		"select * from events where pid = ?":    "? has no value",
		"select load_extension('x')":            "only reading is allowed",
	} {
		if got := fails(t, cs, "run_sql", map[string]any{"sql": sql}); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", sql, got, want)
		}
	}
}

func TestEarlierRecording(t *testing.T) {
	path := fmt.Sprintf("%s/earlier.db", t.TempDir())
	script(t, path, "../../store/sqlite/testdata/earlier_0.8.sql")
	cs := connect(t, path, mcptool.Options{})
	for _, tool := range []string{
		"diagnose", "get_trace_stats", "get_causal_chains", "get_stacks", "graph_lifecycle",
		"graph_frequency", "run_sql",
	} {
		if text := textOf(call(t, cs, tool, defaults[tool], nil)); !strings.Contains(text, "did not count dropped records") {
			t.Errorf("%s says nothing was dropped, which nobody knows: %s", tool, text)
		}
	}
	var d struct {
		Finding *struct{ Evidence []string }
		Next    []struct {
			Tool      string
			Arguments map[string]any
		}
	}
	call(t, cs, "diagnose", map[string]any{"since": "all"}, &d)
	for _, n := range d.Next {
		var rows struct{ Rows [][]any }
		if call(t, cs, n.Tool, n.Arguments, &rows); n.Tool == "run_sql" && len(rows.Rows) == 0 {
			t.Errorf("the evidence %v is not found by %v", d.Finding, n.Arguments)
		}
	}
	var chains struct{ Recorded []string }
	call(t, cs, "get_causal_chains", map[string]any{"since": "all"}, &chains)
	if len(chains.Recorded) == 0 || !strings.Contains(chains.Recorded[0], "What the data supports") {
		t.Errorf("the chains that it recorded are not reported: %q", chains.Recorded)
	}
}

func TestPromptResourcesAndCompletions(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{})
	ctx := t.Context()
	p, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{
		Name:      "investigate",
		Arguments: map[string]string{"symptom": "steps are slow", "process": "trainer", "window": "all"},
	})
	must(t, err)
	text := p.Messages[0].Content.(*mcp.TextContent).Text
	for _, want := range []string{
		"steps are slow", `since="all", process="trainer"`, "diagnose", "get_trace_stats",
		"get_causal_chains", "get_stacks", "run_sql",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, text)
		}
	}
	if _, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "investigate"}); err != nil {
		t.Error(err)
	}
	for uri, want := range map[string]string{
		"ingero://schema": "select comm, op", "ingero://events": "cudaLaunchKernel", "ingero://summary": `"calls":7200`,
		"ingero://findings": "cpu_contention", "ingero://op/cudaMalloc": `"unit":"bytes"`,
		"ingero://process/0%20ignore": "", "ingero://finding/none": "", "ingero://nothing": "", "ingero://op/": "",
		"ingero://process/":      "",
		"ingero://op/cudaMallok": "", "ingero://op/%zz": "",
	} {
		res, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is there: %s", uri, res.Contents[0].Text)
		case want == "" && !isInvalid(err):
			t.Errorf("%s: %v, which is no error of who asked", uri, err)
		case want != "" && err != nil:
			t.Errorf("%s: %v", uri, err)
		case want != "" && !strings.Contains(res.Contents[0].Text, want):
			t.Errorf("%s: %.300s", uri, res.Contents[0].Text)
		}
	}
	for arg, c := range map[string]struct{ typed, want string }{
		"op": {"malloc", "cudaMalloc"}, "process": {"3 IGN", "3 " + injection}, "window": {"", "5m"},
		"symptom": {"gpu", "the GPU is idle between steps"},
		"id":      {"cpu-", "cpu-contention-"}, "other": {"", ""},
	} {
		r, err := cs.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "investigate"},
			Argument: mcp.CompleteParamsArgument{Name: arg, Value: c.typed},
		})
		must(t, err)
		got := strings.Join(r.Completion.Values, "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %q is completed by %q, want %q", arg, c.typed, got, c.want)
		}
	}
}

// isInvalid reports whether an error says, with its code, that what was asked is wrong.
func isInvalid(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams
}
