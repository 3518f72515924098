package tui

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui/live"
)

// calls lists every operation of every process, and the calls in flight.
type calls struct{}

func (calls) title() string { return "Calls" }

// badge counts calls in flight.
func (calls) badge(m *Model) uint64 {
	if m.latest == nil {
		return 0
	}
	return uint64(len(m.latest.status.InFlight))
}

func (calls) orders() []string { return []string{"process", "rate", "p99", "waits", "errors"} }

// maxFlights bounds the calls in flight listed above the others.
const maxFlights = 100

func (c calls) page(m *Model, width int) page {
	s := &m.shown.status
	p := page{empty: "no call was seen yet; " + m.started}
	for i := range s.InFlight[:min(len(s.InFlight), maxFlights)] {
		f := &s.InFlight[i]
		line := report.Flight(f, uint64(s.At.UnixNano()), s.Whereabouts(i))
		p.rows = append(p.rows, row{
			key: fmt.Sprintf("flight %d %d", f.TID, f.Start), head: line, style: bad,
			open: func(width int) []string { return c.flight(m, f, line, width) },
		})
	}
	if n := len(s.InFlight) - maxFlights; n > 0 {
		p.rows = append(p.rows,
			row{key: "flights", head: fmt.Sprintf("… and %s in flight", report.Plural(uint64(n), "more call"))})
	}
	order := m.state().order
	p.columns = []column{
		{title: "OPERATION", least: 12},
		{title: "CALLS/S", right: true},
		{title: "CALLS", right: true, drop: 4},
		{title: "P50", right: true, drop: 3},
		{title: "P99", right: true},
		{title: "MAX", right: true, drop: 5},
		{title: "ERR", right: true, drop: 6},
		{title: "WAITS FOR", drop: 1},
	}
	if order != 0 {
		p.columns = append([]column{{title: "PROCESS", least: 8, drop: 2}}, p.columns...)
	}
	last := uint32(0)
	for i, o := range sortOps(s.Ops, m.shown.picture, order) {
		r := c.row(m, &o)
		if order != 0 {
			r.cells = append([]cell{text(report.OneLine(o.Comm))}, r.cells...)
		} else if i == 0 || o.PID != last {
			p.rows = append(p.rows, row{
				key: fmt.Sprint(o.PID), head: fmt.Sprintf("%s (%d)", report.OneLine(o.Comm), o.PID),
				style: bold, group: true,
			})
		}
		last = o.PID
		p.rows = append(p.rows, r)
	}
	return p
}

func (c calls) row(m *Model, o *agent.OpStatus) row {
	time := m.shown.picture.Ops[live.OpKey{PID: o.PID, Op: o.Op}]
	errors := cell{text: short(o.Errors)}
	if o.Errors > 0 {
		errors.style = bad
	}
	return row{
		key: fmt.Sprintf("%d %s", o.PID, o.Op),
		cells: []cell{
			text(o.Op.String()), text(report.Rate(o.PerSecond)), text(short(o.Calls)), text(report.Compact(uint64(o.P50))),
			text(report.Compact(uint64(o.P99))), text(report.Compact(uint64(o.Max))), errors, text(waitsFor(&time)),
		},
		open: func(width int) []string { return c.details(m, o, &time, width) },
	}
}

// slight is the minimum share of an operation's time for a wait to be named.
const slight = 0.05

// waitsFor says what the calls of an operation mostly waited for.
func waitsFor(t *live.OpTime) string {
	if t.NS == 0 {
		return ""
	}
	if c, ns := most(&t.Class); float64(ns) >= slight*float64(t.NS) {
		return fmt.Sprintf("%s %s", c.Title(), percent(ns, t.NS))
	}
	return event.OnCPU.Title() + " " + percent(t.OnCPU(), t.NS)
}

// details says how the time of an operation's calls was spent.
func (calls) details(m *Model, o *agent.OpStatus, t *live.OpTime, width int) []string {
	lines := []string{
		m.paint(bold, fmt.Sprintf("%s of %s (%d)", o.Op, report.OneLine(o.Comm), o.PID)), "",
		fmt.Sprintf("%s, %s/s, %s", report.Plural(o.Calls, "call"), report.Rate(o.PerSecond),
			report.Plural(o.Errors, "error")),
		fmt.Sprintf("p50 %s, p99 %s, max %s", report.Duration(uint64(o.P50)), report.Duration(uint64(o.P99)),
			report.Duration(uint64(o.Max))),
		"", fmt.Sprintf("In all they took %s:", report.Duration(t.NS)),
	}
	l := live.Span{NS: t.NS, OnCPU: t.OnCPU(), Class: t.Class}
	return append(lines, m.split(&l, width)...)
}

// flight says how the time of a call in flight was spent.
func (calls) flight(m *Model, f *event.InFlight, line string, width int) []string {
	s := live.Span{OnCPU: f.OnCPU, Class: f.NS}
	l := event.Ledger{NS: f.NS}
	s.NS = s.OnCPU + l.Total()
	lines := append(wrapped(line, width), "", "Since it began, as far as the kernel has told:")
	return append(lines, m.split(&s, width)...)
}

// split lists the classes of a span, each with its time, its share and a bar.
func (m *Model) split(s *live.Span, width int) []string {
	var lines []string
	list := segments(s)
	slices.SortStableFunc(list, func(a, b segment) int { return cmp.Compare(b.ns, a.ns) })
	for _, g := range list {
		label := fmt.Sprintf("  %-13s %9s %6s  ", g.word, report.Duration(g.ns), percent(g.ns, s.NS))
		room := max(width-len(label)-1, 0)
		n := int(float64(g.ns) / float64(max(s.NS, 1)) * float64(room))
		lines = append(lines, label+m.bar([]segment{g}, min(n, room)))
	}
	return lines
}

// sortOps sorts operations: those of a process together, the busiest process first; or in the
// chosen order.
func sortOps(ops []agent.OpStatus, p *live.Picture, order int) []agent.OpStatus {
	busy := map[uint32]float64{}
	for _, o := range ops {
		busy[o.PID] += o.PerSecond
	}
	waits := func(o *agent.OpStatus) uint64 {
		t := p.Ops[live.OpKey{PID: o.PID, Op: o.Op}]
		l := event.Ledger{NS: t.Class}
		return l.Total()
	}
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b agent.OpStatus) int {
		switch order {
		case 1:
			return cmp.Compare(b.PerSecond, a.PerSecond)
		case 2:
			return cmp.Compare(b.P99, a.P99)
		case 3:
			return cmp.Compare(waits(&b), waits(&a))
		case 4:
			return cmp.Compare(b.Errors, a.Errors)
		}
		return cmp.Or(cmp.Compare(busy[b.PID], busy[a.PID]), cmp.Compare(a.PID, b.PID), cmp.Compare(b.PerSecond, a.PerSecond))
	})
	return ops
}
