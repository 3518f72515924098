package soak

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

const steadyPID = 7

// known are a process that was there before the window, one within it, one after, and one whose id was used again.
func known() lives {
	return lives{of: map[uint32][]*life{
		1:         {{names: []string{"init"}}},
		10:        {{from: 20, to: 30, names: []string{"old"}}},
		11:        {{from: 20, to: 30, names: []string{"old"}}, {from: 95, names: []string{"new"}}},
		12:        {{from: 105, to: 110, names: []string{"worker"}}},
		13:        {{from: 500, names: []string{"late"}}},
		14:        {{from: 105, to: 106, unnamed: true}},
		steadyPID: {{names: []string{"steady"}}},
	}}
}

func TestWrongFindings(t *testing.T) {
	for name, c := range map[string]struct {
		cause report.Cause
		want  string
	}{
		"there all the time":       {report.Cause{PID: 1, Process: "init"}, ""},
		"there meanwhile":          {report.Cause{PID: 12, Process: "worker"}, ""},
		"nobody":                   {report.Cause{}, ""},
		"without a name":           {report.Cause{PID: 12, Process: "pid 12"}, ""},
		"its name was not read":    {report.Cause{PID: 14, Process: "any"}, ""},
		"gone long before":         {report.Cause{PID: 10, Process: "old"}, "it blames old (pid 10), which does not exist"},
		"not there yet":            {report.Cause{PID: 13, Process: "late"}, "it blames late (pid 13), which does not exist"},
		"never there":              {report.Cause{PID: 99, Process: "x"}, "it blames x (pid 99), which does not exist"},
		"its id is another's now":  {report.Cause{PID: 11, Process: "old"}, `it blames old (pid 11), which is ["new"]`},
		"the other one of that id": {report.Cause{PID: 11, Process: "new"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := report.Report{
				Window: report.Window{FromNS: 100e9, ToNS: 130e9},
				Chains: []report.Chain{{ID: "1", Effect: report.Effect{PID: steadyPID, Process: "steady"}, Cause: c.cause}},
			}
			got := strings.Join(wrongFindings(&r, known(), steadyPID, nil), "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
			blind := known()
			blind.blind = true
			if got := wrongFindings(&r, blind, steadyPID, nil); len(got) > 0 {
				t.Errorf("though the kernel dropped some: %q", got)
			}
		})
	}
}

// The path, the culprits and calls in flight name processes, too.
func TestAllProcessesOfAFindingAreJudged(t *testing.T) {
	r := report.Report{
		Window: report.Window{FromNS: 100e9, ToNS: 130e9},
		Chains: []report.Chain{{
			Path:     []report.Step{{PID: 10, Process: "old"}},
			Culprits: []report.Culprit{{PID: 13, Process: "late"}},
			Effect:   report.Effect{PID: 99, Process: "x"},
		}},
		InFlight: []report.InFlight{{PID: 98, Process: "y"}},
	}
	if got := wrongFindings(&r, known(), steadyPID, nil); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

func TestUnfoundedFindings(t *testing.T) {
	own := []second{{unix: 90, excessNS: 900e6}, {unix: 110, excessNS: 200e6}, {unix: 120, excessNS: 100e6}}
	for name, c := range map[string]struct {
		severity event.Severity
		pid      uint32
		lostNS   uint64
		wrong    bool
	}{
		"as much as it says itself": {"HIGH", steadyPID, 300e6, false},
		"somewhat more":             {"HIGH", steadyPID, 650e6, false},
		"far more":                  {"HIGH", steadyPID, 800e6, true},
		"not high":                  {"MEDIUM", steadyPID, 800e6, false},
		"of another program":        {"HIGH", 1, 800e6, false},
	} {
		chain := report.Chain{Severity: c.severity, LostNS: c.lostNS, Effect: report.Effect{PID: c.pid}}
		if got := unfounded(&chain, steadyPID, own, 100, 130); (got != "") != c.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
}
