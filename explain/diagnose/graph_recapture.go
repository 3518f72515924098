package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Making graphs is reported if it goes on after the beginning, and takes this share of the thread's
// time or stalls it.
const (
	minCapturePct  = 2.0
	beginningShare = 0.25 // share of the thread's time, at its beginning, in which graphs are expected to be made
	minRecaptures  = 3    // graphs made after the beginning
)

// captures is what a thread did to make graphs.
type captures struct {
	ops      []*store.OpStat // the operations of making graphs
	sum      uint64          // ns
	made     uint64          // graphs made executable or updated
	late     uint64          // of them, after the beginning
	launched uint64          // graph launches
	longest  uint64          // longest call, ns
	between  uint64          // from the begin of a capture to its end, outside of these calls, ns
}

func (cs *callStats) capturesOf(t *subject) captures {
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
	c.between = cs.whileCapturing(t)
	for _, o := range c.ops {
		if o.Op.GraphStep() == captureEnd {
			c.sum += o.Calls * c.between
		}
	}
	after := t.from + uint64(beginningShare*float64(t.wall()))
	for op := range makes {
		for _, o := range cs.series[threadOp{t.Thread, op}] {
			if o.Second*1e9 >= after {
				c.late += o.Calls
			}
		}
	}
	return c
}

// whileCapturing returns the usual time between the begin and the end of a capture that is not in
// capture calls, ns. It counts as making graphs: the calls made meanwhile are captured and give the
// GPU no work.
func (cs *callStats) whileCapturing(t *subject) uint64 {
	var took []uint64
	for _, span := range cs.in.Spans {
		var began, within uint64
		for _, c := range outermostByProcess(span)[t.PID] {
			if c.TID != t.TID || c.Op.Role() != event.RoleCapture {
				continue
			}
			if strings.HasPrefix(c.Op.GraphStep(), captureBegin) {
				began, within = c.Start, 0
			}
			within += c.Duration * uint64(max(c.Weight, 1))
			if c.Op.GraphStep() == captureEnd && began != 0 {
				all := c.End() - began
				took = append(took, all-min(all, within))
				began = 0
			}
		}
	}
	return stats.Median(took)
}

func (cs *callStats) recaptured(t *subject) bool {
	c := cs.capturesOf(t)
	return c.late >= minRecaptures && (percent(c.sum, t.wall()) >= minCapturePct || c.longest >= uint64(minStall))
}

var causeGraphRecapture = cause{
	kind:           event.CauseGraphRecapture,
	takes:          onCPU | waitsOnGPU,
	claimEpisode:   claimRecapture,
	claimAggregate: aggregateRecaptures,
	describe:       describeRecapture,
}

// claimRecapture takes the time of calls that make a graph beyond the usual, once graphs are known
// to be made again and again. How long such a call takes depends on the graph.
func claimRecapture(ev *evidence, a *account) []claim {
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
	kind := key{kind: event.CauseGraphRecapture}
	return []claim{{acc: a, key: kind, class: event.OnCPU, lost: v, explained: v, stall: v}}
}

// aggregateRecaptures takes the rest of the time of making graphs.
func aggregateRecaptures(ev *evidence, t *subject) []claim {
	if !t.recaptures {
		return nil
	}
	c := ev.calls.capturesOf(t)
	var claims []claim
	for _, o := range c.ops {
		v := t.take(o, t.unattributed.ops[o.Op])
		claims = append(claims, ev.calls.aggregateClaims(t, o, event.CauseGraphRecapture, event.OnCPU, v, o.Calls)...)
	}
	for _, o := range c.ops {
		if o.Op.GraphStep() == captureEnd {
			claims = append(claims, ev.calls.aggregateBeside(t, o, event.CauseGraphRecapture, o.Calls*c.between, 0)...)
		}
	}
	for i := range claims {
		if claims[i].acc.Op.GraphStep() == graphMake {
			claims[i].stall = min(c.longest, claims[i].lost)
		}
	}
	return claims
}

func describeRecapture(ev *evidence, f *finding, c *report.Chain) {
	g := ev.calls.capturesOf(f.sub)
	launched := "none launched"
	if g.launched > 0 {
		launched = fmt.Sprintf("each launched %s times", report.Number(float64(g.launched)/float64(g.made)))
	}
	c.Summary = fmt.Sprintf("%s lost %s making CUDA graphs again: %s made, %s",
		f.process(ev), f.pct(), report.Count(g.made), launched)
	c.Cause.Detail = fmt.Sprintf("%s of %s graphs were made after the first quarter of the time, %s each with capture, "+
		"the longest %s; %s",
		report.Count(g.late), report.Count(g.made), span(g.sum/g.made), span(g.longest), launchedOf(&g))
	site := ev.calls.site(f)
	if site != "" {
		c.Cause.Detail += "; called from " + site
		site = " in " + site
	}
	on := "capture and " + c.Effect.Op
	if f.claims.op().op.GraphStep() == captureEnd {
		on = "capture, mostly between its begin and its end"
	}
	c.Path = []report.Step{f.step(ev, "running", on, f.lost)}
	c.Recommendations = []string{
		fmt.Sprintf("make each graph once and keep it%s; where only parameters change, cudaGraphExecUpdate changes the "+
			"executable graph in place", site),
		fmt.Sprintf("give %s few fixed shapes (pad batch and sequence length to a list of sizes), so that no new shape "+
			"needs a new graph", f.process(ev)),
	}
	c.Recommendations = append(c.Recommendations, ev.procs.advise(f.sub.PID, nil, adviceCaptureEarly)...)
}

func launchedOf(g *captures) string {
	if g.launched == 0 {
		return "no graph was launched"
	}
	return report.Count(g.launched) + " graphs were launched"
}
