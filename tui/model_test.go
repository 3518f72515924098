package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

// keyOf is the press of a key by its name.
func keyOf(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// busyWithoutInFlight is busy without calls in flight.
func busyWithoutInFlight(comm string) *second {
	s := busy(comm)
	s.status.InFlight, s.status.Where = nil, nil
	return s
}

// chosenLine is the line of the chosen row.
func chosenLine(m *Model) string {
	for line := range strings.SplitSeq(m.Screen(), "\n") {
		if strings.HasPrefix(line, ">") {
			return line
		}
	}
	return ""
}

func TestKeysMoveBetweenTabsAndRows(t *testing.T) {
	m := shown(recordedOptions(), 80, 24, busyWithoutInFlight("engine"))
	for _, step := range []struct{ key, active, row string }{
		{"tab", "[2 Ledger", "engine (4821)"},
		{"shift+tab", "[1 Calls", "cudaLaunchKernel"},
		{"shift+tab", "[5 Nodes", "gpu-7"},
		{"3", "[3 Findings", "OUT OF MEMORY"},
		{"1", "[1 Calls", "cudaLaunchKernel"},
		{"down", "[1 Calls", "cudaStreamSynchronize"},
		{"j", "[1 Calls", "cudaMemcpyAsync"},
		{"j", "[1 Calls", "cudaMemcpyAsync"},
		{"g", "[1 Calls", "cudaLaunchKernel"},
		{"G", "[1 Calls", "cudaMemcpyAsync"},
		{"k", "[1 Calls", "cudaStreamSynchronize"},
	} {
		press(m, step.key)
		if s := m.Screen(); !strings.Contains(s, step.active) || !strings.Contains(chosenLine(m), step.row) {
			t.Fatalf("after %s: want %s and %s:\n%s", step.key, step.active, step.row, s)
		}
	}
}

// The chosen row stays chosen when others overtake it.
func TestChosenRowFollowsItsOperation(t *testing.T) {
	m := shown(recordedOptions(), 100, 24, busyWithoutInFlight("engine"))
	press(m, "s", "j") // by rate
	if !strings.Contains(chosenLine(m), "cudaStreamSynchronize") {
		t.Fatalf("chosen: %s", chosenLine(m))
	}
	next := busyWithoutInFlight("engine")
	next.status.Ops[1].PerSecond = 1e6
	m.Update(secondMsg(next))
	if line := chosenLine(m); !strings.Contains(line, "cudaStreamSynchronize") || !strings.Contains(line, "1,000,000") {
		t.Errorf("chosen: %s", line)
	}
}

func TestSortingAndFilter(t *testing.T) {
	m := shown(recordedOptions(), 100, 24, busyWithoutInFlight("engine"))
	press(m, "s", "s", "s", "s")
	if line := chosenLine(m); !strings.Contains(line, "cudaStreamSynchronize") {
		t.Errorf("by errors: %s", line)
	}
	press(m, "/", "M", "e", "m", "c", "p", "y", "x", "backspace", "enter")
	if s := m.Screen(); !strings.Contains(chosenLine(m), "infer") || strings.Contains(s, "cudaLaunchKernel") {
		t.Errorf("filtered:\n%s", s)
	}
	press(m, "s") // by process: the head of the one that is left, and no other
	if s := m.Screen(); !strings.Contains(s, "infer (99)") || strings.Contains(s, "engine (4821)") {
		t.Errorf("filtered by process:\n%s", s)
	}
	press(m, "esc")
	if s := m.Screen(); !strings.Contains(s, "cudaLaunchKernel") {
		t.Errorf("without filter:\n%s", s)
	}
	press(m, "/", "n", "o", "p", "e", "enter")
	if s := m.Screen(); !strings.Contains(s, `nothing here has "nope" in it`) {
		t.Errorf("nothing left:\n%s", s)
	}
}

// A list that is longer than the screen is scrolled by moving in it.
func TestLongListIsScrolled(t *testing.T) {
	s := busyWithoutInFlight("engine")
	for i := range 200 {
		o := s.status.Ops[0]
		o.PID, o.Comm = uint32(1000+i), fmt.Sprintf("rank-%03d", i)
		s.status.Ops = append(s.status.Ops, o)
	}
	m := shown(recordedOptions(), 100, 24, s)
	press(m, "s") // a row each
	for _, step := range []struct{ key, chosen, rows string }{
		{"g", "engine", "1 to 16 of 203"},
		{"G", "infer", "188 to 203 of 203"},
		{"k", "engine ", "188 to 203 of 203"},
		{"g", "engine", "1 to 16 of 203"},
	} {
		press(m, step.key)
		if text := m.Screen(); !strings.Contains(text, step.rows) || !strings.Contains(chosenLine(m), step.chosen) {
			t.Errorf("after %s: no %q:\n%s", step.key, step.rows, text)
		}
	}
	for range 20 {
		press(m, "j")
	}
	if line := chosenLine(m); !strings.Contains(line, "rank-019") {
		t.Errorf("after 20 rows: %s\n%s", line, m.Screen())
	}
}

func TestPauseKeepsTheScreenButNotTheLosses(t *testing.T) {
	m := shown(recordedOptions(), 100, 24, busy("engine"))
	press(m, "p")
	next := busy("engine")
	next.status.Ops, next.status.Losses = nil, []event.Loss{{Kind: event.LostCall, Count: 777_777}}
	m.Update(secondMsg(next))
	s := m.Screen()
	for _, want := range []string{"PAUSED", "cudaLaunchKernel", "777,777 call"} {
		if !strings.Contains(s, want) {
			t.Errorf("paused, no %q:\n%s", want, s)
		}
	}
	press(m, "p")
	if s := m.Screen(); strings.Contains(s, "PAUSED") || strings.Contains(s, "cudaLaunchKernel") {
		t.Errorf("it does not go on:\n%s", s)
	}
}

func TestStopWorksInEveryState(t *testing.T) {
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"?", "q"}, {"/", "ctrl+c"}, {"3", "enter", "q"}} {
		stopped := 0
		o := recordedOptions()
		o.Stop = func() { stopped++ }
		m := shown(o, 80, 24, busy("engine"))
		press(m, keys...)
		if stopped != 1 || !strings.Contains(m.Screen(), "stopping…") {
			t.Errorf("%v: stopped %d times:\n%s", keys, stopped, m.Screen())
		}
	}
	m := shown(recordedOptions(), 80, 24, busy("engine"))
	press(m, "esc", "esc", "/", "q")
	if m.stopping {
		t.Error("Esc, or a q in a filter, stops")
	}
	if _, cmd := m.Update(endedMsg{}); cmd == nil {
		t.Error("the end does not end it")
	}
}

