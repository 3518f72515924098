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

// Agent is what a trivial agent reached: one that calls diagnose and then only what the answer
// suggests.
type Agent struct {
	// Reached says that it got every injected cause with its culprit; for a control, that it got no
	// finding.
	Reached bool `json:"reached"`
	agent.Told
	Tokens int `json:"tokens"` // that it had to read

	// BeganOff is the difference between the time at which the loss is said to begin and the first
	// strike of a case's only fault, in seconds; nil if either is not known.
	BeganOff *float64 `json:"began_off_s,omitempty"`
	Lost     bool     `json:"lost"` // it got the fault's cost in each step
	Gain     bool     `json:"gain"` // it got the duration of a step without the fault
}

// Agents counts what agents reached.
type Agents struct {
	Cases   int `json:"cases"` // judged cases, with pairs and controls
	Reached int `json:"reached"`

	Began  Part `json:"began"` // it got the first strike within maxBeganOff
	Lost   Part `json:"lost"`
	Gain   Part `json:"gain"`
	Tokens int  `json:"tokens"` // the most that one agent had to read

	Contradictions int `json:"contradictions"` // in all answers
}

// Part is the number of right cases out of all cases.
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

// maxBeganOff is the largest error of the time at which a loss is said to begin, in seconds.
const maxBeganOff = 1

// investigate lets the agent ask about a case's recording.
func (c *Case) investigate(ctx context.Context, db string, t *cudastub.Truth) (*Agent, error) {
	faults := c.injected(t)
	told := make([]bool, len(faults))
	blamed := false
	var right *agent.Finding // the finding about the only fault
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

// judge compares the finding about a case's only fault with the truth.
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
