// Package tui is the view of a run on a terminal: tabs for calls, threads' ledgers,
// findings, memory and nodes. It shows what package live added up and what diagnoses
// say, and decides nothing itself.
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

	"github.com/ingero-io/ingero/account/live"
	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// View shows a run. It is a sink of the agent, which never waits for the terminal: a
// second that could not be shown in time is replaced by the next.
type View struct {
	program *tea.Program
	leave   func()      // ends questions to other nodes
	live    *live.Stats // of the goroutine that calls Batch and Second
	wake    chan struct{}
	done    chan struct{}
	closing sync.Once

	mu       sync.Mutex // guards the rest
	started  string     // to be shown; empty: nothing new
	next     *second    // likewise
	findings live.Findings
}

// framesPerSecond is how often the screen may change. A terminal that nobody types on
// does so once a second.
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

// feed hands on what is new. Where the terminal takes nothing, it waits and nobody else.
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

// tell has feed look.
func (v *View) tell() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Started tells what the run began with.
func (v *View) Started(text string) {
	v.mu.Lock()
	v.started = text
	v.mu.Unlock()
	v.tell()
}

// End ends Run.
func (v *View) End() { v.program.Send(endedMsg{}) }

// Found tells what the live diagnosis says. It shows with the next second.
func (v *View) Found(r *report.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.findings.Add(r, time.Now())
}

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
