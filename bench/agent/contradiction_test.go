package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestContradictionsAreFound has answers for each rule that break it, and some that do not.
func TestContradictionsAreFound(t *testing.T) {
	const window = `"window":"2026-11-20T14:00:00Z/2026-11-20T14:00:10Z"`
	for _, c := range []struct {
		answers []string
		want    string // in what is found; empty: nothing
	}{
		{[]string{
			`{` + window + `,"calls":10,"finding":{"id":"a","lost_ns":1500000000,"lost_pct":15,"explained_pct":98.8,
			"summary":"trainer lost 15 % of its time"},"path":["x","not explained: 1.2 % of the hold, on CPU"],
			"began":"2026-11-20T14:00:01Z","per_step":{"now_ns":20,"lost_ns":10,"without_ns":10,"faster_pct":100}}`,
			`{` + window + `,"calls":10,"chains":[{"id":"a","lost_ns":1500000000}]}`,
		}, ""},
		{[]string{`{"finding":{"id":"a","lost_pct":101}}`}, "finding.lost_pct is 101"},
		{[]string{`{"stacks":[{"op_time_pct":-1}]}`}, "stacks.0.op_time_pct is -1"},
		{
			[]string{`{"finding":{"id":"a","explained_pct":99.1},"path":["not explained: 12.0 % of the hold, on CPU"]}`},
			"explains and leaves 111.1 %",
		},
		{[]string{`{"finding":{"id":"a"},"path":["culprits: x (tid 1) 60.0 %, y (tid 2) 50.0 %"]}`}, "add up to 110.0 %"},
		{
			[]string{`{"finding":{"id":"a","lost_ns":5}}`, `{"chains":[{"id":"a","lost_ns":6}]}`},
			"lost_ns of finding a is 5 and 6",
		},
		{[]string{`{"calls":5}`, `{"calls":6}`}, "number of calls"},
		{[]string{`{"dropped":{"call":"21 calls"}}`, `{"dropped":{"call":"24 calls"}}`}, "what was dropped"},
		{[]string{`{` + window + `,"finding":{"id":"a","lost_ns":11000000000}}`}, "lost 1.1e+10 ns of 1e+10"},
		{
			[]string{`{"per_step":{"now_ns":20,"lost_ns":30,"without_ns":10,"faster_pct":100}}`},
			"lost_ns of a step is 30 of 20",
		},
		{[]string{`{` + window + `,"began":"2026-11-20T13:59:00Z"}`}, "outside of"},
		{[]string{`{"finding":{"id":"a","lost_pct":30,"summary":"trainer lost 15 % of its time"}}`}, "lost_pct is 30"},
		{[]string{`{"per_step":{"now_ns":20,"lost_ns":10,"without_ns":10,"faster_pct":50}}`}, "50 % faster"},
		{[]string{`{"verdict":"nothing wrong: 5 calls checked","finding":{"id":"a"}}`}, "there is a finding"},
		{[]string{`{"chains":[{"id":"a","detail":"nothing on the host held the calls up: x; in the same calls the thread also ran"}]}`}, "opposite"},
	} {
		var all []statement
		for _, a := range c.answers {
			s := statement{Tool: "diagnose", Args: map[string]any{}}
			if err := json.Unmarshal([]byte(a), &s.Fields); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		got := strings.Join(contradictions(all), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: found %q, want %q", c.answers, got, c.want)
		}
	}
}
