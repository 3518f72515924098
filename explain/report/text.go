package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// TextOptions are options for a report as text.
type TextOptions struct {
	Width int  // columns of the terminal; 0 means 80
	Color bool // use ANSI colours
	Brief bool // leave out details: a report of one finding fits 24 lines of 80 columns
}

// minWidth is the smallest width that is readable.
const minWidth = 40

// WriteText writes a report as text: the verdict first, then every chain with its numbers and what
// to do, then what could not be explained.
func WriteText(w io.Writer, r *Report, o TextOptions) error {
	t := newText(o)
	if t.alone(r) {
		c := &r.Chains[0]
		t.wrap(t.paint(severityColor(c.Severity), "["+string(c.Severity)+"]")+" "+at(c.Effect.Node), t.paint(bold, r.Verdict))
		t.head(r)
		t.chainBody(c)
	} else {
		t.wrap("", t.paint(bold, r.Verdict))
		t.head(r)
		if r.changeFirst() {
			t.changes(r.Changes)
		}
		for i := range r.Chains {
			t.chain(&r.Chains[i])
		}
	}
	for i := range r.NotExplained {
		t.notExplained(&r.NotExplained[i])
	}
	t.inFlight(r.InFlight)
	if !r.changeFirst() {
		t.changes(r.Changes)
	}
	if len(r.Chains) == 0 {
		t.workloads(r.Workloads)
	} else if len(r.Workloads) > 0 {
		t.full(func() { t.workloads(r.Workloads) })
	}
	t.rankEvents(r.RankEvents)
	t.queueWaits(r.QueueWaits)
	t.idle(r.Idle)
	t.ended(r.Ended)
	t.gpuErrors(r.GPUErrors)
	for _, n := range r.Notes {
		t.line("")
		t.wrap("note: ", n)
	}
	t.lost(r.Lost)
	t.stored(r.StoredChains)
	for i := range r.Processes {
		t.process(&r.Processes[i])
	}
	t.footprint(r.Footprint)
	t.sayHidden()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// WriteChain writes one finding as WriteText does.
func WriteChain(w io.Writer, c *Chain, o TextOptions) error {
	t := newText(o)
	t.chain(c)
	_, err := io.WriteString(w, strings.TrimLeft(t.b.String(), "\n"))
	return err
}

// WriteNotExplained writes lost time that has no known cause as WriteText does.
func WriteNotExplained(w io.Writer, n *NotExplained, o TextOptions) error {
	t := newText(o)
	t.notExplained(n)
	_, err := io.WriteString(w, strings.TrimLeft(t.b.String(), "\n"))
	return err
}

// text is a report being written.
type text struct {
	b     strings.Builder
	width int
	color bool

	brief  bool
	hidden bool // something was left out
}

func newText(o TextOptions) *text {
	if o.Width == 0 {
		o.Width = 80
	}
	return &text{width: max(o.Width, minWidth), color: o.Color, brief: o.Brief}
}

// The ANSI colours used.
const (
	bold   = "1"
	dim    = "2"
	red    = "1;31"
	yellow = "33"
	cyan   = "36"
)

func (t *text) paint(code, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line is the only outlet: it cleans what others named, such as files, and leaves our colours.
func (t *text) line(s string) { t.b.WriteString(t.clean(strings.TrimRight(s, " ")) + "\n") }

// wrap writes s behind a label, its further lines indented below the first.
func (t *text) wrap(label, s string) {
	for _, l := range t.wrapped(label, s) {
		t.line(l)
	}
}

func (t *text) wrapped(label, s string) []string {
	return Wrapped(t.width, label, t.clean(strings.Join(strings.Fields(s), " ")))
}

// head says what the report covers.
func (t *text) head(r *Report) {
	parts := []string{}
	if r.Window.ToNS > r.Window.FromNS {
		parts = append(parts, fmt.Sprintf("%s to %s UTC (%s)", clock(r.Window.FromNS, "2006-01-02 15:04:05"),
			clock(r.Window.ToNS, "15:04:05"), Duration(r.Window.ToNS-r.Window.FromNS)))
	}
	parts = append(parts, Count(r.Events)+" calls")
	if r.Node != "" {
		parts = append(parts, "node "+r.Node)
	}
	if r.Window.Note != "" {
		parts = append(parts, r.Window.Note)
	}
	t.wrap("", t.paint(dim, strings.Join(parts, ", ")))
}

// at names the machine, in a report of several.
func at(node string) string {
	if node == "" {
		return ""
	}
	return "[" + Printable(node) + "] "
}

func clock(ns uint64, layout string) string {
	return time.Unix(int64(ns/1e9), int64(ns%1e9)).UTC().Format(layout)
}

func (t *text) chain(c *Chain) {
	t.line("")
	t.wrap(t.paint(severityColor(c.Severity), "["+string(c.Severity)+"]")+" "+at(c.Effect.Node), c.Summary)
	t.chainBody(c)
}

// chainBody writes a finding without its headline.
func (t *text) chainBody(c *Chain) {
	t.path(c.Path, c.Effect.Node)
	if c.LostNS > 0 { // a leak takes memory, not time
		t.wrap("  lost   ", fmt.Sprintf("%s, %s of the thread's time; %s of it explained by %s",
			Duration(c.LostNS), pct(c.LostPct), pct(c.ExplainedPct), Plural(uint64(c.Evidence.Sample), "wait")))
		t.rest(c.Rest)
		t.pattern(c.Pattern)
		t.steps(c)
		t.full(func() { t.effect(&c.Effect) })
	}
	if c.Cause.Detail != "" {
		t.short(briefCause, "  cause  ", c.Cause.Kind+": "+c.Cause.Detail)
	}
	t.culprits(c.Culprits)
	t.owners(c.Owners)
	t.doubts(c)
	if t.brief {
		t.from(c.Stack)
		t.hidden = t.hidden || len(c.Evidence.EventIDs) > 0
	} else {
		t.evidence(c.Evidence.EventIDs)
		t.stack(c.Stack)
	}
	t.fixes(c.Recommendations)
}

// evidence lists the first events to look at.
func (t *text) evidence(ids []string) {
	if len(ids) == 0 {
		return
	}
	view := viewOf(ids[0])
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return viewOf(id) != view })
	t.wrap("  see    ", view+" "+strings.Join(ids[:min(len(ids), 3)], " "))
}

