package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// liveView is a table on the terminal that shows every operation of every
// process as it goes on.
type liveView struct {
	c       *console
	log     *lockedBuffer
	record  *agent.Recording
	program *tea.Program
	ready   chan struct{} // closed once there is a program
}

// What the agent tells the table.
type (
	startedMsg agent.Start
	statusMsg  agent.Status
	foundMsg   []report.Chain
	oomMsg     string
	xidsMsg    []store.Xid
	endedMsg   struct{}
)

func (v *liveView) run(ctx context.Context, o agent.Options) (agent.Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &liveModel{stop: cancel, colour: v.c.colour(v.c.out), width: v.c.width(v.c.out)}
	if v.record != nil {
		m.path = v.record.Path
	}
	v.program = tea.NewProgram(m, tea.WithInput(v.c.in), tea.WithOutput(v.c.out), tea.WithoutSignalHandler())
	close(v.ready)
	o.Started = func(s agent.Start) { v.program.Send(startedMsg(s)) }
	o.Sinks = append(o.Sinks, v)

	var sum agent.Summary
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sum, err = agent.Run(ctx, o)
		v.program.Send(endedMsg{})
	}()
	_, viewErr := v.program.Run()
	cancel() // if the table failed, tracing blindly helps nobody
	<-ended
	fmt.Fprint(v.c.err, v.log)
	if err == nil && viewErr != nil {
		err = fmt.Errorf("show the table: %w; without a terminal: ingero trace | cat", viewErr)
	}
	return sum, err
}

// found shows what holds of the last seconds.
func (v *liveView) found(r *report.Report) {
	<-v.ready
	v.program.Send(foundMsg(r.Chains))
}

// Batch implements agent.Sink.
func (v *liveView) Batch(b *store.Batch) {
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeOOM {
			v.program.Send(oomMsg(oomLine(l)))
		}
	}
	if len(b.Xids) > 0 {
		v.program.Send(xidsMsg(slices.Clone(b.Xids)))
	}
}

// Second implements agent.Sink.
func (v *liveView) Second(s *agent.Status) {
	m := statusMsg(*s)
	m.Ops, m.Processes, m.Losses = slices.Clone(s.Ops), slices.Clone(s.Processes), slices.Clone(s.Losses)
	v.program.Send(m)
}

func (v *liveView) summary(s *agent.Summary, next string) error {
	return writeSummary(v.c.out, s, next, report.TextOptions{Width: v.c.width(v.c.out), Color: v.c.colour(v.c.out)})
}

// liveModel is what the table shows.
type liveModel struct {
	stop     func()
	stopping bool
	colour   bool
	path     string
	width    int
	height   int
	start    *agent.Start
	status   *agent.Status
	found    []report.Chain
	ooms     []string    // processes that the kernel ended for lack of memory, in the whole run
	xids     []store.Xid // errors of GPUs, the latest ones
}

// Init implements tea.Model.
func (m *liveModel) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if k := msg.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			m.stopping = true
			m.stop()
		}
	case startedMsg:
		m.start = (*agent.Start)(&msg)
	case statusMsg:
		m.status = (*agent.Status)(&msg)
	case foundMsg:
		m.found = msg
	case oomMsg:
		m.ooms = append(m.ooms, string(msg))
	case xidsMsg:
		m.xids = append(m.xids, msg...)
		m.xids = m.xids[max(0, len(m.xids)-maxXids):]
	case endedMsg:
		return m, tea.Quit
	}
	return m, nil
}

// View implements tea.Model.
func (m *liveModel) View() tea.View {
	view := tea.NewView(m.text())
	view.AltScreen = true
	return view
}

func (m *liveModel) style(s lipgloss.Style) lipgloss.Style {
	if !m.colour {
		return lipgloss.NewStyle()
	}
	return s
}

func (m *liveModel) bold() lipgloss.Style { return m.style(lipgloss.NewStyle().Bold(true)) }
func (m *liveModel) dim() lipgloss.Style  { return m.style(lipgloss.NewStyle().Faint(true)) }
func (m *liveModel) red() lipgloss.Style {
	return m.style(lipgloss.NewStyle().Foreground(lipgloss.Color("9")))
}

func (m *liveModel) text() string {
	if m.width == 0 || m.height == 0 {
		return ""
	}
	end := "q or Ctrl+C stops"
	if m.stopping {
		end = "stopping…"
	}
	switch {
	case m.start == nil:
		return m.fit(m.bold().Render("ingero trace") + "  attaching…  " + m.dim().Render(end))
	case m.status == nil:
		return m.fit(m.bold().Render("ingero trace")+"  "+startLine(m.start, noProcess)) + "\n" + m.fit(m.dim().Render(end))
	}
	head := m.head(end)
	rows := max(m.height-len(head)-2, 1) // the table's own head, and what is left out
	return strings.Join(head, "\n") + "\n" + m.table(rows)
}

