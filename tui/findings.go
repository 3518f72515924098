package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui/live"
)

// findings lists the causes of GPU waits: current ones, and past ones.
type findings struct{}

func (findings) title() string { return "Findings" }

// badge counts current findings and single events.
func (findings) badge(m *Model) uint64 {
	if m.latest == nil {
		return 0
	}
	n := m.latest.picture.Noticed
	for i := range m.latest.findings {
		if m.latest.findings[i].Now {
			n++
		}
	}
	return n
}

func (findings) orders() []string { return nil }

func (f findings) page(m *Model, width int) page {
	s := m.shown
	p := page{columns: []column{{title: "SEVERITY"}, {title: "SEEN", drop: 1}, {title: "WHAT", least: 10, fill: true}}}
	switch {
	case m.o.Path == "":
		p.empty = "Nothing is recorded, so nothing is diagnosed; leave out --record=false."
	case s.report == nil:
		p.empty = "The first diagnosis comes when a few seconds are recorded."
	default:
		for _, line := range wrapped(report.OneLine(s.report.Verdict), width) {
			p.above = append(p.above, m.paint(bold, line))
		}
		p.above = append(p.above, m.paint(dim,
			fmt.Sprintf("the %s up to %s; all of it: ingero explain", span(s.report), s.reported.Format("15:04:05"))), "")
		p.empty = "Nothing was found so far."
	}
	for i := len(s.picture.Notices) - 1; i >= 0; i-- {
		p.rows = append(p.rows, f.notice(&s.picture.Notices[i], s.status.At))
	}
	for i := range s.findings {
		p.rows = append(p.rows, f.row(m, &s.findings[i], s.status.At))
	}
	if s.report != nil {
		for i := range s.report.NotExplained {
			p.rows = append(p.rows, f.notExplained(m, &s.report.NotExplained[i]))
		}
	}
	return p
}

// span says which time a report covers.
func span(r *report.Report) string {
	return report.Duration(r.Window.ToNS - min(r.Window.FromNS, r.Window.ToNS))
}

func (f findings) row(m *Model, x *live.Finding, now time.Time) row {
	c := &x.Chain
	i := warn
	seen := "now"
	switch {
	case !x.Now:
		i, seen = dim, ago(now, x.Last)+" ago"
	case c.Severity == event.SeverityHigh:
		i = bad
	}
	return row{
		key:   "chain " + c.ID,
		cells: []cell{{text: report.OneLine(string(c.Severity)), style: i}, text(seen), text(report.OneLine(c.Summary))},
		open: func(width int) []string {
			head := fmt.Sprintf("first seen %s, last %s, %s", x.First.Format("15:04:05"), x.Last.Format("15:04:05"),
				report.Plural(uint64(x.Times), "time"))
			var b strings.Builder
			_ = report.WriteChain(&b, c, report.TextOptions{Width: width}) // a Builder takes everything
			return append([]string{m.paint(dim, head)}, m.written(b.String())...)
		},
	}
}

func (findings) notExplained(m *Model, n *report.NotExplained) row {
	return row{
		key: fmt.Sprintf("unknown %d %s", n.Effect.TID, n.Effect.Op),
		cells: []cell{
			{text: "?", style: warn},
			text("now"),
			text(report.OneLine(fmt.Sprintf("%s lost %s of its time; not explained", n.Effect.Process,
				fmt.Sprintf("%.0f %%", n.LostPct)))),
		},
		open: func(width int) []string {
			var b strings.Builder
			_ = report.WriteNotExplained(&b, n, report.TextOptions{Width: width}) // a Builder takes everything
			return m.written(b.String())
		},
	}
}

func (findings) notice(n *live.Notice, now time.Time) row {
	line, s := noticeLine(n), bad
	if n.Change != nil || n.Over {
		s = warn
	}
	at := time.Unix(0, int64(n.At))
	return row{
		key:   fmt.Sprintf("notice %d %s", n.At, line),
		cells: []cell{{text: "!", style: s}, text(ago(now, at) + " ago"), {text: line, style: s}},
		open: func(width int) []string {
			return append([]string{at.Format(time.DateTime)}, wrapped(line, width)...)
		},
	}
}

// noticeLine describes a notice in one line.
func noticeLine(n *live.Notice) string {
	if n.OOM != nil {
		return report.OutOfMemory(n.OOM)
	}
	if n.Text != "" {
		return report.OneLine(n.Text)
	}
	if n.Change != nil {
		return report.OneLine("[changed] " + n.Change.Text())
	}
	return report.OneLine("[GPU ERROR] " + n.Xid.String())
}

// findingLine describes a finding in one line.
func findingLine(c *report.Chain) string {
	return report.OneLine("[" + string(c.Severity) + "] " + c.Summary)
}

// labels is the width of the labels in a finding's text.
const labels = 9

// written is a finding's text, with labels in a column of their own.
func (m *Model) written(s string) []string {
	var lines []string
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		line = report.OneLine(line)
		switch {
		case i == 0:
			line = m.paint(bold, line)
		case len(line) > labels && strings.HasPrefix(line, "  ") && line[2] != ' ':
			line = m.paint(accent, line[:labels]) + line[labels:]
		}
		lines = append(lines, line)
	}
	return lines
}