// viewOf returns the SQL view that has an event: gaps between calls and ranks' parts in collective operations have
// their own views.
func viewOf(id string) string {
	switch {
	case strings.HasSuffix(id, "g"):
		return "ledger"
	case strings.HasSuffix(id, "c"):
		return "collectives"
	}
	return "events"
}

// path writes each step below the one it caused. Threads that ran while one was runnable did not
// cause each other and have the same indent.
func (t *text) path(steps []Step, node string) {
	label, indent, parent := "  path   ", 9, 0
	ran := func(i int) bool {
		return i < len(steps) && steps[parent].State == "runnable" && steps[i].Layer == "HOST" && steps[i].State == "running"
	}
	beside := func(i int) bool { // the step after i has the same indent
		return i+1 < len(steps) && (ran(i) && ran(i+1) || steps[i+1].Beside)
	}
	for i := range steps {
		if t.brief && i == briefPath && len(steps) > briefPath+1 {
			t.line(strings.Repeat(" ", indent) + "└ … " + Count(uint64(len(steps)-i)) + " more")
			t.hidden = true
			return
		}
		if i > 0 {
			if i > 1 && !beside(i-1) {
				parent, indent = i-1, indent+2
			}
			label = strings.Repeat(" ", indent) + "└ "
			if beside(i) {
				label = strings.Repeat(" ", indent) + "├ "
			}
		}
		t.step(label, &steps[i], node)
	}
}

// step writes a link of the path, with its time in a column at the right, and its machine if it
// differs from that of the first link.
func (t *text) step(label string, s *Step, node string) {
	who := s.Process
	switch {
	case s.Thread != "" && s.Thread != s.Process:
		who += fmt.Sprintf(" (%s, tid %d)", s.Thread, s.TID)
	case s.PID != s.TID:
		who += fmt.Sprintf(" (tid %d)", s.TID)
	case s.PID != 0:
		who += fmt.Sprintf(" (pid %d)", s.PID)
	}
	if s.Node != node {
		who += " on " + s.Node
	}
	on := ""
	if s.On != "" {
		on = " on " + s.On
	}
	if s.State == "running" && !strings.HasPrefix(s.On, "CPU") && !strings.HasPrefix(s.On, "a CPU") {
		on = ", " + s.On
	}
	body := fmt.Sprintf("%s %s %s%s", s.Layer, who, s.State, on)
	ns := Duration(s.NS)
	room := t.width - visible(label) - visible(ns) - 1
	if pad := room - visible(body); pad >= 0 {
		t.line(label + body + strings.Repeat(" ", pad+1) + ns)
		return
	}
	t.wrap(label, body+" "+ns)
}

