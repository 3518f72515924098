package mcptool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/echo/arrival"
)

// unknowns is what the comparisons of all clusters' jobs cannot tell.
type unknowns struct {
	reasons  []reason // in the order in which they came
	unjudged int      // late arrivals
	of       []string // their clusters
	clockNS  float64
	clocks   []string // clusters with clocks that differ
	late     int      // ranks that were late, and are not blamed
	jobs     int
}

// reason is why nobody can be blamed in some jobs.
type reason struct {
	why        string
	clusters   []string
	jobs, thin int // of those clusters
}

// addJobs takes in the results of a cluster.
func (u *unknowns) addJobs(cluster string, jobs []arrival.Result) {
	u.jobs += len(jobs)
	thin := map[string]int{}
	for i := range jobs {
		r := &jobs[i]
		if thin[r.Thin]++; r.Unjudged > 0 {
			u.unjudged += r.Unjudged
			u.of = append(u.of, cluster)
		}
		if r.ClockNS > 5*r.ThresholdNS {
			u.clockNS = max(u.clockNS, r.ClockNS)
			u.clocks = append(u.clocks, cluster)
		}
		for k := range r.Late {
			if !r.Late[k].Blamed && r.Thin == "" {
				u.late++
			}
		}
	}
	delete(thin, "")
	for why, n := range thin {
		at := slices.IndexFunc(u.reasons, func(r reason) bool { return r.why == why })
		if at < 0 {
			at, u.reasons = len(u.reasons), append(u.reasons, reason{why: why})
		}
		r := &u.reasons[at]
		r.clusters, r.jobs, r.thin = append(r.clusters, cluster), r.jobs+len(jobs), r.thin+n
	}
	slices.SortFunc(u.reasons, func(a, b reason) int { return strings.Compare(a.why, b.why) })
}

// notes adds it to the answer's note, with few clusters' names.
func (u *unknowns) notes(c *common) {
	for i := range u.reasons {
		r := &u.reasons[i]
		of := some(r.clusters)
		if r.thin < r.jobs {
			of = fmt.Sprintf("%d of %d jobs of %s", r.thin, r.jobs, of)
		}
		c.addNote("by their collectives nobody of %s is blamed: %s", of, r.why)
	}
	if u.unjudged > 0 {
		c.addNote("%s in %s not judged: not known how long ranks had worked before", counted(u.unjudged, "late arrival"),
			some(slices.Compact(u.of)))
	}
	if u.clockNS > 0 {
		c.addNote("clocks of %s differ by %s ms: lateness is not computed of them", some(slices.Compact(u.clocks)),
			fmt.Sprint(ms(u.clockNS)))
	}
}

// nobody is the verdict that nobody is blamed, with what speaks against taking that for a proof.
func (u *unknowns) nobody(seen *stragglersSeen) string {
	thin := 0
	for i := range u.reasons {
		thin += u.reasons[i].thin
	}
	var text string
	if thin == u.jobs && thin > 0 {
		text = "not known: " + u.reasons[0].why + "; no agent reports a straggler"
	} else {
		text = fmt.Sprintf("nobody is blamed: in %d collectives of %d ranks none was late often and long enough, "+
			"and no agent reports a straggler", seen.Collectives, seen.Ranks)
		if thin > 0 {
			text += fmt.Sprintf("; of %d of %d jobs it is not known", thin, u.jobs)
		}
	}
	if u.late > 0 {
		text += fmt.Sprintf("; late now and then: %s, see not_blamed", counted(u.late, "rank"))
	}
	if u.unjudged > 0 {
		text += fmt.Sprintf("; not judged: %s", counted(u.unjudged, "late arrival"))
	}
	return text
}
