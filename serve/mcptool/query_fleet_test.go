package mcptool_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestQueryFleetAsksAllNodes has one node with a fault, one without calls to speak of, and
// one that is down.
func TestQueryFleetAsksAllNodes(t *testing.T) {
	path := t.TempDir() + "/incident.db"
	incident, err := demo.Find("incident")
	must(t, err)
	_, err = demo.Run(t.Context(), incident, demo.Options{Replay: "for a test", Keep: path})
	must(t, err)
	var addresses []string
	for i, p := range []string{path, made(t, storetest.Load{Calls: 2000})} {
		src := source.New(p)
		t.Cleanup(func() { src.Close() })
		s := httptest.NewServer(nodeapi.New(src, nodeapi.Options{Node: fmt.Sprintf("host-%d", i)}))
		t.Cleanup(s.Close)
		addresses = append(addresses, s.Listener.Addr().String())
	}
	f, err := nodes.New(nodes.Config{Nodes: append(addresses, "127.0.0.1:1")})
	must(t, err)
	t.Cleanup(f.Close)
	cs := connect(t, "nothing.db", mcptool.Options{Nodes: f})
	for _, c := range []struct {
		args      map[string]any
		rows      int // at least
		note, has string
	}{
		{map[string]any{"action": "chains", "since": "all"}, 2, "Fleet Chains: ", "severity node kind"},
		{map[string]any{"action": "ops", "since": "all"}, 3, "", "cudaStreamSynchronize"},
		{map[string]any{"action": "overview"}, 3, "", "verdict"},
		{map[string]any{"action": "sql", "sql": "select count(*) as n from events"}, 2, "1 rows from 2 node(s)", "2 of 3"},
		{map[string]any{"action": "sql", "sql": "select count(*) as n from off_cpu"}, 2, "1 rows from 2 node(s)", "2 of 3"},
	} {
		var out struct {
			Notes []string
			Rows  [][]any
		}
		res := call(t, cs, "query_fleet", c.args, &out)
		if n := tokens(t, res); n > answerBudget {
			t.Errorf("%v answers in %d tokens", c.args, n)
		}
		text := strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(out.Rows))
		if len(out.Rows) < c.rows || !strings.Contains(text, c.has) || !strings.Contains(out.Notes[0], c.note) {
			t.Errorf("%v: %+v", c.args, out)
		}
		if sql, _ := c.args["sql"].(string); strings.Contains(sql, "off_cpu") &&
			(!strings.Contains(fmt.Sprint(out.Notes), "demo: off_cpu has only") ||
				!strings.Contains(fmt.Sprint(out.Notes), "host-1: off_cpu has only")) {
			t.Errorf("%v: notes %q do not say what is counted", c.args, out.Notes)
		}
		if w := strings.Join(out.Notes[1:], "\n"); !strings.Contains(w, "no answer from 127.0.0.1:1: ") {
			t.Errorf("%v: notes %q", c.args, out.Notes)
		}
	}
	for _, args := range []map[string]any{
		{"action": "sql"},
		{"action": "chains", "sql": "select 1"},
		{"action": "ops", "since": "yesterday"},
		{"action": "sql", "sql": "drop table calls"},
	} {
		fails(t, cs, "query_fleet", args)
	}
}
