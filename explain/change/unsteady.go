package change

import (
	"math"

	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

const (
	slowSecond  = 1.25 // times the usual step: a second in which the program stood still for a part
	fewTimes    = 3    // such times
	longestTime = 4    // seconds: one that lasts longer is a phase
	leastBefore = 0.2  // of the seconds, without any before
	byChance    = 0.05 // how probable it may be that all of them come after that by chance
)

// unsteady finds that from some time on steps are far longer now and then, as where a program waits for something again
// and again: there is no level then. No second before had such steps, and as many after it as chance does not explain.
// A few times, long ones, or steps that make other calls are phases, such as validations.
func (f *finder) unsteady(logs []float64) []report.Change {
	n, usual := len(logs), stats.Middle(logs)
	first, slow, times, running, longest := n, 0, 0, 0, 0
	for i, v := range logs {
		if v-usual < math.Log(slowSecond) {
			running = 0
			continue
		}
		if running == 0 {
			times++
		}
		first, slow, running = min(first, i), slow+1, running+1
		longest = max(longest, running)
	}
	if times < fewTimes || longest > longestTime || first < max(f.least, int(leastBefore*float64(n))) {
		return nil
	}
	chance := 1.0 // that slow seconds, put anywhere, are all among the last ones
	for i := range slow {
		chance *= float64(n-first-i) / float64(n-i)
	}
	if chance > byChance {
		return nil
	}
	before, after := part{0, first, 0}, part{first, n, 0}
	c := report.Change{Kind: report.ChangeLevel, AtNS: f.list[first].At, Unsteady: true}
	c, ok := f.describe(c, before, after, f.total(after))
	if !ok || !sameCalls(f.meanStep(f.list[:first]), f.meanStep(f.list[first:])) || c.MoreWork != "" || c.Elsewhere ||
		c.Between || float64(c.AfterNS) < minRatio*float64(c.BeforeNS) {
		return nil
	}
	return []report.Change{c}
}
