package mcptool_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// A token is taken to be four bytes of JSON.
const bytesPerToken = 4

// The budgets, in tokens. An answer is counted as it travels: with its structured
// form, its text form and its metadata.
const (
	listBudget   = 3500
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
	cs := connect(t, "nothing.db", mcptool.Options{})
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := tokens(t, list); n > listBudget {
		t.Errorf("tools/list takes %d tokens, more than %d", n, listBudget)
	}
}

// defaults are each tool's arguments when it is called as simply as possible.
var defaults = map[string]map[string]any{
	"diagnose": {}, "get_trace_stats": {}, "get_timeline": {"buckets": 60}, "get_causal_chains": {}, "get_stacks": {},
	"graph_lifecycle": {}, "graph_frequency": {},
	"get_check": {}, "get_test_report": {}, "run_demo": {"scenario": "incident"}, "query_fleet": {"action": "chains"},
	"run_sql": {"sql": "select * from events"},
}

// alike are the tools whose answers hardly depend on the recording.
var alike = map[string]bool{"get_check": true, "run_demo": true, "query_fleet": true, "get_test_report": true}

// recordings are several that differ in what there is much of.
func recordings(t *testing.T) map[string]string {
	paths := demos(t)
	paths["many calls"] = made(t, storetest.Load{Calls: 60_000, Threads: 4})
	paths["many processes"] = manyProcesses(t)
	paths["many graphs"] = manyGraphs(t)
	return paths
}

// demos are the recordings of all scenarios.
func demos(t *testing.T) map[string]string {
	paths := map[string]string{}
	for i := range demo.Scenarios {
		s := &demo.Scenarios[i]
		paths[s.Name] = filepath.Join(t.TempDir(), "demo.db")
		if _, err := demo.Run(t.Context(), s, demo.Options{Replay: "for a test", Keep: paths[s.Name]}); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func TestDefaultAnswersAreWithinTheirBudget(t *testing.T) {
	for what, path := range recordings(t) {
		cs := connect(t, path, mcptool.Options{TestReport: "testdata/test-report.json"})
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			args, ok := defaults[tool.Name]
			if !ok {
				t.Fatalf("%s has no default arguments in this test", tool.Name)
			}
			if alike[tool.Name] && what != "many processes" {
				continue
			}
			res := call(t, cs, tool.Name, args, nil)
			if n := tokens(t, res); n > answerBudget {
				t.Errorf("%s: %s answers in %d tokens, more than %d", what, tool.Name, n, answerBudget)
			}
			if !strings.Contains(textOf(res), `"dropped":`) {
				t.Errorf("%s: %s does not say what was dropped", what, tool.Name)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the schemas of the tools into testdata")

// TestSchemasAreReviewed fails when what clients rely on changes: run it with
// -update, and look at the difference.
func TestSchemasAreReviewed(t *testing.T) {
	cs := connect(t, "nothing.db", mcptool.Options{Version: "test"})
	ctx := t.Context()
	snapshots := map[string]any{"server": map[string]any{
		"instructions": cs.InitializeResult().Instructions, "capabilities": cs.InitializeResult().Capabilities,
	}}
	for tool, err := range cs.Tools(ctx, nil) {
		must(t, err)
		snapshots[tool.Name] = tool
	}
	prompts, err := cs.ListPrompts(ctx, nil)
	must(t, err)
	snapshots["prompts"] = prompts.Prompts
	resources, err := cs.ListResources(ctx, nil)
	must(t, err)
	templates, err := cs.ListResourceTemplates(ctx, nil)
	must(t, err)
	snapshots["resources"] = map[string]any{"resources": resources.Resources, "templates": templates.ResourceTemplates}
	files, err := filepath.Glob("testdata/schema/*.json")
	must(t, err)
	if !*update && len(files) != len(snapshots) {
		t.Errorf("%d snapshots, %d things to compare with them", len(files), len(snapshots))
	}
	for name, v := range snapshots {
		compare(t, name, v)
	}
}

func compare(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	must(t, err)
	path := filepath.Join("testdata", "schema", name+".json")
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, append(b, '\n'), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if d := cmp.Diff(string(want), string(b)+"\n"); d != "" {
		t.Errorf("%s differs (-want +got; -update writes it):\n%s", name, d)
	}
}

// TestSchemasHaveNoNullableTypes: a client that checks strictly rejects them, and
// no tool answers null.
func TestSchemasHaveNoNullableTypes(t *testing.T) {
	cs := connect(t, "nothing.db", mcptool.Options{})
	for tool, err := range cs.Tools(t.Context(), nil) {
		must(t, err)
		b, err := json.Marshal([]any{tool.InputSchema, tool.OutputSchema})
		must(t, err)
		if strings.Contains(string(b), `"null"`) {
			t.Errorf("%s: %s", tool.Name, b)
		}
		if tool.OutputSchema == nil || tool.InputSchema == nil || tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s lacks a schema, or does not say that it only reads", tool.Name)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
