package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
)

// The kinds of a change.
const (
	ChangeLevel = "level" // steps take longer from then on
	ChangeDrift = "drift" // steps take longer and longer from then on
	ChangeOnce  = "once"  // steps took longer for some time
	// ChangeMemory is a process's memory that grows from then on. It costs no time by itself.
	ChangeMemory = "memory"
)

// Change is a time from which on the steps of a thread took longer, or a process's memory grew.
type Change struct {
	Summary  string       `json:"summary"` // in one sentence
	Kind     string       `json:"kind"`    // level, drift, once, memory
	AtNS     uint64       `json:"at_ns"`   // Unix
	Process  string       `json:"process"`
	PID      uint32       `json:"pid"`
	TID      uint32       `json:"tid"`
	BeforeNS uint64       `json:"before_ns"`           // a step before, back to the previous change
	AfterNS  uint64       `json:"after_ns"`            // a step after, up to the next change; for a drift, at its end
	LostNS   uint64       `json:"lost_ns"`             // by all steps after, up to the next change
	Parts    []ChangePart `json:"parts"`               // of the difference, the largest first; they add up to it
	Cause    string       `json:"cause,omitempty"`     // of the largest part, one of event.Causes; empty: not known
	MoreWork string       `json:"more_work,omitempty"` // set if steps do more work, which may be all there is to it
	PartWork string       `json:"part_work,omitempty"` // the same, if more work explains only a part
	WorkNS   uint64       `json:"work_ns,omitempty"`   // part of LostNS: additional work, at the former speed
	Between  bool         `json:"between,omitempty"`   // most of it is waits between calls: there may be less to do
	Unsteady bool         `json:"unsteady,omitempty"`  // some steps are far longer, others are not: after_ns is the mean
	// Elsewhere: it waits for the GPU at other places in the program than before, and no longer at the former ones: this
	// may be another phase.
	Elsewhere bool `json:"elsewhere,omitempty"`

	UntilNS     uint64 `json:"until_ns,omitempty"`      // Unix, the end of a change that happened once
	PerMinuteNS uint64 `json:"per_minute_ns,omitempty"` // growth of a drift's step per minute
	// Of is the operation whose calls are compared, from one to the next, if steps are not known; for memory, the
	// memory's name.
	Of     string  `json:"of,omitempty"`
	Memory *Growth `json:"memory,omitempty"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Growth is how a process's memory grows.
type Growth struct {
	BeforeBytes    uint64 `json:"before_bytes"`     // until then
	AfterBytes     uint64 `json:"after_bytes"`      // at the end
	PerMinuteBytes uint64 `json:"per_minute_bytes"` // growth
}

// ChangePart is a part of the difference between the steps before and after.
type ChangePart struct {
	NS   int64  `json:"ns"`
	What string `json:"what"`           // "17 instead of 1 cudaStreamSynchronize"
	Code *Code  `json:"code,omitempty"` // of time on a CPU, or of waits between calls: which code it went to, if sampled

	OnCPU  bool        `json:"-"` // it is more time on a CPU, in each call of Op
	Waited bool        `json:"-"` // it is more time between calls in which the thread waited for what Class says
	Class  event.Class `json:"-"`
	Op     event.Op    `json:"-"` // 0: between calls
}

// Sentence describes what changed, when, and the largest part of it.
func (c *Change) Sentence() string {
	s := c.Process + ": " + c.what()
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
	case c.Elsewhere:
		s += "; it waits for the GPU at another place in the program, as in another phase"
	case c.Between:
		s += "; the time is between calls, where it may have had less to do"
	case len(c.Parts) > 0 && c.Parts[0].NS > 0:
		s += ", most of it: " + c.Parts[0].words()
	}
	if c.PartWork != "" {
		s += "; part of it is more work: " + c.PartWork
	}
	return s
}

func (p *ChangePart) words() string {
	switch {
	case p.Code == nil:
		return p.What
	case p.Code.Waits:
		return p.What + ", " + p.Code.Words()
	}
	return p.What + " (" + p.Code.Words() + ")"
}

// what describes what took longer, and when.
func (c *Change) what() string {
	at, after, before := clock(c.AtNS, time.TimeOnly), Duration(c.AfterNS), Duration(c.BeforeNS)
	step, every := "a step", ""
	takes, took, grows := "takes", "took", "grows by"
	if c.Of != "" {
		step, takes, took, grows = c.Of, "is called every", "was called every", "is called later by"
		every = "every "
	}
	switch c.Kind {
	case ChangeMemory:
		return fmt.Sprintf("since %s UTC its %s grows by %s a minute: %s at the end instead of %s", at, c.Of,
			Bytes(c.Memory.PerMinuteBytes), Bytes(c.Memory.AfterBytes), Bytes(c.Memory.BeforeBytes))
	case ChangeOnce:
		return fmt.Sprintf("from %s to %s UTC only, %s %s %s instead of %s%s", at, clock(c.UntilNS, time.TimeOnly), step,
			took, after, every, before)
	case ChangeDrift:
		return fmt.Sprintf("since %s UTC %s %s %s a minute: %s at the end instead of %s", at, step, grows,
			Duration(c.PerMinuteNS), after, before)
	}
	if c.Unsteady {
		return fmt.Sprintf("from %s UTC on %s %s far longer now and then, %s on average instead of %s%s", at, step,
			takes, after, every, before)
	}
	return fmt.Sprintf("from %s UTC on %s %s %s instead of %s%s", at, step, takes, after, every, before)
}

// changeFirst reports whether a change is the verdict.
func (r *Report) changeFirst() bool {
	return slices.ContainsFunc(r.Changes, func(c Change) bool {
		return c.Summary != "" && strings.HasPrefix(r.Verdict, c.Summary)
	})
}

// changes lists the times from which on steps took longer.
func (t *text) changes(list []Change) {
	if len(list) > 0 {
		t.line("")
	}
	for i := range list {
		t.wrap("[changed] "+at(list[i].Node), list[i].Text())
	}
}

// Text returns the sentence with all parts of the difference.
func (c *Change) Text() string {
	var parts []string
	for _, p := range c.Parts[min(1, len(c.Parts)):] {
		sign := "+"
		ns := p.NS
		if ns < 0 {
			sign, ns = "-", -ns
		}
		parts = append(parts, sign+Duration(uint64(ns))+" "+p.words())
	}
	if len(parts) == 0 {
		return c.Summary
	}
	return c.Summary + "; the rest: " + strings.Join(parts, ", ")
}
