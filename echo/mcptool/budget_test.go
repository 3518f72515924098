package mcptool_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// A token counts as four bytes of JSON.
const bytesPerToken = 4

// The budgets, in tokens. An answer counts as it is sent: with its structured form, its text form and its metadata.
const (
	listBudget   = 2500
	answerBudget = 2000
)

func tokens(t testing.TB, v any) int {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(b) / bytesPerToken
}

func TestListOfToolsIsWithinItsBudget(t *testing.T) {
	list, err := connect(t, tools(filled(t, nil))).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := tokens(t, list); n > listBudget || len(list.Tools) != 7 {
		t.Errorf("tools/list takes %d tokens for %d tools, more than %d", n, len(list.Tools), listBudget)
	}
}

var update = flag.Bool("update", false, "write the tools into testdata")

// What clients rely on only changes with a review: run with -update, and check the difference.
func TestToolsAreReviewed(t *testing.T) {
	cs := connect(t, tools(filled(t, nil)))
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := cs.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(map[string]any{
		"tools": list.Tools, "prompts": prompts.Prompts, "instructions": cs.InitializeResult().Instructions,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)+"\n"); d != "" {
		t.Errorf("(-want +got; -update writes it):\n%s", d)
	}
	for _, tool := range list.Tools {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.OutputSchema == nil {
			t.Errorf("%s has no schema of its answer, or does not say that it only reads", tool.Name)
		}
	}
	if strings.Contains(string(got), `"null"`) {
		t.Error("a type may be null: clients that check strictly refuse it")
	}
}

// simplest has each tool's arguments in its simplest call.
var simplest = map[string]map[string]any{
	"fleet.cluster.summary": {}, "fleet.cluster.find_stragglers": {}, "fleet.cluster.find_outlier_nodes": {"metric": "load"},
	"fleet.cluster.run_analysis":  {"sql": "select * from events order by timestamp_ns, node_id, rank, body, attrs_json"},
	"fleet.cluster.event_history": {}, "fleet.cluster.anomaly_list": {}, "fleet.cluster.get_cost": {},
}

// large returns a store with much of everything, and long names.
func large(t *testing.T, nodes, things int) store.Store {
	t.Helper()
	long := strings.Repeat("a very long name ", 12)
	list := job{cluster: "big", ranks: nodes, steps: 100, late: func(rank, step int) int64 {
		if rank == step%30 {
			return int64(200+rank) * milli
		}
		return 0
	}}.requests(t)
	for i := range nodes {
		n := node(i) + " " + long
		if i < nodes*3/4 {
			n = node(i)
		}
		cluster := "big"
		if i >= nodes*3/4 {
			cluster = fmt.Sprintf("c%d %s", i, long)
		}
		var entries []entry
		for k := range things {
			e := found(float64(k+1), fmt.Sprintf("cause_%d", k), fmt.Sprintf("%s %d", long, k), map[string]any{"rank": i})
			e.text = fmt.Sprintf("%s %d: %s", long, k, long)
			entries = append(entries, e, entry{
				before: float64(k) + 0.5, event: "straggler_state", severity: 13,
				attributes: map[string]any{
					"event_id": fmt.Sprint(i, k), "rank": i + k*100, "excess": 0.3, "lost_ms_per_step": 3, "step_ms": 100,
					"ranks": 8, "cause.kind": long, "cause.culprit": long, "ingero.node.address": long, "ingero.gpu_model": long,
				},
			}, entry{before: float64(k) + 0.7, event: long, text: long + fmt.Sprint(k), severity: 17})
		}
		var all []series
		for k := range 15 {
			all = append(all, series{metric: fmt.Sprintf("%s %d", long, k), values: []float64{1}})
		}
		all = append(all, series{"load", []float64{float64(i % 7), float64(i % 5)}, map[string]any{"rank": i}, ""})
		list = append(list, logs(t, cluster, n, entries...), metrics(t, cluster, n, all...))
	}
	return filled(t, list)
}

func TestAnswersAreWithinTheirBudget(t *testing.T) {
	for what, s := range map[string]store.Store{"the demo": filled(t, requests(t)), "much": large(t, 80, 20), "nothing": filled(t, nil)} {
		cs := connect(t, tools(s))
		for tool, err := range cs.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			args, ok := simplest[tool.Name]
			if !ok {
				t.Fatalf("%s has no arguments in this test", tool.Name)
			}
			res := call(t, cs, tool.Name, args, nil)
			if n := tokens(t, res); n > answerBudget {
				t.Errorf("%s: %s answers in %d tokens, more than %d: %.1500s", what, tool.Name, n, answerBudget, textOf(res))
			}
			if tool.Name != "fleet.cluster.run_analysis" && !strings.Contains(textOf(res), `"window":"20`) {
				t.Errorf("%s: %s does not say of which window it is", what, tool.Name)
			}
		}
	}
}

