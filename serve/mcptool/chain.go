package mcptool

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// finding is a chain of a report, with the fields that a model needs first.
type finding struct {
	ID           string         `json:"id"`
	Severity     event.Severity `json:"severity"`
	Kind         string         `json:"kind"`
	Summary      data           `json:"summary"`
	LostNS       uint64         `json:"lost_ns" jsonschema:"of the thread"`
	LostPct      float64        `json:"lost_pct" jsonschema:"of its time"`
	ExplainedPct float64        `json:"explained_pct" jsonschema:"of lost_ns"`
	Culprit      party          `json:"culprit"`
	Evidence     []string       `json:"evidence" jsonschema:"NODE:TIME of a call; with g gap between calls, o off CPU, c collective, p process"`
	Fix          []data         `json:"fix"`
}

// chain is a chain of a report with all its fields.
type chain struct {
	finding
	Path   []step `json:"path"`
	Detail data   `json:"detail"`
	Effect effect `json:"effect"`
	Stack  []data `json:"stack,omitempty"`
	Owners []data `json:"owners,omitempty"`
}

// party is a thread of a process.
type party struct {
	Process data   `json:"process"`
	PID     uint32 `json:"pid"`
	TID     uint32 `json:"tid"`
	Thread  data   `json:"thread,omitempty"`
}

// effect is the slow operation.
type effect struct {
	party
	Op     string `json:"op"`
	Kernel data   `json:"kernel,omitempty"`
	Calls  uint64 `json:"calls"`
	Slow   uint64 `json:"slow_calls"`
	P50NS  uint64 `json:"p50_ns"`
	P99NS  uint64 `json:"p99_ns"`
	MaxNS  uint64 `json:"max_ns"`

	Kinds []kindOfCalls `json:"kinds,omitempty"`
}

// step is a link of a path.
type step struct {
	party
	State string `json:"state"` // running, runnable, throttled, blocked
	On    data   `json:"on,omitempty"`
	NS    uint64 `json:"ns"`
}

// The parts of a finding that are shown.
const (
	maxSteps    = 6
	maxEvidence = 4
	maxFrames   = 8
	maxFixes    = 3
)

func partyOf(process string, pid, tid uint32, thread string) party {
	p := party{Process: name(process), PID: pid, TID: tid}
	if thread != process {
		p.Thread = name(thread)
	}
	return p
}

func findingOf(c *report.Chain) finding {
	out := finding{
		ID: c.ID, Severity: c.Severity, Kind: c.Cause.Kind, Summary: prose(c.Summary),
		LostNS: c.LostNS, LostPct: c.LostPct, ExplainedPct: c.ExplainedPct,
		Culprit:  partyOf(c.Cause.Process, c.Cause.PID, c.Cause.TID, c.Cause.Thread),
		Evidence: first(c.Evidence.EventIDs, maxEvidence), Fix: each(c.Recommendations, maxFixes, prose),
	}
	return out
}

// shares are the culprits, if there are several, and what is not explained, as text.
func shares(c *report.Chain) (lines []string) {
	if len(c.Culprits) > 0 {
		var who []string
		for _, v := range c.Culprits {
			who = append(who, fmt.Sprintf("%s %.1f %%", partyOf(v.Process, v.PID, v.TID, v.Thread), v.Pct))
		}
		lines = append(lines, "culprits: "+strings.Join(who, ", "))
	}
	for _, v := range c.Rest {
		lines = append(lines, fmt.Sprintf("not explained: %.1f %% of the %s, %s", v.Pct, v.Of, v.What))
	}
	return lines
}

func chainOf(c *report.Chain) chain {
	out := chain{
		finding: findingOf(c), Path: []step{},
		Detail: prose(strings.Join(append([]string{c.Cause.Detail}, shares(c)...), "; ")),
		Effect: effectOf(&c.Effect), Stack: each(c.Stack, maxFrames, frame),
	}
	for i := range c.Path[:min(len(c.Path), maxSteps)] {
		p := &c.Path[i]
		out.Path = append(out.Path, step{
			party: partyOf(p.Process, p.PID, p.TID, p.Thread), State: p.State, On: prose(p.On), NS: p.NS,
		})
	}
	for i := range c.Owners {
		if t := c.Owners[i].Text; t != "" {
			out.Owners = append(out.Owners, prose(t))
		}
	}
	return out
}

func effectOf(e *report.Effect) effect {
	return effect{
		party: partyOf(e.Process, e.PID, e.TID, e.Thread), Op: e.Op, Kernel: name(e.Kernel),
		Calls: e.Calls, Slow: e.SlowCalls, P50NS: e.P50NS, P99NS: e.P99NS, MaxNS: e.MaxNS, Kinds: kindsOf(e.Kinds),
	}
}

// first are the first n of a list, never nil.
func first[T any](list []T, n int) []T { return append([]T{}, list[:min(len(list), n)]...) }

// each is a list of the first n, cleaned; never nil.
func each(list []string, n int, clean func(string) data) []data {
	out := []data{}
	for _, s := range list[:min(len(list), n)] {
		out = append(out, clean(s))
	}
	return out
}

// lines are the links of a path as text.
func lines(path []step) []data {
	out := []data{}
	for _, s := range path {
		on := ""
		if s.On != "" {
			on = " on " + string(s.On)
			if s.State != "blocked" {
				on = ": " + string(s.On)
			}
		}
		out = append(out, data(fmt.Sprintf("%s %s%s, %s", s.party, s.State, on, report.Duration(s.NS))))
	}
	return out
}

func (p party) String() string {
	s := string(p.Process)
	if p.Thread != "" {
		s += "/" + string(p.Thread)
	}
	return fmt.Sprintf("%s (tid %d)", s, p.TID)
}

// gap is time that was lost for reasons the recording does not show, or a call
// that has not returned.
type gap struct {
	Process data   `json:"process"`
	PID     uint32 `json:"pid"`
	Op      string `json:"op"`
	LostNS  uint64 `json:"lost_ns"`
	Why     data   `json:"why"`
}

// gapsOf are what a report does not explain, then the calls in flight.
func gapsOf(r *report.Report) []gap {
	out := []gap{}
	for i := range r.NotExplained {
		n := &r.NotExplained[i]
		out = append(out, gap{
			Process: name(n.Effect.Process), PID: n.Effect.PID, Op: n.Effect.Op,
			LostNS: n.LostNS, Why: prose(n.Why),
		})
	}
	for i := range r.InFlight {
		f := &r.InFlight[i]
		out = append(out, gap{
			Process: name(f.Process), PID: f.PID, Op: f.Op, LostNS: f.AgeNS,
			Why: prose("has not returned; " + f.Doing + ", waits for " + f.WaitsFor),
		})
	}
	return out
}
