package accuracy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Agent is what an agent without intelligence reached, that only follows diagnose
// and what it says to ask next.
type Agent struct {
	// Reached says that it was told every injected cause and who is to blame; of a
	// control, that it was told of nothing.
	Reached bool `json:"reached"`
	agent.Told
	Tokens int `json:"tokens"` // that it had to read

	// BeganOff is how far from the first strike of a case's only fault it was told that the loss began, in
	// seconds; nil if either is not known.
	BeganOff *float64 `json:"began_off_s,omitempty"`
	Lost     bool     `json:"lost"` // it was told what the fault takes of a step
	Gain     bool     `json:"gain"` // it was told what a step would take without
}

// Agents counts them.
type Agents struct {
	Cases   int `json:"cases"` // that count, with pairs and controls
	Reached int `json:"reached"`

	Began  Part `json:"began"` // it was told the first strike within maxBeganOff
	Lost   Part `json:"lost"`
	Gain   Part `json:"gain"`
	Tokens int  `json:"tokens"` // most that one had to read

	Contradictions int `json:"contradictions"` // in all that they were told
}

// Part is how many of so many cases.
type Part struct {
	Right int `json:"right"`
	Cases int `json:"cases"`
}

func (p *Part) count(right bool) {
	p.Cases++
	if right {
		p.Right++
	}
}

// maxBeganOff is how far off the moment may be at which a loss is said to have begun, in seconds.
const maxBeganOff = 1

// investigate lets the agent look at a case's recording.
func (c *Case) investigate(ctx context.Context, db string, t *cudastub.Truth) (*Agent, error) {
	faults := c.injected(t)
	told := make([]bool, len(faults))
	blamed := false
	var right *agent.Finding // tells the only fault
	out, err := agent.Investigate(ctx, db, func(f *agent.Finding) bool {
		blamed = blamed || !slices.Contains(c.Allowed, f.Kind)
		ch := report.Chain{Cause: report.Cause{
			Kind: f.Kind, Process: f.Culprit.Process, PID: f.Culprit.PID, TID: f.Culprit.TID,
			Thread: cmp.Or(f.Culprit.Thread, f.Culprit.Process),
		}}
		for i := range faults {
			if faults[i].right(&ch) {
				told[i], right = true, f
			}
		}
		return len(told) > 0 && !slices.Contains(told, false)
	})
	a := &Agent{Told: *out, Tokens: out.Tokens(), Reached: !slices.Contains(told, false)}
	if c.Control() {
		a.Reached = !blamed
	}
	if right != nil && len(faults) == 1 {
		a.judge(right, faults[0].truth)
	}
	return a, err
}

// judge compares what was told of a case's only fault with the truth.
func (a *Agent) judge(f *agent.Finding, t *cudastub.Truth) {
	if t.FirstNS != 0 && !f.Began.IsZero() {
		off := math.Abs(f.Began.Sub(time.Unix(0, t.FirstNS)).Seconds())
		a.BeganOff = &off
	}
	a.Lost = f.PerStep != nil && f.PerStep.LostNS > 0
	a.Gain = f.PerStep != nil && f.PerStep.WithoutNS > 0 && f.PerStep.WithoutNS <= f.PerStep.NowNS
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
		r.Agents.Tokens = max(r.Agents.Tokens, x.Agent.Tokens)
		r.Agents.Contradictions += len(x.Agent.Contradictions)
		if len(x.Expect) != 1 || !x.Agent.Reached {
			continue
		}
		r.Agents.Lost.count(x.Agent.Lost)
		r.Agents.Gain.count(x.Agent.Gain)
		if x.Agent.BeganOff != nil {
			r.Agents.Began.count(*x.Agent.BeganOff <= maxBeganOff)
		}
	}
}
