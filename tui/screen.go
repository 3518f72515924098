package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.Screen())
	v.AltScreen = true
	return v
}

// Minimum heights for parts of the screen besides the rows.
const (
	roomForHints  = 14
	roomForAlerts = 16
)

// Screen is the text on the screen: as many lines as its height, none wider than it.
func (m *Model) Screen() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	top, bottom := m.top(), m.bottom()
	top = top[:min(len(top), max(m.height-len(bottom), 0))] // dropped records are shown first
	room := max(m.height-len(top)-len(bottom), 0)
	body := m.body(room)
	for len(body) < room {
		body = append(body, "")
	}
	lines := append(append(top, body[:room]...), bottom...)
	for i := range lines {
		lines[i] = m.fit(lines[i])
	}
	return strings.Join(lines[:min(len(lines), m.height)], "\n")
}

// fit cuts a line to the screen.
func (m *Model) fit(line string) string { return ansi.Truncate(line, m.width, "") }

// top is the state of the run, the tabs, and important messages.
func (m *Model) top() []string {
	lines := []string{m.headline(), m.tabBar()}
	alerts := m.alerts()
	if m.height < roomForAlerts {
		alerts = alerts[:min(len(alerts), 1)]
	}
	return append(lines, alerts...)
}

// headline is the state of the run.
func (m *Model) headline() string {
	name := "ingero trace"
	if m.width < narrow {
		name = "ingero"
	}
	name = m.paint(bold, name)
	state := ""
	switch {
	case m.stopping:
		state = "stopping…"
	case m.paused:
		state = "PAUSED, p goes on"
	}
	if m.latest == nil {
		if state == "" && m.started == "" {
			state = "attaching…"
		}
		return name + "  " + state
	}
	s := &m.latest.status
	parts := []string{report.Elapsed(s.Elapsed)}
	if state != "" {
		parts = append(parts, m.paint(warn, state))
	}
	if m.o.Node != "" && m.width >= narrow {
		parts = append(parts, report.OneLine(m.o.Node))
	}
	if m.width >= narrow {
		parts = append(parts, report.Plural(uint64(len(s.Processes)), "process"))
	}
	parts = append(parts, fmt.Sprintf("%s calls, %s/s", short(s.Calls), report.Rate(s.PerSecond)))
	if s.Syscalls > 0 {
		parts = append(parts, short(s.Syscalls)+" system calls")
	}
	return name + "  " + strings.Join(parts, "  ")
}

// narrow is the width below which titles are cut.
const narrow = 60

// tabBar has the titles of the tabs, with the current one in brackets or reversed.
func (m *Model) tabBar() string {
	var parts []string
	for i, t := range tabs {
		title := fmt.Sprintf("%d %s", i+1, t.title())
		if m.width < narrow {
			title = fmt.Sprintf("%d%.4s", i+1, t.title())
		}
		switch n := t.badge(m); {
		case n > 0 && m.width < narrow:
			title += "!"
		case n > 0:
			title += " (" + short(n) + ")"
		}
		switch {
		case i != m.tab:
			parts = append(parts, " "+title+" ")
		case m.o.Colour:
			parts = append(parts, m.paint(chosen, " "+title+" "))
		default:
			parts = append(parts, "["+title+"]")
		}
	}
	between := " "
	if m.width < narrow {
		between = ""
	}
	return strings.Join(parts, between)
}

// alerts are the last single event, and the worst current finding. The findings tab needs none.
func (m *Model) alerts() []string {
	if m.latest == nil || tabs[m.tab] == findingsTab || m.help {
		return nil
	}
	var list []string
	if p := m.latest.picture; p.Noticed > 0 {
		line := noticeLine(&p.Notices[len(p.Notices)-1])
		if p.Noticed > 1 {
			line += fmt.Sprintf(" (and %s, see 3)", short(p.Noticed-1))
		}
		list = append(list, m.paint(bad, line))
	}
	if f := m.latest.findings; len(f) > 0 && f[0].Now {
		i := warn
		if f[0].Chain.Severity == event.SeverityHigh {
			i = bad
		}
		list = append(list, m.paint(i, findingLine(&f[0].Chain)))
	}
	return list
}

// bottom explains the keys, and shows the state of the tracer. Dropped records come first: they
// must always be visible.
func (m *Model) bottom() []string {
	var lines []string
	if m.typing {
		lines = append(lines, "filter: "+m.state().filter+"_")
	} else if m.height >= roomForHints && !m.help {
		lines = append(lines, m.paint(dim, m.hints()))
	}
	if m.latest == nil {
		return append(lines, "q stops, ? help")
	}
	s := &m.latest.status
	rest := fmt.Sprintf("  ring %.0f %%  tracer %.1f %% CPU, %s", 100*s.Fill, 100*s.CPU, report.Bytes(s.RSS))
	if m.o.Path != "" {
		rest += fmt.Sprintf("  %s in %s", report.Bytes(uint64(max(s.DBBytes, 0))), report.OneLine(m.o.Path))
	}
	lost := report.Losses(s.Losses)
	if head, _, ok := strings.Cut(lost, ", estimated: "); ok && ansi.StringWidth(lost+rest) > m.width {
		lost = head + ", some estimates"
	}
	i := plain
	if strings.HasPrefix(lost, "DROPPED") {
		i = bad
	}
	if u := s.Unwritten; u != nil {
		lost, i = "NOT RECORDED since "+u.Since.Format(time.TimeOnly)+": "+report.OneLine(u.Why), bad
	}
	return append(lines, m.paint(i, lost)+rest)
}

