package report

import (
	"fmt"
	"strings"
	"time"
)

// Sentence says what changed, when, and what most of it is made of.
func (c *Change) Sentence() string {
	s := fmt.Sprintf("%s: from %s UTC on a step takes %s instead of %s", c.Process,
		time.Unix(0, int64(c.AtNS)).UTC().Format(time.TimeOnly), Duration(c.AfterNS), Duration(c.BeforeNS))
	if c.BeforeNS > 0 {
		times := float64(c.AfterNS) / float64(c.BeforeNS)
		if times >= 2 {
			s += fmt.Sprintf(", %.1f times as long", times)
		} else {
			s += fmt.Sprintf(", %.0f %% longer", 100*(times-1))
		}
	}
	switch {
	case c.MoreWork != "":
		s += "; it is more work, not necessarily slower: " + c.MoreWork
	case c.Between:
		s += "; the time is between calls, where it may have had less to do"
	case len(c.Parts) > 0 && c.Parts[0].NS > 0:
		s += ", most of it: " + c.Parts[0].What
	}
	return s
}

// changes lists the times from which on steps took longer.
func (t *text) changes(list []Change) {
	if len(list) > 0 {
		t.line("")
	}
	for i := range list {
		c := &list[i]
		var parts []string
		for _, p := range c.Parts[min(1, len(c.Parts)):] {
			sign := "+"
			ns := p.NS
			if ns < 0 {
				sign, ns = "-", -ns
			}
			parts = append(parts, sign+Duration(uint64(ns))+" "+p.What)
		}
		s := c.Summary
		if len(parts) > 0 {
			s += "; the rest: " + strings.Join(parts, ", ")
		}
		t.wrap("[changed] "+at(c.Node), s)
	}
}
