package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/nodes"
)

// Nodes asks the other nodes. *nodes.Client implements it.
type Nodes interface {
	Nodes() []string // addresses
	Close()
	Overview(ctx context.Context, s nodes.Scope) ([]wire.Overview, nodes.Coverage, error)
}

// How often the other nodes are asked while their tab is shown, and for which window.
const (
	askEvery = 10 * time.Second
	askAbout = "30s"
)

// nodesState is the last answer of the other nodes.
type nodesState struct {
	asking   bool // an answer, or the next question, is pending
	answered time.Time
	list     []wire.Overview // of the nodes that answered, in order
	coverage nodes.Coverage
	err      error // no node answered
}

type (
	askMsg      struct{}
	answeredMsg struct {
		at       time.Time
		list     []wire.Overview
		coverage nodes.Coverage
		err      error
	}
)

// look starts to ask when the tab is shown.
func (m *Model) look() tea.Cmd {
	if m.o.Nodes == nil || tabs[m.tab] != nodesTab || m.nodes.asking {
		return nil
	}
	m.nodes.asking = true
	return question(m.ctx, m.o.Nodes)
}

// question asks all nodes in a goroutine of its own: the view never blocks.
func question(ctx context.Context, n Nodes) tea.Cmd {
	return func() tea.Msg {
		list, coverage, err := n.Overview(ctx, nodes.Scope{Since: askAbout})
		return answeredMsg{time.Now(), list, coverage, err}
	}
}

// answered stores an answer, and schedules the next question.
func (m *Model) answered(a answeredMsg) tea.Cmd {
	m.nodes.answered, m.nodes.list, m.nodes.coverage, m.nodes.err = a.at, a.list, a.coverage, a.err
	return tea.Tick(askEvery, func(time.Time) tea.Msg { return askMsg{} })
}

// ask asks again if the tab is still shown.
func (m *Model) ask(askMsg) tea.Cmd {
	m.nodes.asking = false
	if m.stopping {
		return nil
	}
	return m.look()
}

// nodes has this machine and, if there are some, others.
type nodesPage struct{}

func (nodesPage) title() string    { return "Nodes" }
func (nodesPage) orders() []string { return nil }

// badge counts nodes that did not answer.
func (nodesPage) badge(m *Model) uint64 { return uint64(len(m.nodes.coverage.Failed)) }

func (n nodesPage) page(m *Model, width int) page {
	p := page{columns: []column{
		{title: "NODE", least: 10},
		{title: "STATE"},
		{title: "CLOCK", right: true, drop: 1},
		{title: "VERDICT", least: 10, fill: true},
	}}
	p.rows = append(p.rows, n.this(m))
	if m.o.Nodes == nil {
		p.below = wrapped(report.OneLine(m.o.NoNodes), width)
		return p
	}
	p.rows = append(p.rows, n.others(m)...)
	switch s := &m.nodes; {
	case s.answered.IsZero():
		p.below = []string{"asking…"}
	default:
		p.below = []string{m.paint(dim,
			fmt.Sprintf("asked at %s about the last %s, and again every %s while this tab is open",
				s.answered.Format("15:04:05"), askAbout, askEvery))}
		for _, w := range s.coverage.Warnings {
			p.below = append(p.below, m.paint(warn, report.OneLine(w)))
		}
	}
	return p
}

// this is this machine's row.
func (nodesPage) this(m *Model) row {
	verdict := "nothing is diagnosed, because nothing is recorded"
	if m.o.Path != "" {
		verdict = "not diagnosed yet"
	}
	if r := m.shown.report; r != nil {
		verdict = r.Verdict
	}
	return row{
		key: "this",
		cells: []cell{
			text(report.OneLine(cmp.Or(m.o.Node, "this machine"))), text("here"), text("-"),
			text(report.OneLine(verdict)),
		},
		open: func(width int) []string { return wrapped(report.OneLine(verdict), width) },
	}
}

// others has a row for each address, whether it answered or not.
func (n nodesPage) others(m *Model) []row {
	s := &m.nodes
	var rows []row
	at := 0
	for _, address := range m.o.Nodes.Nodes() {
		failed := slices.IndexFunc(s.coverage.Failed, func(f nodes.Failure) bool { return f.Node == address })
		switch {
		case s.answered.IsZero():
			rows = append(rows,
				row{key: address, cells: []cell{text(report.OneLine(address)), text("asking"), text("-"), text("")}})
		case failed >= 0:
			why := report.OneLine(s.coverage.Failed[failed].Error)
			rows = append(rows, row{
				key:   address,
				cells: []cell{text(report.OneLine(address)), {text: "MISSING", style: bad}, text("-"), {text: why, style: bad}},
				open:  func(width int) []string { return wrapped(report.OneLine(address)+": "+why, width) },
			})
		case at < len(s.list):
			rows = append(rows, n.answer(m, address, &s.list[at]))
			at++
		}
	}
	return rows
}

func (nodesPage) answer(m *Model, address string, o *wire.Overview) row {
	name := report.OneLine(o.Node)
	clock := "-"
	long := "Its clock could not be read."
	for _, c := range m.nodes.coverage.Clocks {
		if c.Node == address {
			clock = signed(c.Offset)
			long = fmt.Sprintf("Its clock is %s of this machine's, ± %s.", way(c.Offset), report.Duration(uint64(c.Bound)))
		}
	}
	state := cell{text: "ok"}
	switch {
	case o.Findings[event.SeverityHigh] > 0:
		state = cell{string(event.SeverityHigh), bad, nil}
	case o.Findings[event.SeverityMedium] > 0:
		state = cell{string(event.SeverityMedium), warn, nil}
	}
	return row{
		key:   address,
		cells: []cell{text(name), state, text(clock), text(report.OneLine(o.Verdict))},
		open: func(width int) []string {
			lines := []string{m.paint(bold, name+" at "+report.OneLine(address)), ""}
			lines = append(lines, wrapped(report.OneLine(o.Verdict), width)...)
			lines = append(lines, "", long, report.Plural(o.Calls, "call")+" are in its recording "+report.OneLine(o.DB)+".")
			lost := uint64(0)
			for _, v := range o.Lost {
				lost += v
			}
			return append(lines, report.Plural(lost, "record")+" of the last "+askAbout+" were dropped or are estimates.", "",
				"All of it: ingero explain --nodes "+report.OneLine(address))
		},
	}
}

// signed formats an offset between clocks in a few characters.
func signed(d time.Duration) string {
	if d < 0 {
		return "-" + report.Compact(uint64(-d))
	}
	return "+" + report.Compact(uint64(d))
}

// way describes an offset between clocks.
func way(d time.Duration) string {
	if d < 0 {
		return report.Duration(uint64(-d)) + " behind that"
	}
	return report.Duration(uint64(d)) + " ahead"
}
