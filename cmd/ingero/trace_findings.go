package main

import (
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

// findings remembers what the live diagnosis has reported, for views that show each finding once.
type findings map[string]time.Time // when a chain was last seen, by id

// forget is how long a finding must have been gone to be shown again.
const forget = time.Minute

// fresh returns the chains of a new report that were not there lately.
func (f *findings) fresh(r *report.Report, now time.Time) []report.Chain {
	if *f == nil {
		*f = findings{}
	}
	var list []report.Chain
	for _, c := range r.Chains {
		if last, ok := (*f)[c.ID]; !ok || now.Sub(last) > forget {
			list = append(list, c)
		}
		(*f)[c.ID] = now
	}
	return list
}

// findingLine describes a finding in one line.
func findingLine(c *report.Chain) string { return clean("[" + string(c.Severity) + "] " + c.Summary) }

// changeLine describes a change in one line, as explain does.
func changeLine(c *report.Change) string { return report.OneLine("[changed] " + c.Text()) }
