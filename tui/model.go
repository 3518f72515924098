package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui/live"
)

// Options say what is shown in addition to the run.
type Options struct {
	Colour bool
	Node   string // name of this machine
	Path   string // of the recording; empty: nothing is recorded, and so nothing is diagnosed
	Stop   func() // asks the run to end; it may be called more than once
	Nodes  Nodes  // nil: there are no other nodes
	// NoNodes says, if Nodes is nil, why there are no other nodes, or how to add some.
	NoNodes string
}

// Model is the state of the screen and of the keys pressed. It implements tea.Model.
type Model struct {
	o             Options
	ctx           context.Context // for questions to other nodes
	width, height int
	started       string  // description of the start of the run; empty before it
	latest, shown *second // shown is older than latest while the view is paused
	paused        bool
	stopping      bool
	help          bool
	helpAt        int  // the first help line on the screen
	typing        bool // a filter is being typed
	tab           int
	window        int     // of live.Windows
	states        []state // by tab
	nodes         nodesState
}

// state is the selection in one tab.
type state struct {
	key    string // of the selected row
	at     int    // where it was last shown
	top    int    // the first row on the screen
	order  int    // index in the tab's orders
	filter string
	opened string // key of the row whose details are shown; empty: none
	scroll int    // in the details
}

// second has what arrived with the last second.
type second struct {
	status   agent.Status
	picture  *live.Picture
	findings []live.Finding
	report   *report.Report // the last one, nil if there was none
	reported time.Time      // when it was made
}

// Messages to the view.
type (
	startedMsg string
	secondMsg  *second
	endedMsg   struct{}
)

// NewModel makes a view without data.
func NewModel(o Options) *Model {
	return &Model{o: o, ctx: context.Background(), window: 1, states: make([]state, len(tabs))}
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.typing {
			m.state().filter += report.OneLine(msg.Content)
		}
	case startedMsg:
		m.started = string(msg)
	case secondMsg:
		m.latest = msg
		if !m.paused {
			m.shown = msg
		}
	case askMsg:
		return m, m.ask(msg)
	case answeredMsg:
		return m, m.answered(msg)
	case endedMsg:
		return m, tea.Quit
	}
	return m, nil
}

func (m *Model) state() *state { return &m.states[m.tab] }

// press handles a key.
func (m *Model) press(key tea.KeyPressMsg) tea.Cmd {
	k := key.String()
	switch {
	case k == "ctrl+c":
		m.stop()
		return nil
	case m.typing:
		m.write(key)
		return nil
	case m.help && (k == "down" || k == "j"):
		m.helpAt++
		return nil
	case m.help && (k == "up" || k == "k"):
		m.helpAt = max(m.helpAt-1, 0)
		return nil
	case m.help:
		m.help, m.helpAt = false, 0
		if k != "q" {
			return nil
		}
	}
	if i := slices.Index([]string{"1", "2", "3", "4", "5"}, k); i >= 0 {
		return m.show(i)
	}
	switch k {
	case "q":
		m.stop()
	case "tab", "right", "l":
		return m.show((m.tab + 1) % len(tabs))
	case "shift+tab", "left", "h":
		return m.show((m.tab + len(tabs) - 1) % len(tabs))
	case "?":
		m.help = true
	case "p":
		m.paused = !m.paused
		if !m.paused {
			m.shown = m.latest
		}
	case "w":
		m.window = (m.window + 1) % len(live.Windows)
	default:
		m.pressInTab(k)
	}
	return nil
}

// pressInTab handles a key for the rows of a tab.
func (m *Model) pressInTab(k string) {
	s := m.state()
	page := max(m.height-6, 1)
	switch k {
	case "/":
		m.typing, s.opened = true, ""
	case "s":
		if n := len(tabs[m.tab].orders()); n > 0 {
			s.order, s.key, s.at, s.top = (s.order+1)%n, "", 0, 0
		}
	case "enter":
		if s.opened == "" {
			m.open()
		} else {
			s.opened = ""
		}
	case "esc", "backspace":
		if s.opened != "" {
			s.opened = ""
		} else {
			s.filter = ""
		}
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "ctrl+b":
		m.move(-page)
	case "pgdown", "ctrl+f", "space":
		m.move(page)
	case "home", "g":
		m.move(-1 << 30)
	case "end", "G":
		m.move(1 << 30)
	}
}

func (m *Model) stop() {
	m.stopping = true
	if m.o.Stop != nil {
		m.o.Stop()
	}
}

// show changes the tab. Other nodes are asked only while their tab is shown.
func (m *Model) show(tab int) tea.Cmd {
	m.tab = tab
	return m.look()
}

// maxFilter bounds the length of a filter.
const maxFilter = 64

// write handles a key while a filter is typed.
func (m *Model) write(key tea.KeyPressMsg) {
	s := m.state()
	switch key.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, s.filter = false, ""
	case "backspace":
		if r := []rune(s.filter); len(r) > 0 {
			s.filter = string(r[:len(r)-1])
		}
	default:
		if len(s.filter) < maxFilter {
			s.filter += report.OneLine(key.Text)
		}
	}
	s.key, s.at, s.top = "", 0, 0
}

// rows are those of the shown tab.
func (m *Model) rows() []row {
	if m.shown == nil {
		return nil
	}
	p := tabs[m.tab].page(m, max(m.width, 1))
	return filtered(p.rows, m.state().filter)
}

// chosen is the index of the selected row. If that row is gone, the one in its place is selected.
func (s *state) chosen(rows []row) int {
	if s.key != "" {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.key == s.key }); i >= 0 {
			return i
		}
	}
	return openable(rows, min(s.at, max(len(rows)-1, 0)), 1)
}

// openable is the first row from one on, in a direction, that can be opened. Head rows are skipped.
func openable(rows []row, at, way int) int {
	for i := at; i >= 0 && i < len(rows); i += way {
		if rows[i].open != nil {
			return i
		}
	}
	for i := at; i >= 0 && i < len(rows); i -= way {
		if rows[i].open != nil {
			return i
		}
	}
	return at
}

// move selects another row, or scrolls in the details.
func (m *Model) move(by int) {
	s := m.state()
	if s.opened != "" {
		s.scroll = max(s.scroll+by, 0)
		return
	}
	rows := m.rows()
	if len(rows) == 0 {
		return
	}
	way := 1
	if by < 0 {
		way = -1
	}
	s.at = openable(rows, min(max(s.chosen(rows)+by, 0), len(rows)-1), way)
	s.key = rows[s.at].key
}

// open shows the details of the selected row.
func (m *Model) open() {
	s, rows := m.state(), m.rows()
	if len(rows) == 0 {
		return
	}
	s.at = s.chosen(rows)
	if r := &rows[s.at]; r.open != nil {
		s.key, s.opened, s.scroll = r.key, r.key, 0
	}
}