func (t *text) effect(e *Effect) {
	what := e.Op + " calls"
	if e.Op == betweenCalls {
		what = "gaps between calls"
	}
	s := fmt.Sprintf("%s of %s %s slow", Count(e.SlowCalls), Count(e.Calls), what)
	switch {
	case e.SlowCalls == 0: // what counts is their number
		s = Count(e.Calls) + " " + what
	case e.SlowCalls >= e.Calls: // no other calls to compare with
		s = fmt.Sprintf("each of %s %s", Count(e.Calls), what)
	}
	switch k := e.Kinds; {
	case len(k) == 2: // the median of both is usual for neither, or only for one
		s += fmt.Sprintf(": %s took about %s, %s about %s, max %s",
			Count(k[0].Calls), Duration(k[0].P50NS), Count(k[1].Calls), Duration(k[1].P50NS), Duration(e.MaxNS))
	case e.MaxNS > 0:
		s += fmt.Sprintf(": p50 %s, p99 %s, max %s", Duration(e.P50NS), Duration(e.P99NS), Duration(e.MaxNS))
	}
	t.wrap("  calls  ", s)
	if e.Kernel != "" {
		t.wrap("  kernel ", ShortName(e.Kernel, t.width-9))
	}
}

// betweenCalls is the Op of an effect that is not a call.
const betweenCalls = "between calls"

func (t *text) notExplained(n *NotExplained) {
	t.line("")
	where := "in " + n.Effect.Op
	if n.Effect.Op == betweenCalls {
		where = n.Effect.Op
	}
	t.wrap(t.paint(yellow, "[NOT EXPLAINED]")+" "+at(n.Effect.Node),
		fmt.Sprintf("%s (tid %d) lost %s %s, %s of its time; %s explained",
			n.Effect.Process, n.Effect.TID, Duration(n.LostNS), where, pct(n.LostPct), pct(n.ExplainedPct)))
	t.wrap("  why    ", n.Why)
	t.effect(&n.Effect)
}

func (t *text) queueWaits(list []QueueWait) {
	if len(list) > 0 {
		t.line("")
	}
	for _, q := range list {
		why := "the GPU is the limit, and was read as " + pct(q.UtilPct) + " busy"
		if q.UtilPct == 0 {
			why = "it made so many launches for each wait that the queue can have been full; the GPU was not read"
		}
		t.wrap("[GPU-bound] "+at(q.Node), fmt.Sprintf("%s (tid %d) waited for room in the launch queue for %s, %s of its "+
			"time: %s", q.Process, q.TID, Duration(q.NS), pct(q.Pct), why))
	}
}

func (t *text) idle(list []Idle) {
	if len(list) > 0 {
		t.line("")
	}
	for _, i := range list {
		t.wrap("[idle] "+at(i.Node), fmt.Sprintf("%s (tid %d) waited for work for %s, %s of its time, in %s", i.Process,
			i.TID, Duration(i.NS), pct(i.Pct), i.On))
	}
}

// inFlight writes calls in flight that are not reported as a hang.
func (t *text) inFlight(list []InFlight) {
	first := true
	for i := range list {
		f := &list[i]
		if f.Hangs {
			continue
		}
		if first {
			t.line("")
			first = false
		}
		how := "has been in"
		if f.Outcome == "died" {
			how = "ended in"
		}
		age := " for " + Duration(f.AgeNS)
		if f.Outcome == "died" {
			age = " after " + Duration(f.AgeNS)
		}
		t.wrap("[in flight] "+at(f.Node),
			fmt.Sprintf("%s (tid %d) %s %s%s: %s", f.Process, f.TID, how, f.Op, age, f.WaitsFor))
		t.stack(f.Stack)
	}
}

func (t *text) ended(list []Ended) {
	if len(list) > 0 {
		t.line("")
	}
	for _, e := range list {
		t.wrap(t.paint(red, "[OUT OF MEMORY]")+" "+at(e.Node), fmt.Sprintf("%s (%d) was ended by the kernel at %s: %s",
			e.Process, e.PID, time.Unix(0, int64(e.AtNS)).UTC().Format("15:04:05"), e.Why))
	}
}

func (t *text) lost(lost map[string]uint64) {
	parts := dropped(lost)
	if len(parts) == 0 {
		return
	}
	if t.brief {
		t.lostBrief(parts)
		return
	}
	t.line("")
	t.wrap(t.paint(yellow, "not recorded: "), strings.Join(parts, ", "))
}
