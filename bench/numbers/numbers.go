// Package numbers compares the numbers that the tools for agents, SQL and the report tell of a
// recording with what the traced program counted and timed itself.
//
// Of a call's duration the program knows two bounds: the library's own clock within the function,
// and the caller's around it. What a tracer measures lies between the two, so totals, means,
// quantiles and maxima have bounds that need no tolerance but that of a histogram's buckets.
package numbers

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Check is a number that was told, and between which the program knows it to be.
type Check struct {
	Field string  `json:"field"` // TOOL.FIELD or report.FIELD; of a list, of each of its elements
	Told  float64 `json:"told"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Of    string  `json:"of,omitempty"` // the operation or class it is of
}

// Right reports whether the number lies between its bounds.
func (c *Check) Right() bool { return c.Told >= c.Low && c.Told <= c.High }

// Result is what was compared of one recording.
type Result struct {
	Checks []Check  `json:"checks"`
	NoRule []string `json:"no_rule,omitempty"` // fields that nobody compares, and that have no reason for it either
}

// Wrong are the numbers that do not lie between their bounds.
func (r *Result) Wrong() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Right() })
}

// Field is how the numbers of one field compare, over recordings.
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

// Compare asks everything about the recording of a program that told the truth about itself. The
// report is that of the recording, with the table of processes; stolen is the share of the CPUs'
// time that a hypervisor took.
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
