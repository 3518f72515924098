package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// findings marks each finding where its evidence is: on the whole recording where it begins, and on
// the thread that lost time at each event of the evidence.
func (t *timeline) findings(chains []*report.Chain) {
	for _, c := range chains {
		th := event.Thread{PID: c.Effect.PID, TID: c.Effect.TID}
		t.thread(th, c.Effect.Thread)
		begin := max(t.o.Report.Window.FromNS, t.first)
		for n, id := range c.Evidence.EventIDs {
			at, ok := momentOf(id, t.o.Window)
			if !ok {
				continue
			}
			t.to.mark(&mark{
				Thread: th, at: at, name: string(c.Severity) + " " + c.Cause.Kind, category: severity(c.Severity),
				args: []arg{{name: "finding", kind: text, s: c.ID}},
			})
			if n == 0 || at < begin {
				begin = at
			}
		}
		name := string(c.Severity) + ": " + c.Summary
		t.to.mark(&mark{at: begin, name: name, category: severity(c.Severity), args: findingArgs(c)})
	}
}

func severity(s event.Severity) string { return "finding_" + strings.ToLower(string(s)) }

// momentOf reads the time from an event's id: the node, the start and perhaps a letter.
func momentOf(id string, w store.Window) (uint64, bool) {
	_, after, ok := cutLast(id, ':')
	if !ok {
		return 0, false
	}
	at, err := strconv.ParseUint(strings.TrimRight(after, "abcdefghijklmnopqrstuvwxyz"), 10, 63)
	return at, err == nil && w.Contains(at)
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func findingArgs(c *report.Chain) []arg {
	a := []arg{
		{name: "finding", kind: text, s: c.ID},
		{name: "severity", kind: text, s: string(c.Severity)},
		{name: "cause", kind: text, s: c.Cause.Kind},
		{name: "detail", kind: text, s: c.Cause.Detail},
		{name: "lost_ns", n: c.LostNS},
		{name: "lost_pct", kind: real, f: c.LostPct},
		{name: "explained_pct", kind: real, f: c.ExplainedPct},
	}
	for i := range c.Path {
		p := &c.Path[i]
		a = append(a, arg{
			name: fmt.Sprintf("path_%d", i+1), kind: text,
			s: fmt.Sprintf("%s %s (pid %d, tid %d) %s on %s, %d ns", p.Layer, p.Process, p.PID, p.TID, p.State, p.On, p.NS),
		})
	}
	for i, r := range c.Recommendations {
		a = append(a, arg{name: fmt.Sprintf("recommendation_%d", i+1), kind: text, s: r})
	}
	return a
}
