package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// A pool of graphs grows if more graphs are made than destroyed in each quarter of the time, and
// the growth does not slow down. The first quarter does not count: graphs are expected to be made
// in it.
const (
	minLeftGraphs = 100 // executable graphs made and not destroyed
	poolSteady    = 0.5 // least growth in the last quarter, as a share of that in the second
	poolFast      = 1.0 // graphs a second from which the severity is MEDIUM
)

// left returns how many executable graphs were made and not destroyed.
func (g *graphUse) left() uint64 {
	made, gone := g.calls(graphMake), g.calls(graphDestroy)
	return made - min(gone, made)
}

// growth returns by how many graphs the pool grew in each quarter of the time.
func (g *graphUse) growth() (by [4]int64) {
	for i := range g.seconds {
		by[4*i/len(g.seconds)] += int64(g.seconds[i].made) - int64(g.seconds[i].gone)
	}
	return by
}

func poolGrowth(ev *evidence, g *graphUse) (report.Chain, bool) {
	by := g.growth()
	late := by[1] + by[2] + by[3]
	if len(g.seconds) < 4 || late < minLeftGraphs || by[1] <= 0 || by[2] <= 0 ||
		float64(by[3]) < poolSteady*float64(by[1]) {
		return report.Chain{}, false
	}
	made := g.ops[graphMake]
	span := float64(len(g.seconds)) * 0.75 * float64(max(ev.in.SeriesStep, 1))
	rate, severity := float64(late)/span, event.SeverityLow
	if rate >= poolFast {
		severity = event.SeverityMedium
	}
	c := ev.graphChain(g, event.CauseGraphPool, severity, made)
	c.Evidence.Sample = int(min(g.left(), 1<<31-1))
	c.Summary = fmt.Sprintf("%s keeps ever more executable graphs: %s made and not destroyed, %s more each second",
		c.Cause.Process, report.Count(g.left()),
		report.Number(rate))
	c.Cause.Detail = fmt.Sprintf("%s were made and %s destroyed; in the last quarter of the time %s more, in the "+
		"second %s; each launched %s times",
		report.Count(made.calls), report.Count(g.calls(graphDestroy)), report.Count(uint64(by[3])),
		report.Count(uint64(by[1])),
		report.Number(float64(g.calls(graphLaunch))/float64(max(made.calls, 1))))
	if site := ev.calls.siteOf(made.most); site != "" {
		c.Cause.Detail += "; made by " + site
	}
	for i := range ev.heaps.leaks {
		if l := &ev.heaps.leaks[i]; l.pid == g.pid {
			c.Cause.Detail += fmt.Sprintf("; %s of the process grows by %s meanwhile", l.memory(), l.perMinute())
		}
	}
	graphPath(&c, made.most.Op, "running", c.Effect.Op+" without a destroy", made.most.SumNS)
	c.Recommendations = []string{
		"destroy a graph that will not be launched again, or bound the cache of graphs: each holds device memory for its " +
			"nodes and its private memory pool",
		fmt.Sprintf("give %s few fixed shapes (pad batch and sequence length to a list of sizes), so that a new shape "+
			"needs no new graph", c.Cause.Process),
		"see which graphs are hardly launched: ingero query \"select graph_exec, launches, instantiate_ns from " +
			"graph_execs where destroyed is null order by launches\"",
	}
	return c, true
}
