package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Findings keeps all findings of the live diagnosis in a run, including past ones, so that users can see what they
// missed.
type Findings struct {
	list   []Finding
	latest *report.Report
	at     time.Time
}

// Finding is a chain that was reported at least once.
type Finding struct {
	Chain       report.Chain // as last reported
	First, Last time.Time    // when it was reported
	Times       int          // how often it was reported
	Now         bool         // the last report has it
}

// maxFindings bounds the findings; those that ended first are dropped first.
const maxFindings = 100

// Add adds a report made at a time.
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

// sort puts current findings first, the worst first, then past ones, the latest first.
func (f *Findings) sort() {
	slices.SortStableFunc(f.list, func(a, b Finding) int {
		switch {
		case a.Now != b.Now && a.Now:
			return -1
		case a.Now != b.Now:
			return 1
		case !a.Now:
			return cmp.Or(b.Last.Compare(a.Last),
				event.CompareSeverity(a.Chain.Severity, b.Chain.Severity))
		}
		return cmp.Or(event.CompareSeverity(a.Chain.Severity, b.Chain.Severity),
			cmp.Compare(b.Chain.LostPct, a.Chain.LostPct))
	})
}

// List returns the findings in that order, and the last report with its time; nil if there is none yet.
func (f *Findings) List() ([]Finding, *report.Report, time.Time) {
	f.sort()
	return slices.Clone(f.list), f.latest, f.at
}
