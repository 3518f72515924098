package report

import (
	"fmt"
	"strings"
	"time"
)

// Change is a time from which on the steps of a thread took longer.
type Change struct {
	Summary  string       `json:"summary"` // in one sentence
	AtNS     uint64       `json:"at_ns"`   // Unix
	Process  string       `json:"process"`
	PID      uint32       `json:"pid"`
	TID      uint32       `json:"tid"`
	BeforeNS uint64       `json:"before_ns"`           // a step before, from the change before it on
	AfterNS  uint64       `json:"after_ns"`            // a step after, up to the next change
	LostNS   uint64       `json:"lost_ns"`             // by all steps after, up to the next change
	Parts    []ChangePart `json:"parts"`               // of the difference, the largest first; they add up to it
	MoreWork string       `json:"more_work,omitempty"` // that steps launch more, which may be all there is to it
	Between  bool         `json:"between,omitempty"`   // most of it is time between calls: there may be less to do

	Node string `json:"node,omitempty"` // in a report of several machines
}

// ChangePart is a part of the difference between the steps before and after.
type ChangePart struct {
	NS   int64  `json:"ns"`
	What string `json:"what"` // "17 instead of 1 cudaStreamSynchronize"
}

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