func TestViewBeforeTheFirstProcess(t *testing.T) {
	m := NewModel(recordedOptions())
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	if s := m.Screen(); !strings.Contains(s, "attaching…") {
		t.Errorf("at first:\n%s", s)
	}
	m.Update(startedMsg("no process uses CUDA yet; those that start will be traced"))
	for i := range tabs {
		press(m, fmt.Sprint(i+1), "j", "enter", "s")
		if s := m.Screen(); !strings.Contains(s, "no process uses CUDA yet") {
			t.Errorf("started:\n%s", s)
		}
	}
	m.Update(secondMsg(&second{status: agent.Status{At: noon}, picture: live.New().Picture(0)}))
	press(m, "3")
	if s := m.Screen(); !strings.Contains(s, "first diagnosis") {
		t.Errorf("findings:\n%s", s)
	}
	o := recordedOptions()
	o.Path = ""
	m = shown(o, 80, 24, busy("engine"))
	m.shown.findings, m.shown.report = nil, nil
	m.shown.picture.Notices = nil
	press(m, "3")
	if s := m.Screen(); !strings.Contains(s, "leave out --record=false") {
		t.Errorf("without a recording:\n%s", s)
	}
}

func TestCallsInFlightAreShown(t *testing.T) {
	s := busy("engine")
	for range 6 {
		s.status.InFlight = append(s.status.InFlight, s.status.InFlight[0])
		s.status.Where = append(s.status.Where, s.status.Where[0])
	}
	m := shown(recordedOptions(), 200, 40, s)
	const want = "in flight: saver (tid 4830) in cudaMemcpy for 5 s, blocked on a lock held by engine (tid 4821), " +
		"called at save.py:9 in flush"
	if text := m.Screen(); strings.Count(text, want) != 7 || !strings.Contains(text, "1 Calls (7)") {
		t.Errorf("screen:\n%s", text)
	}
	press(m, "g", "enter")
	if text := m.Screen(); !strings.Contains(text, want) || !strings.Contains(text, "Since it began") ||
		!strings.Contains(text, "lock") {
		t.Errorf("one of them:\n%s", text)
	}
}

// What happened once stays on the screen of every tab until the end, and all of it is
// among the findings.
func TestNoticesAreNotMissed(t *testing.T) {
	s := busy("engine")
	for i := range tabs {
		m := shown(recordedOptions(), 120, 24, s)
		press(m, fmt.Sprint(i+1))
		if text := m.Screen(); !strings.Contains(text, "the kernel ended backup (77)") &&
			!strings.Contains(text, "[GPU ERROR]") {
			t.Errorf("tab %d:\n%s", i+1, text)
		}
	}
	m := shown(recordedOptions(), 120, 24, s)
	press(m, "3")
	for _, want := range []string{
		"[OUT OF MEMORY] the kernel ended backup (77)",
		"[GPU ERROR] GPU 0 reported Xid 31 (GPU memory page fault)",
	} {
		if text := m.Screen(); !strings.Contains(text, want) {
			t.Errorf("findings without %q:\n%s", want, text)
		}
	}
}

