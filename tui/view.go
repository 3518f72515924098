// Package tui is the view of a run on a terminal: tabs for calls, thread ledgers, findings, memory
// and nodes. It shows the sums of package live and the reports of diagnoses, and decides nothing
// itself.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui/live"
)

// View shows a run. It is a sink of the agent, which never waits for the terminal: a second that
// could not be shown in time is replaced by the next.
type View struct {
	program *tea.Program
	leave   func()      // cancels questions to other nodes
	live    *live.Stats // used by the goroutine that calls Batch and Second
	wake    chan struct{}
	done    chan struct{}
	closing sync.Once

	mu       sync.Mutex // guards the rest
	started  string     // to be shown; empty: no change
	next     *second    // to be shown; nil: no change
	findings live.Findings
}

// framesPerSecond is how often the screen may change. Without key presses it changes once a second.
const framesPerSecond = 20

// New makes a view that reads keys from in and draws to out.
func New(o Options, in io.Reader, out io.Writer) *View {
	m := NewModel(o)
	ctx, leave := context.WithCancel(context.Background())
	m.ctx = ctx
	return &View{
		leave: leave,
		program: tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(),
			tea.WithFPS(framesPerSecond)),
		live: live.New(), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Run shows the view until End.
func (v *View) Run() error {
	var feeding sync.WaitGroup
	feeding.Go(v.feed)
	_, err := v.program.Run()
	v.leave()
	v.closing.Do(func() { close(v.done) })
	feeding.Wait()
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("show the run: %w", err)
	}
	return nil
}

// feed passes new data to the program. If the terminal blocks, only feed waits.
func (v *View) feed() {
	for {
		select {
		case <-v.done:
			return
		case <-v.wake:
		}
		v.mu.Lock()
		s, text := v.next, v.started
		v.next, v.started = nil, ""
		if s != nil {
			s.findings, s.report, s.reported = v.findings.List()
		}
		v.mu.Unlock()
		if text != "" {
			v.program.Send(startedMsg(text))
		}
		if s != nil {
			v.program.Send(secondMsg(s))
		}
	}
}

// tell wakes feed.
func (v *View) tell() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Started describes the start of the run.
func (v *View) Started(text string) {
	v.mu.Lock()
	v.started = text
	v.mu.Unlock()
	v.tell()
}

// End ends Run.
func (v *View) End() { v.program.Send(endedMsg{}) }

// Found takes a report of the live diagnosis. It is shown with the next second.
func (v *View) Found(r *report.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.findings.Add(r, time.Now())
}

// Changed takes a time from which on steps take longer. It is shown with the next second. It is called by
// the goroutine that calls the sinks.
func (v *View) Changed(c *report.Change) { v.live.Changed(c) }

// Told takes an event of a fleet in a line; over: it says that something has ended. It is called by the
// goroutine that calls the sinks.
func (v *View) Told(at uint64, line string, over bool) { v.live.Told(at, line, over) }

// Batch implements agent.Sink.
func (v *View) Batch(b *store.Batch) { v.live.Batch(b) }

// Second implements agent.Sink.
func (v *View) Second(s *agent.Status) {
	status := *s
	status.Ops, status.Processes, status.Losses = slices.Clone(s.Ops), slices.Clone(s.Processes), slices.Clone(s.Losses)
	next := &second{status: status, picture: v.live.Picture(uint64(s.At.UnixNano()))}
	v.mu.Lock()
	v.next = next
	v.mu.Unlock()
	v.tell()
}
