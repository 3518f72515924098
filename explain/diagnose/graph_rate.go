package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

// When fewer graph launches are a finding: the launches must have become fewer, and something else
// must have taken their place. A server with fewer requests launches less, too.
const (
	minRates    = 3   // least seconds in each half
	minRate     = 10  // least launches a second
	fallenShare = 0.5 // of the former rate: fewer count as a drop
	fallenFar   = 0.25
	eagerEach   = 2   // least kernels launched one by one for each graph no longer launched
	longerShare = 0.5 // least share of the added time for each launch that is in calls of one operation
	hostShare   = 0.5 // of the time without launches: if the host took so much, it is the reason
)

// graphRates compares the first half of the time in which a process launches with the second.
type graphRates struct {
	before, now       float64  // graphs a second, medians
	kernels, kernelsB float64  // kernels a second, now and before
	longer            event.Op // operation with most of the added time for each launch
	longerBy          float64  // its added time, ns for each launch
	share             float64  // of the added time that is in calls of longer
	since             uint64   // Unix seconds from which on launches were few
	kernelNS          uint64   // ns in the second half in calls that launch kernels one by one
}

// rates reports whether launches became fewer.
func (cs *callStats) rates(g *graphUse) (r graphRates, fell bool) {
	if len(g.seconds) < 2*minRates+2 {
		return r, false
	}
	seconds := g.seconds[1 : len(g.seconds)-1] // the first and the last are not whole seconds
	parts := [2][]graphSecond{seconds[:len(seconds)/2], seconds[len(seconds)/2:]}
	step := float64(max(cs.in.SeriesStep, 1))
	var graphs, kernels [2]float64
	for i, part := range parts {
		var a, b []uint64
		for j := range part {
			a, b = append(a, part[j].launched), append(b, part[j].kernels)
		}
		graphs[i], kernels[i] = float64(stats.Upper(a))/step, float64(stats.Upper(b))/step
	}
	r = graphRates{before: graphs[0], now: graphs[1], kernelsB: kernels[0], kernels: kernels[1]}
	if r.before < minRate || r.now >= fallenShare*r.before {
		return r, false
	}
	for i := len(seconds) - 1; i >= 0 && float64(seconds[i].launched) < step*(r.before+r.now)/2; i-- {
		r.since = seconds[i].at
	}
	r.attribute(parts, step*1e9)
	return r, true
}

// attribute finds the operation that adds most to the time for each launch, compared with before.
func (r *graphRates) attribute(parts [2][]graphSecond, width float64) {
	var launched [2]float64
	ns := [2]map[event.Op]float64{{}, {}}
	for i, part := range parts {
		for j := range part {
			launched[i] += float64(part[j].launched)
			for op, v := range part[j].ns {
				ns[i][op] += float64(v)
				if i == 1 && op.Role() == event.RoleLaunch && op.GraphStep() == "" {
					r.kernelNS += v
				}
			}
		}
	}
	if launched[0] == 0 || launched[1] == 0 {
		return
	}
	all := width * (float64(len(parts[1]))/launched[1] - float64(len(parts[0]))/launched[0])
	for op, v := range ns[1] {
		if by := v/launched[1] - ns[0][op]/launched[0]; by > r.longerBy || by == r.longerBy && op < r.longer {
			r.longer, r.longerBy = op, by
		}
	}
	if all > 0 {
		r.share = r.longerBy / all
	}
}

// eager reports whether kernels are launched one by one instead.
func (r *graphRates) eager() bool { return r.kernels-r.kernelsB >= eagerEach*(r.before-r.now) }

// missing returns the time that the missing launches would have taken, ns, if launches were few in half
// of the seconds.
func (r *graphRates) missing(seconds int) float64 {
	return (1 - r.now/r.before) * float64(seconds) / 2 * 1e9
}

// hostTook returns the time that causes on the host took from the thread of a process that lost most to
// them, ns.
func (ev *evidence) hostTook(pid uint32) float64 {
	var most uint64
	for _, t := range ev.subjects {
		if t.PID == pid {
			most = max(most, t.lostOnHost)
		}
	}
	return float64(most)
}

func launchDrop(ev *evidence, g *graphUse) (report.Chain, bool) {
	r, fell := ev.calls.rates(g)
	if !fell || !r.eager() && r.share < longerShare {
		return report.Chain{}, false
	}
	if !r.eager() && ev.hostTook(g.pid) >= hostShare*r.missing(len(g.seconds)-2) {
		return report.Chain{}, false // the host was late, not the GPU
	}
	severity := event.SeverityLow
	if r.now < fallenFar*r.before {
		severity = event.SeverityMedium
	}
	launch := g.ops[graphLaunch]
	c := ev.graphChain(g, event.CauseGraphLaunchDrop, severity, launch)
	c.Evidence.Sample = len(g.seconds)
	fall := fmt.Sprintf("%s launches fewer graphs: %s a second instead of %s", c.Cause.Process, perSecond(r.now),
		perSecond(r.before))
	at := clockOf(max(r.since, g.seconds[0].at))
	if r.eager() {
		c.Summary = fall + ", and kernels one by one instead"
		c.Cause.Detail = fmt.Sprintf("since about %s %s kernels a second are launched outside of graphs; before, %s", at,
			perSecond(r.kernels), perSecond(r.kernelsB))
		graphPath(&c, launch.most.Op, "running", "kernels launched one by one", r.kernelNS)
		c.Recommendations = append(ev.procs.advise(g.pid, nil, adviceGraphUnused),
			"pad inputs to the sizes that were captured, or capture the sizes that come")
		return c, true
	}
	c.Summary = fmt.Sprintf("%s, because %s takes longer", fall, r.longer)
	c.Cause.Detail = fmt.Sprintf("since about %s each launch spends %s more in %s: %.0f %% of the increase", at,
		span(uint64(r.longerBy)), r.longer, 100*min(r.share, 1))
	graphPath(&c, r.longer, "running", r.longer.String(), uint64(r.longerBy))
	if r.longer.Role() == event.RoleSync {
		c.Recommendations = append(c.Recommendations,
			"the GPU takes longer for each graph: look for more work in it, a lower clock, or another process on the GPU "+
				"(the findings gpu_contention and thermal_throttle, view gpu_snapshots)")
	} else {
		c.Recommendations = append(c.Recommendations, fmt.Sprintf("see what %s does since then: ingero query \"select "+
			"timestamp, calls, avg_ns, max_ns from op_seconds where op = '%[1]s' order by timestamp\"", r.longer))
	}
	return c, true
}

func perSecond(v float64) string { return fmt.Sprintf("%.0f", v) }
