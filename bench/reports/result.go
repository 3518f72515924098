package reports

import "fmt"

// Report is the result of all runs.
type Report struct {
	Schema  int      `json:"schema"`
	Final   bool     `json:"final"` // of the cases that nobody tunes on, see Options.Final
	Results []Result `json:"results"`
	// Grades counts the runs with a fault, Controls those without.
	Grades   map[Grade]int `json:"grades"`
	Controls map[Grade]int `json:"controls"`
	// Windows counts the windows that were moved, Same those in which the first finding is of the same kind.
	Windows int `json:"windows"`
	Same    int `json:"same"`
	// Told counts the runs with a fault in which an agent was told all of the truth, see Result.Calls.
	Told int `json:"told"`
}

// Result is a run of a case, and what was said of it.
type Result struct {
	*Case   `json:"case"`
	Way     Way    `json:"way"`
	Seed    int    `json:"seed"`
	Control bool   `json:"control"`
	Skipped string `json:"skipped,omitempty"` // why it did not run
	// Slower is by how much steps were longer with the fault, by the program's own clock, percent.
	Slower  float64 `json:"slower_pct"`
	Verdict string  `json:"verdict"`
	Kind    string  `json:"kind,omitempty"` // of the first finding
	Grade   Grade   `json:"grade,omitempty"`
	// Moved are the grades of what is said without the first three seconds, and without the last three; Same whether the
	// first finding is of the same kind then.
	Moved []Grade `json:"moved,omitempty"`
	Same  []bool  `json:"same,omitempty"`
	// Calls is how many calls of MCP tools an agent makes until it was told all of the truth, if it begins with diagnose
	// and then asks what the answers suggest; 0: it was not told in agent.MaxCalls calls. Tokens is what it had to read.
	Calls     int    `json:"mcp_calls,omitempty"`
	Tokens    int    `json:"mcp_tokens,omitempty"`
	Recording string `json:"recording,omitempty"` // with Options.Keep
}

// title names a run.
func (x *Result) title() string {
	name := fmt.Sprintf("%s, %s, seed %d", x.Name, x.Way, x.Seed)
	if x.Control {
		name += ", control"
	}
	return name
}

// sum counts the grades.
func (r *Report) sum() {
	r.Grades, r.Controls = map[Grade]int{}, map[Grade]int{}
	for i := range r.Results {
		switch x := &r.Results[i]; {
		case x.Skipped != "":
		case x.Control:
			r.Controls[x.Grade]++
		default:
			r.Grades[x.Grade]++
			if x.Calls > 0 {
				r.Told++
			}
		}
		for _, same := range r.Results[i].Same {
			r.Windows++
			if same {
				r.Same++
			}
		}
	}
}