// head is the state of the run and what was found in the last seconds.
func (m *liveModel) head(end string) []string {
	s := m.status
	calls := fmt.Sprintf("%s (%s/s)", plural(s.Calls, "call"), rate(s.PerSecond))
	if s.Syscalls > 0 {
		calls += "  " + plural(s.Syscalls, "system call")
	}
	first := fmt.Sprintf("%s  %s  %s  %s  ", m.bold().Render("ingero trace"), clock(s.Elapsed), plural(uint64(len(s.Processes)), "process"), calls)
	lost := lossText(s.Losses)
	if strings.HasPrefix(lost, "LOST") {
		lost = m.red().Render(lost)
	}
	second := fmt.Sprintf("%s  ring %.0f %%  tracer %.1f %% CPU, %s", lost, 100*s.Fill, 100*s.CPU, size(s.RSS))
	if m.path != "" {
		second += fmt.Sprintf("  %s in %s", size(uint64(max(s.DBBytes, 0))), m.path)
	}
	head := []string{m.fit(first + m.dim().Render(end)), m.fit(second)}
	for i := range m.found[:min(len(m.found), maxFound)] {
		c := &m.found[i]
		text := findingLine(c)
		if c.Severity == "HIGH" {
			text = m.red().Render(text)
		}
		head = append(head, m.fit(text))
	}
	for _, line := range m.ooms[max(0, len(m.ooms)-maxOOMs):] {
		head = append(head, m.fit(m.red().Render(line)))
	}
	if n := len(m.ooms) - maxOOMs; n > 0 {
		head = append(head, m.fit(fmt.Sprintf("… and %s before", plural(uint64(n), "process"))))
	}
	for i := range m.xids {
		head = append(head, m.fit(m.red().Render(xidLine(&m.xids[i])+" at "+time.Unix(0, int64(m.xids[i].At)).Format("15:04:05"))))
	}
	for i := range s.InFlight[:min(len(s.InFlight), maxFlights)] {
		head = append(head, m.fit(m.red().Render(flightLine(s, i))))
	}
	if n := len(s.InFlight) - maxFlights; n > 0 {
		head = append(head, m.fit(fmt.Sprintf("… and %d more calls in flight", n)))
	}
	return append(head, "")
}

// maxOOMs is how many of the processes that were ended stand there, the last ones.
const maxOOMs = 3

// maxXids is how many errors of GPUs stand above the table.
const maxXids = 3

// maxFound is how many findings stand above the table.
const maxFound = 3

// fit cuts a line to the screen.
func (m *liveModel) fit(line string) string {
	return lipgloss.NewStyle().MaxWidth(m.width).Render(line)
}

// table has a row per operation, those of a process together, the busiest
// process first.
func (m *liveModel) table(rows int) string {
	ops := byProcess(m.status.Ops)
	more := ""
	if len(ops) > rows {
		more = "\n" + m.dim().Render(fmt.Sprintf("… and %d more", len(ops)-rows))
		ops = ops[:rows]
	}
	t := table.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).
		BorderRight(false).BorderColumn(false).BorderHeader(false).Wrap(false).
		Headers("PROCESS", "OPERATION", "CALLS/S", "CALLS", "P50", "P99", "MAX", "ERRORS").
		StyleFunc(func(row, col int) lipgloss.Style {
			s := lipgloss.NewStyle()
			switch {
			case row == table.HeaderRow:
				s = m.dim()
			case col == 7 && ops[row].Errors > 0:
				s = m.red()
			}
			if col >= 2 {
				s = s.Align(lipgloss.Right)
			}
			return s.PaddingRight(2)
		})
	last := uint32(0)
	for i, o := range ops {
		name := ""
		if i == 0 || o.PID != last {
			name = fmt.Sprintf("%s (%d)", clean(o.Comm), o.PID)
		}
		last = o.PID
		t.Row(name, o.Op.String(), rate(o.PerSecond), report.Count(o.Calls), duration(o.P50), duration(o.P99), duration(o.Max), report.Count(o.Errors))
	}
	var lines []string
	for line := range strings.SplitSeq(t.String(), "\n") {
		lines = append(lines, m.fit(line))
	}
	return strings.Join(lines, "\n") + more
}

// byProcess sorts operations so that those of a process stand together.
func byProcess(ops []agent.OpStatus) []agent.OpStatus {
	busy := map[uint32]float64{}
	for _, o := range ops {
		busy[o.PID] += o.PerSecond
	}
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b agent.OpStatus) int {
		return cmp.Or(cmp.Compare(busy[b.PID], busy[a.PID]), cmp.Compare(a.PID, b.PID), cmp.Compare(b.PerSecond, a.PerSecond))
	})
	return ops
}
