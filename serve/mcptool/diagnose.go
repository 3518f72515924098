package mcptool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

type diagnoseIn struct {
	scope
	Finding  string `json:"finding,omitempty" jsonschema:"id of another one; default the worst"`
	Baseline string `json:"baseline,omitempty" jsonschema:"to compare with: 0s-30s, rank=0, a --baseline; default none"`
}

type diagnoseOut struct {
	common
	Verdict      data       `json:"verdict"`
	Calls        uint64     `json:"calls"`
	Compared     *compared  `json:"compared,omitempty"`
	Finding      *finding   `json:"finding,omitempty"`
	Began        string     `json:"began,omitempty"`
	PerStep      *stepLoss  `json:"per_step,omitempty" jsonschema:"means"`
	Step         data       `json:"step,omitempty"` // where the time of a step goes, of the finding's thread
	Path         []data     `json:"path" jsonschema:"effect first, root last"`
	Others       []other    `json:"others"`
	NotExplained []data     `json:"not_explained"`
	Ranks        []data     `json:"ranks,omitempty"` // what the fleet said of them
	Next         []question `json:"next"`
}

// stepLoss is what a finding costs in a step, and what its removal gains.
type stepLoss struct {
	NowNS     uint64  `json:"now_ns"`
	LostNS    uint64  `json:"lost_ns"`
	WithoutNS uint64  `json:"without_ns"`
	FasterPct float64 `json:"faster_pct"`
	Remains   data    `json:"remains,omitempty"`
}

func stepLossOf(c *report.Chain) *stepLoss {
	if c.PerStep == nil || c.WhatIf == nil {
		return nil
	}
	w := c.WhatIf
	return &stepLoss{
		NowNS: w.NowNS, LostNS: c.PerStep.LostNS, WithoutNS: w.StepNS, FasterPct: w.FasterBy,
		Remains: prose(w.Remains),
	}
}

// other is a finding in one line.
type other struct {
	ID      string `json:"id"`
	Summary data   `json:"summary"`
}

// question is a call to make next.
type question struct {
	Why  string         `json:"why"`
	Tool string         `json:"tool"`
	Args map[string]any `json:"arguments"`
}

func (d diagnoseOut) rows() int {
	if d.Finding == nil {
		return len(d.Others)
	}
	return 1 + len(d.Others)
}

// The parts of an answer of diagnose.
const (
	maxOthers = 3
	maxShares = 4
	maxGaps   = 2
	maxRanks  = 3
)

var diagnoseTool = tool[diagnoseIn, diagnoseOut]{
	name:  "diagnose",
	about: "Start here: why does the GPU wait, what changed, which rank is slow?",
	run: func(ctx context.Context, s *server, in diagnoseIn) (out diagnoseOut, err error) {
		err = s.explained(ctx, in.scope, &out.common, func(r *report.Report) error {
			if r.Events == 0 && (in.PID != 0 || in.Process != "") {
				out.Note = joined(out.Note, "it is asked for one process only; leave pid and process out for all")
			}
			return out.fill(r, &in)
		})
		if err == nil && in.Baseline != "" {
			out.Compared, err = s.compare(ctx, in.scope, in.Baseline)
		}
		return out, err
	},
}

func (d *diagnoseOut) fill(r *report.Report, in *diagnoseIn) error {
	d.Verdict, d.Calls = prose(r.Verdict), r.Events
	d.Others, d.Path, d.NotExplained = []other{}, []data{}, []data{}
	for _, g := range first(gapsOf(r), maxGaps) {
		d.NotExplained = append(d.NotExplained,
			data(fmt.Sprintf("%s, %s, %s: %s", g.Process, g.Op, report.Duration(g.LostNS), g.Why)))
	}
	for i := range first(r.RankEvents, maxRanks) {
		d.Ranks = append(d.Ranks, prose(r.RankEvents[i].Line()))
	}
	at := 0
	if in.Finding != "" {
		at = slices.IndexFunc(r.Chains, func(c report.Chain) bool { return c.ID == in.Finding })
		if at < 0 {
			return fmt.Errorf("there is no finding %s in this window; there are %s", name(in.Finding), findingIDs(r))
		}
	}
	for i := range r.Chains {
		c := &r.Chains[i]
		switch {
		case i == at:
			f := chainOf(c)
			d.PerStep = stepLossOf(c)
			if c.Pattern != nil {
				d.Began = clock(c.Pattern.FromNS)
			}
			d.Finding, d.Path = &f.finding, append(lines(f.Path), each(shares(c), maxShares, prose)...)
		case len(d.Others) < maxOthers:
			d.Others = append(d.Others, other{ID: c.ID, Summary: data(mcpshape.Cut(string(prose(c.Summary)), maxName))})
		}
	}
	d.Step = stepOf(r, at)
	d.Next = nextOf(r, at, in)
	return nil
}