// The parts of a list make up the list, each item once, even if more rows come meanwhile: all parts have the first
// one's window.
func TestCursors(t *testing.T) {
	s := large(t, 20, 2)
	cs := connect(t, tools(s))
	for tool, of := range map[string]string{
		"fleet.cluster.summary": "nodes", "fleet.cluster.find_stragglers": "stragglers", "fleet.cluster.find_outlier_nodes": "ranked",
		"fleet.cluster.run_analysis": "rows", "fleet.cluster.event_history": "events", "fleet.cluster.anomaly_list": "anomalies",
		"fleet.cluster.get_cost": "waste",
	} {
		args := map[string]any{}
		maps.Copy(args, simplest[tool])
		if tool == "fleet.cluster.run_analysis" {
			args["sql"] = "select node_id, rank, timestamp_ns, kind from events order by timestamp_ns, node_id, rank, attrs_json limit 200"
		}
		var all []string
		window := ""
		var verdict any
		for pages := 0; ; pages++ {
			var got map[string]any
			res := call(t, cs, tool, args, &got)
			if n := tokens(t, res); n > answerBudget {
				t.Errorf("%s: part %d has %d tokens", tool, pages, n)
			}
			if w, _ := got["window"].(string); window == "" {
				window = w
			} else if w != window {
				t.Errorf("%s: part %d is of %s, the first of %s", tool, pages, w, window)
			}
			if pages == 0 {
				verdict = got["verdict"]
			}
			if got["verdict"] != verdict {
				t.Errorf("%s: part %d says %q, the first %q", tool, pages, got["verdict"], verdict)
			}
			items, _ := got[of].([]any)
			for _, item := range items {
				b, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, string(b))
			}
			cursor, more := got["next_cursor"].(string)
			if !more {
				if pages == 0 {
					t.Errorf("%s: all is in one part: %d", tool, len(all))
				}
				break
			}
			if len(items) == 0 || pages > 2000 {
				t.Fatalf("%s does not end", tool)
			}
			args["cursor"] = cursor
		}
		// With the largest parts, the list is the same.
		args["limit"] = 1000
		var whole []string
		delete(args, "cursor")
		for {
			var got map[string]any
			call(t, cs, tool, args, &got)
			items, _ := got[of].([]any)
			for _, item := range items {
				b, _ := json.Marshal(item)
				whole = append(whole, string(b))
			}
			cursor, more := got["next_cursor"].(string)
			if !more {
				break
			}
			args["cursor"] = cursor
		}
		if d := cmp.Diff(whole, all); d != "" || len(all) < 10 {
			t.Errorf("%s: %d items in parts, %d at once (-at once +in parts):\n%.2000s", tool, len(all), len(whole), d)
		}
	}
	var first struct {
		NextCursor string `json:"next_cursor"`
	}
	call(t, cs, "fleet.cluster.summary", nil, &first)
	for _, args := range []map[string]any{
		{"cursor": first.NextCursor, "cluster_id": "big"},
		{"cursor": "x"},
		{"cursor": "-1.0@"},
		{"cursor": "99999999999999999999.1"},
		{"cursor": strings.Replace(first.NextCursor, ".", "0.", 1) + "/"},
	} {
		if got := fails(t, cs, "fleet.cluster.summary", args); !strings.Contains(got, "cursor") && !strings.Contains(got, "window") {
			t.Errorf("%v: %s", args, got)
		}
	}
}

// Rows that come while a list is read, of times that were read already, do not move its next parts.
func TestRowsThatComeMeanwhileDoNotMoveParts(t *testing.T) {
	line := func(i int, ago time.Duration, came time.Time) row.Row {
		r := row.Row{
			Series:    &row.Series{Kind: row.Log, Cluster: "c", Node: "n", Rank: row.None, Attrs: `{}`, Resource: `{}`},
			Timestamp: now().Add(-ago).UnixNano(), Received: came.UnixNano(), Record: &row.Record{Body: fmt.Sprint("line ", i)},
		}
		r.Key = row.Key(&r, row.Identity(r.Record.Body))
		return r
	}
	s := filled(t, nil)
	write := func(rows ...row.Row) {
		t.Helper()
		if _, err := s.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 { // of two moments: their texts make the order
		write(line(i, time.Duration(i/5)*time.Minute+time.Second, now()))
	}
	cs, args := connect(t, tools(s)), map[string]any{"limit": 3}
	var got struct {
		Events     []struct{ Text string }
		NextCursor string `json:"next_cursor"`
	}
	seen := map[string]bool{}
	for part := 0; part == 0 || got.NextCursor != ""; part++ {
		got.Events, got.NextCursor = nil, ""
		call(t, cs, "fleet.cluster.event_history", args, &got)
		for _, e := range got.Events {
			if seen[e.Text] {
				t.Errorf("part %d has %q again", part, e.Text)
			}
			seen[e.Text] = true
		}
		// Just committed, received before and after the first part was asked for.
		write(line(100+part, 500*time.Millisecond, now().Add(-time.Second)),
			line(200+part, time.Millisecond, now().Add(time.Second)))
		args["cursor"] = got.NextCursor
	}
	if len(seen) != 10 {
		t.Errorf("%d lines: %v", len(seen), seen)
	}
}

func TestPrompt(t *testing.T) {
	cs := connect(t, tools(filled(t, requests(t))))
	got, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "investigate", Arguments: map[string]string{
		"symptom": "steps take 3 times as long\u202e", "cluster": "east", "window": "15m",
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := got.Messages[0].Content.(*mcp.TextContent).Text
	for _, want := range []string{"3 times as long?", `cluster_id="east"`, `window="15m"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for argument, want := range map[string]string{"cluster": "[demo-cluster]", "window": "[15m 1h 1d 7d all]", "symptom": "[]"} {
		got, err := cs.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "investigate"}, Argument: mcp.CompleteParamsArgument{Name: argument},
		})
		if err != nil || fmt.Sprint(got.Completion.Values) != want {
			t.Errorf("%s: %v, %v; want %s", argument, got, err, want)
		}
	}
	for tool, err := range cs.Tools(t.Context(), nil) {
		if err != nil || !strings.Contains(text, tool.Name) {
			t.Errorf("%v; the prompt does not name %s", err, tool.Name)
		}
	}
}