// fakeNodes answers when it is let.
type fakeNodes struct {
	release chan struct{}
	asked   int
}

func (f *fakeNodes) Nodes() []string {
	return []string{"gpu-1:8080", "gpu-2:8080", "gpu-3:8080"}
}

func (f *fakeNodes) Close() {}

func (f *fakeNodes) Overview(_ context.Context, s nodes.Scope) ([]wire.Overview, nodes.Coverage, error) {
	f.asked++
	<-f.release
	one := wire.Overview{Verdict: "nothing stands out", Calls: 5}
	one.Node = "gpu-node-01"
	three := wire.Overview{Verdict: "trainer waits for a disk\x1b[2J", Findings: map[event.Severity]int{"HIGH": 1}}
	three.Node = "gpu-node-03"
	return []wire.Overview{one, three}, nodes.Coverage{
		Asked: 3, Failed: []nodes.Failure{{Node: "gpu-2:8080", Error: "connection refused"}},
		Clocks:   []nodes.Clock{{Node: "gpu-1:8080", Offset: -1200 * time.Microsecond, Bound: time.Millisecond}},
		Warnings: []string{"the clock of gpu-1:8080 is far off"},
	}, nil
}

// The other nodes are asked while somebody looks, and the view goes on meanwhile.
func TestViewDoesNotWaitForNodes(t *testing.T) {
	f := &fakeNodes{release: make(chan struct{})}
	o := recordedOptions()
	o.Nodes = f
	m := shown(o, 100, 24, busy("engine"))
	_, cmd := m.Update(keyOf("5"))
	if cmd == nil {
		t.Fatal("nobody is asked")
	}
	if _, again := m.Update(keyOf("5")); again != nil {
		t.Error("they are asked again before they have answered")
	}
	answer := make(chan tea.Msg)
	go func() { answer <- cmd() }()
	m.Update(secondMsg(busy("engine")))
	if s := m.Screen(); !strings.Contains(s, "gpu-2:8080 asking") || !strings.Contains(s, "asking…") {
		t.Errorf("while they are asked:\n%s", s)
	}
	close(f.release)
	_, next := m.Update(<-answer)
	if next == nil {
		t.Error("they are not asked again later")
	}
	s := m.Screen()
	for _, want := range []string{
		"gpu-node-01 ok      -1.2ms nothing stands out", "gpu-2:8080  MISSING      - connection refused",
		`gpu-node-03 HIGH         - trainer waits for a disk\x1b[2J`,
		"the clock of gpu-1:8080 is far off", "5 Nodes (1)",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q:\n%s", want, s)
		}
	}
	press(m, "1")
	if _, cmd := m.Update(askMsg{}); cmd != nil || f.asked != 1 {
		t.Errorf("asked %d times, and again although nobody looks", f.asked)
	}
	if _, cmd := m.Update(keyOf("5")); cmd == nil {
		t.Error("they are not asked when somebody looks again")
	}
}

func TestNoNodeAnswers(t *testing.T) {
	o := recordedOptions()
	o.Nodes = &fakeNodes{}
	m := shown(o, 100, 24, busy("engine"))
	press(m, "5")
	m.Update(answeredMsg{
		at: noon, err: errors.New("none"),
		coverage: nodes.Coverage{Failed: []nodes.Failure{
			{Node: "gpu-1:8080", Error: "a"},
			{Node: "gpu-2:8080", Error: "b"},
			{Node: "gpu-3:8080", Error: "c"},
		}},
	})
	if s := m.Screen(); strings.Count(s, "MISSING") != 3 {
		t.Errorf("screen:\n%s", s)
	}
}

// blockedTerminal is a terminal that takes nothing, as after Ctrl-S, until it is released.
type blockedTerminal struct{ release chan struct{} }

func (s blockedTerminal) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}

// A terminal that takes nothing does not hold up the tracer.
func TestTracerDoesNotWaitForTheTerminal(t *testing.T) {
	keys, _ := io.Pipe()
	out := blockedTerminal{make(chan struct{})}
	v := New(recordedOptions(), keys, out)
	ended := make(chan error)
	go func() { ended <- v.Run() }()
	v.Started("tracing")
	for i := range 1000 { // many more than any buffer has room for
		v.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{Op: op("cudaLaunchKernel"), Duration: 1}}}}})
		v.Second(&agent.Status{At: noon, Calls: uint64(i)})
		v.Found(&report.Report{Verdict: "x"})
	}
	close(out.release)
	v.End()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