// stepOf says where a step goes, of the thread of the finding at a place of the list; without findings, of the thread
// that makes most steps.
func stepOf(r *report.Report, at int) data {
	var of *report.Workload
	for i := range r.Workloads {
		w := &r.Workloads[i]
		switch {
		case at < len(r.Chains) && (w.PID != r.Chains[at].Effect.PID || w.TID != r.Chains[at].Effect.TID):
		case of == nil || w.Steps > of.Steps:
			of = w
		}
	}
	if of == nil {
		return ""
	}
	return prose(of.StepWords())
}

func findingIDs(r *report.Report) string {
	var ids []string
	for _, c := range r.Chains {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// nextOf says what to ask after the finding at a place of the list: the later findings
// first, because each stands for time lost to something else; then the reasons for this
// one.
func nextOf(r *report.Report, at int, in *diagnoseIn) []question {
	q := []question{}
	if at+1 < len(r.Chains) {
		c := &r.Chains[at+1]
		why := "the next finding, " + c.Cause.Kind
		if c.LostNS > 0 {
			why += ", which lost " + report.Duration(c.LostNS)
		}
		q = append(q, in.ask(why, "diagnose", map[string]any{"finding": c.ID}))
	}
	if at < len(r.Chains) {
		c := &r.Chains[at]
		switch {
		case c.Cause.Kind == event.CauseMemoryLeak:
			q = append(q, question{"the code that made what is still allocated", "run_sql", map[string]any{"sql": leakQuery(c)}})
		case c.Cause.Kind == event.CauseNUMAMisplacement:
			q = append(q, question{"on which CPUs its threads ran", "run_sql", map[string]any{"sql": cpusQuery(c)}})
		case c.Effect.Op != betweenCalls && c.Effect.Op != "":
			q = append(q, in.aboutCalls(c))
		}
		if sql := evidenceQuery(c); sql != "" {
			q = append(q, question{"who held it up, row by row", "run_sql", map[string]any{"sql": sql}})
		}
	}
	if len(r.Chains) == 0 {
		q = append(q, in.ask("exact figures of every operation", "get_trace_stats", nil),
			in.ask("whether something changed, and when", "get_timeline", nil))
		if n := r.Window.Note; strings.Contains(n, "the recording has ") ||
			strings.HasPrefix(n, "nothing was recorded in this window") {
			q = append(q, question{"all of the recording", "diagnose", map[string]any{"since": "all"}})
		}
	}
	return q
}

// aboutCalls asks for the code that makes the calls of a finding, or for the calls'
// figures if it is known that no stack was taken.
func (in *diagnoseIn) aboutCalls(c *report.Chain) question {
	these := map[string]any{"op": c.Effect.Op, "pid": c.Effect.PID}
	if len(c.Stack) == 0 {
		return in.ask("exact figures of these calls", "get_trace_stats", these)
	}
	return in.ask("the code that makes these calls", "get_stacks", these)
}

// betweenCalls is what a report calls time that was lost outside of calls.
const betweenCalls = "between calls"

// ask is a question about the same part of the recording; args are its other
// arguments, or nil.
func (in *diagnoseIn) ask(why, tool string, args map[string]any) question {
	a := map[string]any{}
	for key, v := range map[string]string{"since": in.Since, "process": in.Process} {
		if v != "" {
			a[key] = v
		}
	}
	if in.PID != 0 {
		a["pid"] = in.PID
	}
	maps.Copy(a, args)
	return question{why, tool, a}
}
