// Package numbers compares the numbers in the answers of the tools for agents, of SQL and of the
// report with what the traced program counted and timed itself.
//
// The program knows two bounds of a call's duration: the library's own clock inside the function,
// and the caller's clock around it. A tracer measures something in between. So totals, means,
// quantiles and maxima have bounds that need no tolerance except for a histogram's buckets.
package numbers

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Check is a number in an answer, and the bounds that the program knows for it.
type Check struct {
	Field string  `json:"field"` // TOOL.FIELD or report.FIELD; of a list, of each of its elements
	Told  float64 `json:"told"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Of    string  `json:"of,omitempty"` // its operation or class
}

// Right reports whether the number is within its bounds.
func (c *Check) Right() bool { return c.Told >= c.Low && c.Told <= c.High }

// Result is the comparison for one recording.
type Result struct {
	Checks []Check  `json:"checks"`
	NoRule []string `json:"no_rule,omitempty"` // fields with neither a rule nor a reason not to be compared
}

// Wrong are the numbers that are not within their bounds.
func (r *Result) Wrong() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Right() })
}

// Field is the result for one field, over recordings.
type Field struct {
	Field    string `json:"field"`
	Compared int    `json:"compared"`
	Wrong    int    `json:"wrong"`
}

// Fields adds up the results of recordings by field.
func Fields(all []*Result) []Field {
	by := map[string]*Field{}
	at := func(name string) *Field {
		if by[name] == nil {
			by[name] = &Field{Field: name}
		}
		return by[name]
	}
	for _, r := range all {
		for i := range r.Checks {
			f := at(r.Checks[i].Field)
			f.Compared++
			if !r.Checks[i].Right() {
				f.Wrong++
			}
		}
		for _, name := range r.NoRule {
			f := at(name)
			f.Compared++
			f.Wrong++
		}
	}
	var list []Field
	for _, f := range by {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Field) int { return cmp.Compare(a.Field, b.Field) })
	return list
}

// Compare asks all questions about the recording of a program that reports the truth about itself.
// r is the recording's report, with the table of processes; stolen is the share of the CPUs' time
// that a hypervisor took.
func Compare(ctx context.Context, db string, t *cudastub.Truth, r *report.Report, stolen float64) (*Result, error) {
	s, err := agent.Open(ctx, db)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	k := newKnown(t, r, stolen)
	res := &Result{Checks: []Check{}}
	for _, q := range questions(t) {
		fields, err := s.Call(ctx, q.tool, q.args)
		if err != nil {
			return nil, err
		}
		if q.read != nil {
			fields = q.read(fields)
		}
		res.walk(k, q.name, fields)
	}
	fields, err := asJSON(r)
	if err != nil {
		return nil, err
	}
	res.walk(k, "report", fields)
	slices.Sort(res.NoRule)
	res.NoRule = slices.Compact(res.NoRule)
	return res, nil
}
