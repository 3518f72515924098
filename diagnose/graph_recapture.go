package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// Making graphs is worth a word if it goes on after the beginning, and takes this
// share of the thread's time or stalls it.
const (
	minCapturePct  = 2.0
	beginningShare = 0.25 // of the thread's time, in which graphs are expected to be made
	minRecaptures  = 3    // after it
)

// captures is what a thread did to make graphs.
type captures struct {
	ops      []*store.OpStat // by operation
	sum      uint64          // ns
	made     uint64          // graphs made executable or updated
	late     uint64          // of them, after the beginning
	launched uint64          // graphs
	longest  uint64          // ns of one call
}

func (s *scene) capturesOf(t *subject) captures {
	var c captures
	makes := map[event.Op]bool{}
	for _, o := range t.ops {
		if o.Op.GraphStep() == graphLaunch {
			c.launched += o.Calls
		}
		if o.Op.Role() != event.RoleCapture {
			continue
		}
		c.ops = append(c.ops, o)
		c.sum += itself(o)
		if step := o.Op.GraphStep(); step == graphMake || step == graphUpdate {
			makes[o.Op] = true
			c.made += o.Calls
			c.longest = max(c.longest, o.MaxNS)
		}
	}
	if c.made == 0 {
		return c
	}
	after := t.from + uint64(beginningShare*float64(t.wall()))
	for op := range makes {
		for _, o := range s.series[threadOp{t.Thread, op}] {
			if o.Second*1e9 >= after {
				c.late += o.Calls
			}
		}
	}
	return c
}

func (s *scene) recaptured(t *subject) bool {
	c := s.capturesOf(t)
	return c.late >= minRecaptures && (percent(c.sum, t.wall()) >= minCapturePct || c.longest >= uint64(minStall))
}

// claimRecapture takes what a call that makes a graph took beyond the usual, once
// it is known that they are made again and again: how long one takes depends on
// the graph.
func claimRecapture(s *scene, a *account) []piece {
	if a.role != event.RoleCapture || !a.sub.recaptures {
		return nil
	}
	var v uint64
	for _, c := range append([]event.Class{event.OnCPU}, soft...) {
		v += a.take(c, a.left[c])
	}
	if v == 0 {
		return nil
	}
	return []piece{{acc: a, key: key{kind: GraphRecapture}, class: event.OnCPU, lost: v, explained: v, stall: v}}
}

// recaptures takes all other time of making graphs.
func recaptures(s *scene, t *subject) []piece {
	if !t.recaptures {
		return nil
	}
	c := s.capturesOf(t)
	var pieces []piece
	for _, o := range c.ops {
		v := t.take(o, t.rest.ops[o.Op])
		pieces = append(pieces, s.stand(t, o, GraphRecapture, event.OnCPU, v, o.Calls)...)
	}
	for i := range pieces {
		if pieces[i].acc.Op.GraphStep() == graphMake {
			pieces[i].stall = min(c.longest, pieces[i].lost)
		}
	}
	return pieces
}

func tellRecapture(s *scene, f *finding, c *report.Chain) {
	g := s.capturesOf(f.sub)
	c.Summary = fmt.Sprintf("%s lost %s making CUDA graphs again: %s made, each launched %s times", f.process(s), f.pct(), report.Count(g.made), report.Number(float64(g.launched)/float64(g.made)))
	c.Cause.Detail = fmt.Sprintf("%s of %s graphs were made after the first quarter of the time, %s each with capture, the longest %s; %s",
		report.Count(g.late), report.Count(g.made), span(g.sum/g.made), span(g.longest), launchedOf(&g))
	site := s.site(f)
	if site != "" {
		c.Cause.Detail += "; called from " + site
		site = " in " + site
	}
	c.Path = []report.Step{
		f.step(s, "running", "capture and "+c.Effect.Op, f.lost),
	}
	c.Recommendations = []string{
		fmt.Sprintf("make each graph once and keep it%s; where only parameters change, cudaGraphExecUpdate changes the executable graph in place", site),
		fmt.Sprintf("give %s few fixed shapes (pad batch and sequence length to a list of sizes), so that no new shape needs a new graph", f.process(s)),
	}
	c.Recommendations = append(c.Recommendations, s.advise(f.sub.PID, nil, adviceCaptureEarly)...)
}

func launchedOf(g *captures) string {
	if g.launched == 0 {
		return "no graph was launched"
	}
	return report.Count(g.launched) + " graphs were launched"
}
