package mcptool

import (
	"context"

	"github.com/ingero-io/ingero/demo"
)

type demoIn struct {
	Scenario scenario `json:"scenario" jsonschema:"which fault"`
}

type demoOut struct {
	Dropped dropped `json:"dropped"`
	Story   string  `json:"story"`
	Expect  string  `json:"expected_kind"`
	Right   bool    `json:"right"`
	Verdict data    `json:"verdict"`
	Found   string  `json:"found_kind,omitempty"`
	Fix     []data  `json:"fix"`
}

func (d demoOut) rows() int {
	if d.Found == "" {
		return 0
	}
	return 1
}

var runDemoTool = tool[demoIn, demoOut]{
	name:  "run_demo",
	about: "Explain a recording with a known fault.",
	run: func(ctx context.Context, _ *server, in demoIn) (out demoOut, err error) {
		sc, err := demo.Find(string(in.Scenario))
		if err != nil {
			return out, err
		}
		r, err := demo.Run(ctx, sc, demo.Options{Replay: "only recordings are shown here"})
		if err != nil {
			return out, err
		}
		quoteNames(r.Report)
		out = demoOut{
			Dropped: droppedOf(r.Report.Lost), Story: sc.Story, Expect: sc.Expect, Right: r.Right,
			Verdict: prose(r.Report.Verdict), Fix: []data{},
		}
		if len(r.Report.Chains) > 0 {
			f := findingOf(&r.Report.Chains[max(r.Rank-1, 0)])
			out.Found, out.Fix = f.Kind, f.Fix
		}
		return out, nil
	},
}
