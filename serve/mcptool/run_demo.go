package mcptool

import (
	"context"
	"errors"

	"github.com/ingero-io/ingero/explain/report"
)

// Demos are recordings of known faults, which run_demo explains. Who makes the server hands them over: they are
// explained by the program's own diagnosis, and some are made by running a program.
type Demos struct {
	Names   []string
	Explain func(ctx context.Context, name string) (*Demo, error)
}

// Demo is what was found of a known fault.
type Demo struct {
	Story  string         // what the program does wrong
	Expect string         // the kind of cause that is right
	Right  bool           // it was found
	Rank   int            // of its finding in the report, from 1; 0: it has none
	Report *report.Report // of the recording
}

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
	run: func(ctx context.Context, s *server, in demoIn) (out demoOut, err error) {
		if s.opts.Demos.Explain == nil {
			return out, errors.New("this server has no recordings of known faults; run: ingero demo")
		}
		r, err := s.opts.Demos.Explain(ctx, string(in.Scenario))
		if err != nil {
			return out, err
		}
		quoteNames(r.Report)
		out = demoOut{
			Dropped: droppedOf(r.Report.Lost), Story: r.Story, Expect: r.Expect, Right: r.Right,
			Verdict: prose(r.Report.Verdict), Fix: []data{},
		}
		if len(r.Report.Chains) > 0 {
			f := findingOf(&r.Report.Chains[max(r.Rank-1, 0)])
			out.Found, out.Fix = f.Kind, f.Fix
		}
		return out, nil
	},
}