// hints are the keys that work here.
func (m *Model) hints() string {
	s := m.state()
	if s.opened != "" {
		return "Esc back  j k scroll  q stop"
	}
	parts := []string{"? help", "q stop"}
	if o := tabs[m.tab].orders(); len(o) > 1 {
		parts = append(parts, "s sorted by "+o[s.order%len(o)])
	}
	if tabs[m.tab] == ledgerTab {
		parts = append(parts, "w "+windowWord(m.window))
	}
	if s.filter != "" {
		parts = append(parts, "filter "+s.filter+" (Esc)")
	} else {
		parts = append(parts, "/ filter")
	}
	line := parts[0]
	for _, p := range append(parts[1:], "Enter details", "p pause", "Tab next") {
		if ansi.StringWidth(line)+2+ansi.StringWidth(p) > m.width {
			break
		}
		line += "  " + p
	}
	return line
}

// body is what the tab shows, in at most so many lines.
func (m *Model) body(room int) []string {
	switch {
	case m.help:
		return m.scrolled(m.helpText(), room, &m.helpAt)
	case m.shown == nil:
		return wrapped(m.started, m.width)
	}
	p := tabs[m.tab].page(m, m.width)
	s := m.state()
	rows := filtered(p.rows, s.filter)
	if s.opened != "" {
		return m.details(&p, rows, room)
	}
	if room < 8 { // rows are more important than what is around them
		p.above = p.above[:min(len(p.above), 1)]
		p.below = nil
	}
	lines := append([]string{}, p.above[:min(len(p.above), max(room-3, 0))]...)
	below := p.below[:min(len(p.below), max(room-len(lines)-3, 0))]
	left := room - len(lines) - len(below)
	lines = append(lines, m.table(&p, rows, left)...)
	for len(lines) < room-len(below) {
		lines = append(lines, "")
	}
	return append(lines, below...)
}

// table draws as many rows as fit, with the selected one among them.
func (m *Model) table(p *page, rows []row, room int) []string {
	s := m.state()
	if len(rows) == 0 {
		if s.filter != "" && len(p.rows) > 0 {
			return wrapped(fmt.Sprintf("nothing here has %q in it; Esc shows everything", s.filter), m.width)
		}
		return wrapped(p.empty, m.width)
	}
	var lines []string
	widths := layout(p.columns, rows, m.width-1)
	if len(p.columns) > 0 && room > 1 {
		lines = append(lines, m.titles(p.columns, widths, m.width))
		room--
	}
	at := s.chosen(rows)
	if len(rows) > room && room > 1 {
		room-- // for the number of rows
	}
	s.top = min(max(min(s.top, at), at-room+1, 0), max(len(rows)-room, 0))
	end := min(s.top+room, len(rows))
	for i := s.top; i < end; i++ {
		lines = append(lines, m.line(&rows[i], p.columns, widths, i == at, m.width))
	}
	if end-s.top < len(rows) {
		lines = append(lines, m.paint(dim, fmt.Sprintf(" %d to %d of %d", s.top+1, end, len(rows))))
	}
	return lines
}

// details is the text about the opened row.
func (m *Model) details(p *page, rows []row, room int) []string {
	s := m.state()
	for i := range p.rows {
		if r := &p.rows[i]; r.key == s.opened && r.open != nil {
			var lines []string
			for _, l := range r.open(m.width) {
				lines = append(lines, wrapped(l, m.width)...)
			}
			return m.scrolled(lines, room, &s.scroll)
		}
	}
	return []string{"it is not there any more; Esc goes back"}
}

// scrolled is the part of lines that fits.
func (m *Model) scrolled(lines []string, room int, at *int) []string {
	if len(lines) <= room || room < 2 {
		*at = 0
		return lines[:min(len(lines), room)]
	}
	*at = min(*at, len(lines)-room+1)
	part := append([]string{}, lines[*at:min(*at+room-1, len(lines))]...)
	return append(part, m.paint(dim, fmt.Sprintf("lines %d to %d of %d", *at+1, min(*at+room-1, len(lines)), len(lines))))
}

// wrapped splits text into lines.
func wrapped(s string, width int) []string {
	return strings.Split(ansi.Wrap(s, max(width, 1), ""), "\n")
}

// short formats a number in at most six characters.
func short(n uint64) string {
	switch {
	case n < 100_000:
		return report.Count(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n < 1_000_000_000:
		return report.Number(float64(n)/1e6) + "M"
	}
	return report.Number(float64(n)/1e9) + "G"
}

// ago formats the time since something, in a few characters.
func ago(now, then time.Time) string {
	d := max(now.Sub(then), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh", int(d.Hours()))
}

// percent formats a share.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
