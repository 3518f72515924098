package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

// Findings remembers what the live diagnosis said in a run: a cause that is gone again is
// what one comes back to the terminal for.
type Findings struct {
	list   []Finding
	latest *report.Report
	at     time.Time
}

// Finding is a cause that was seen at least once.
type Finding struct {
	Chain       report.Chain // as it was said last
	First, Last time.Time    // that it was said
	Times       int          // that it was said
	Now         bool         // the last report still says it
}

// maxFindings bounds what is remembered; those that were gone first are forgotten first.
const maxFindings = 100

// Add takes a report into account that was made at a time.
func (f *Findings) Add(r *report.Report, at time.Time) {
	f.latest, f.at = r, at
	for i := range f.list {
		f.list[i].Now = false
	}
	for i := range r.Chains {
		c := r.Chains[i]
		n := slices.IndexFunc(f.list, func(x Finding) bool { return x.Chain.ID == c.ID })
		if n < 0 {
			f.list = append(f.list, Finding{First: at})
			n = len(f.list) - 1
		}
		x := &f.list[n]
		x.Chain, x.Last, x.Now = c, at, true
		x.Times++
	}
	if len(f.list) > maxFindings {
		f.sort()
		f.list = f.list[:maxFindings]
	}
}

// severities are those of a chain, worst first.
var severities = []string{"HIGH", "MEDIUM", "LOW"}

// sort puts those first that hold now, the worst first, then those that were gone last.
func (f *Findings) sort() {
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		switch {
		case a.Now != b.Now && a.Now:
			return -1
		case a.Now != b.Now:
			return 1
		case !a.Now:
			return cmp.Or(b.Last.Compare(a.Last),
				cmp.Compare(slices.Index(severities, a.Chain.Severity), slices.Index(severities, b.Chain.Severity)))
		}
		return cmp.Or(cmp.Compare(slices.Index(severities, a.Chain.Severity), slices.Index(severities, b.Chain.Severity)),
			cmp.Compare(b.Chain.LostPct, a.Chain.LostPct))
	})
}

// List returns the findings, the worst of those that hold first, and the last report with
// the time at which it was made; nil if there is none yet.
func (f *Findings) List() ([]Finding, *report.Report, time.Time) {
	f.sort()
	return slices.Clone(f.list), f.latest, f.at
}
