package mcptool_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/serve/mcptool"
)

// TestEvidenceAndNextQuestionsExist: each handle that diagnose returns is a row of the
// recording, and the questions that it suggests next have non-empty answers.
func TestEvidenceAndNextQuestionsExist(t *testing.T) {
	paths, err := filepath.Glob("../../investigations/*.db")
	must(t, err)
	all := demos(t)
	for _, p := range paths {
		all[filepath.Base(p)] = p
	}
	handles, questions := 0, map[string]int{}
	for what, path := range all {
		cs := connect(t, path, mcptool.Options{})
		var d struct {
			Finding struct{ Evidence []string }
			Next    []struct {
				Tool      string
				Arguments map[string]any
			}
		}
		call(t, cs, "diagnose", map[string]any{"since": "all"}, &d)
		for _, id := range d.Finding.Evidence {
			handles++
			var found struct{ Rows [][]any }
			call(t, cs, "run_sql", map[string]any{"sql": "select id from events where id = '" + id +
				"' union select id from ledger where id = '" + id + "'"}, &found)
			if len(found.Rows) != 1 {
				t.Errorf("%s: the evidence %s is in %d rows", what, id, len(found.Rows))
			}
		}
		for _, n := range d.Next {
			questions[n.Tool]++
			res := call(t, cs, n.Tool, n.Arguments, nil)
			if res.Meta[mcptool.RowsMeta] == 0.0 && n.Tool != "diagnose" && !strings.Contains(textOf(res), "--stack=all") {
				t.Errorf("%s: %s %v is answered with nothing", what, n.Tool, n.Arguments)
			}
		}
	}
	if handles < 20 || questions["run_sql"] < 10 || questions["get_stacks"] < 2 {
		t.Errorf("only %d handles and %v questions were tried", handles, questions)
	}
}
