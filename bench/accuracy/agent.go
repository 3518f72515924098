package accuracy

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/report"
)

// Agent is what an agent without intelligence reached, that only follows diagnose
// and what it says to ask next.
type Agent struct {
	// Reached says that it was told every injected cause and who is to blame; of a
	// control, that it was told of nothing.
	Reached bool         `json:"reached"`
	Calls   []agent.Call `json:"calls"`
}

// Agents counts them.
type Agents struct {
	Cases   int `json:"cases"` // that count, with pairs and controls
	Reached int `json:"reached"`
}

// investigate lets the agent look at a case's recording.
func (c *Case) investigate(ctx context.Context, db string, t *cudastub.Truth) (*Agent, error) {
	faults := c.injected(t)
	told := make([]bool, len(faults))
	blamed := false
	calls, err := agent.Investigate(ctx, db, func(f *agent.Finding) bool {
		blamed = blamed || !slices.Contains(c.Allowed, f.Kind)
		ch := report.Chain{Cause: report.Cause{
			Kind: f.Kind, Process: f.Culprit.Process, PID: f.Culprit.PID, TID: f.Culprit.TID,
			Thread: cmp.Or(f.Culprit.Thread, f.Culprit.Process),
		}}
		for i := range faults {
			told[i] = told[i] || faults[i].right(&ch)
		}
		return len(told) > 0 && !slices.Contains(told, false)
	})
	a := &Agent{Calls: calls, Reached: !slices.Contains(told, false)}
	if c.Control() {
		a.Reached = !blamed
	}
	return a, err
}

func (r *Report) countAgents(all []*Result) {
	for _, x := range all {
		if x.Agent == nil {
			continue
		}
		r.Agents.Cases++
		if x.Agent.Reached {
			r.Agents.Reached++
		}
	}
}
