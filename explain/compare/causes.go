package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/explain/report"
)

// Cause is the cost of a cause per unit, on both sides. It is not a part of the difference: its time is already in
// the parts, by operation and class.
type Cause struct {
	Kind  string `json:"kind"`
	Who   string `json:"who,omitempty"`
	State string `json:"state"` // new, gone, more, less
	ANS   int64  `json:"a_ns"`  // lost per unit
	BNS   int64  `json:"b_ns"`
	// Summary is the summary of the finding on the side where it costs more.
	Summary string `json:"summary"`
}

// causes compares the findings about a pair's threads: the same kind with the same culprit is the same cause. It
// leaves out those that cost about as much on both sides.
func causes(a, b *report.Report, t *Thread) []Cause {
	type key struct{ kind, who string }
	by := map[key]*Cause{}
	add := func(r *report.Report, m *Measure, into func(*Cause) *int64) {
		for i := range r.Chains {
			c := &r.Chains[i]
			if c.Effect.PID != m.PID || c.Effect.TID != m.TID || c.LostNS == 0 || m.Units <= 0 {
				continue
			}
			k := key{c.Cause.Kind, who(c)}
			x := by[k]
			if x == nil {
				x = &Cause{Kind: k.kind, Who: k.who}
				by[k] = x
			}
			was := max(x.ANS, x.BNS)
			*into(x) += int64(math.Round(float64(c.LostNS) / m.Units))
			if max(x.ANS, x.BNS) > was {
				x.Summary = c.Summary
			}
		}
	}
	add(a, &t.A, func(c *Cause) *int64 { return &c.ANS })
	add(b, &t.B, func(c *Cause) *int64 { return &c.BNS })
	list := []Cause{}
	least := t.A.UnitNS * math.Max(leastPart, t.NoisePct/400)
	for _, c := range by {
		if d := c.BNS - c.ANS; math.Abs(float64(d)) < least {
			continue
		}
		switch {
		case c.ANS == 0:
			c.State = "new"
		case c.BNS == 0:
			c.State = "gone"
		case c.BNS > c.ANS:
			c.State = "more"
		default:
			c.State = "less"
		}
		list = append(list, *c)
	}
	slices.SortFunc(list, func(x, y Cause) int {
		d := func(c Cause) int64 { return max(c.BNS-c.ANS, c.ANS-c.BNS) }
		return cmp.Or(-cmp.Compare(d(x), d(y)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Who, y.Who))
	})
	return list
}

// who returns whom a finding blames, without ids, which differ from run to run. A thread of the same process is named
// by its own name.
func who(c *report.Chain) string {
	switch {
	case c.Cause.PID == c.Effect.PID && c.Cause.TID == c.Effect.TID:
		return ""
	case c.Cause.PID == c.Effect.PID:
		return c.Cause.Thread
	}
	return c.Cause.Process
}
