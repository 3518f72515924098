package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// lineView prints a line a second.
type lineView struct {
	lines  *outlet
	width  int // of the terminal, 0 if there is none
	cancel context.CancelFunc
	wait   string        // shown while no process is traced
	quiet  bool          // no line a second
	last   time.Duration // of the last line
	seen   findings
}

func newLineView(out io.Writer, width int, wait string) *lineView {
	v := &lineView{width: width, wait: wait, cancel: func() {}}
	v.lines = newOutlet(out, func() { v.cancel() }) // nobody reads the output after a failure
	return v
}

// found prints each finding once, when it appears.
func (v *lineView) found(r *report.Report) {
	for _, c := range v.seen.fresh(r, time.Now()) {
		v.print(findingLine(&c))
	}
}

// changed prints a change.
func (v *lineView) changed(c *report.Change) { v.print(changeLine(c)) }

// event prints an event of a fleet.
func (v *lineView) event(e *wire.Event, who string) { v.print(eventLine(e, who)) }

// print writes a line, however long its reader pauses.
func (v *lineView) print(line string) { v.lines.print([]byte(line+"\n"), true) }

// offer writes a line that is dropped if too many are waiting.
func (v *lineView) offer(line string) { v.lines.print([]byte(line+"\n"), false) }

// shortSecond is the minimum time between two lines: the last second of a run is left to the
// summary.
const shortSecond = 500 * time.Millisecond

func (v *lineView) run(ctx context.Context, o agent.Options) (agent.Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if len(o.Command) == 0 { // which goes on without a reader of this output
		v.cancel = cancel
	}
	o.Started = v.started
	o.Sinks = append(o.Sinks, v)
	return agent.Run(ctx, o)
}

func (v *lineView) started(s agent.Start) {
	v.print(startLine(&s, v.wait))
}

// startLine describes the start of a run.
func startLine(s *agent.Start, who string) string {
	if len(s.Processes) > 0 {
		who = "tracing " + processList(s.Processes)
	}
	footprint := ""
	if len(s.Footprint) > 0 {
		footprint = ", counting system calls"
	}
	return fmt.Sprintf("%s (back end %s, %s%s, ready in %s)", who, s.Backend, libraryCount(len(s.Libraries)), footprint,
		duration(s.Took))
}

func libraryCount(n int) string {
	if n == 0 {
		return "no CUDA library found yet"
	}
	return plural(uint64(n), "library")
}

func processList(ps []agent.Traced) string {
	var names []string
	for _, p := range ps {
		names = append(names, fmt.Sprintf("%s (%d)", clean(p.Comm), p.PID))
	}
	return listed(names)
}

// maxListed bounds how many processes a line names.
const maxListed = 5

// listed lists the first names, and says how many more there are.
func listed(names []string) string {
	if n := len(names) - maxListed; n > 0 {
		names = append(names[:maxListed:maxListed], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// Batch implements agent.Sink.
func (v *lineView) Batch(b *store.Batch) {
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeOOM {
			v.print(report.OutOfMemory(l))
		}
	}
	for i := range b.Xids {
		v.print(xidLine(&b.Xids[i]))
	}
}

// xidLine describes an error of a GPU.
func xidLine(x *store.Xid) string { return "[GPU ERROR] " + x.String() }

// Second implements agent.Sink.
func (v *lineView) Second(s *agent.Status) {
	if v.quiet || s.Elapsed-v.last < shortSecond {
		return
	}
	v.last = s.Elapsed
	line := fmt.Sprintf("%4.0fs  %s  %s  ring %.0f %%  tracer %.1f %% CPU, %s", s.Elapsed.Seconds(), counted(s),
		report.Losses(s.Losses), 100*s.Fill, 100*s.CPU, size(s.RSS))
	if len(s.Ops) > 0 {
		o := s.Ops[0]
		line += fmt.Sprintf("  busiest: %s %s %s/s, p50 %s, p99 %s, max %s", clean(o.Comm), o.Op, report.Rate(o.PerSecond),
			duration(o.P50), duration(o.P99), duration(o.Max))
	}
	if s.Unwritten != nil {
		line += "  NOT RECORDED: " + s.Unwritten.Why
	}
	v.offer(line)
	for i := range s.InFlight[:min(len(s.InFlight), maxFlights)] {
		v.offer("       " + report.Flight(&s.InFlight[i], uint64(s.At.UnixNano()), s.Whereabouts(i)))
	}
	if n := len(s.InFlight) - maxFlights; n > 0 {
		v.offer(fmt.Sprintf("       … and %d more calls in flight", n))
	}
}

// counted lists the counts so far: calls, system calls, or both.
func counted(s *agent.Status) string {
	calls := fmt.Sprintf("%s calls, %s/s", report.Count(s.Calls), report.Rate(s.PerSecond))
	switch {
	case s.Syscalls == 0:
		return calls
	case s.Calls == 0:
		return plural(s.Syscalls, "system call")
	}
	return calls + "  " + plural(s.Syscalls, "system call")
}

// maxFlights bounds the calls in flight shown in a second.
const maxFlights = 5

func (v *lineView) summary(s *agent.Summary, next string) error {
	if n := v.lines.lost(); n > 0 {
		v.print("not printed, because the reader of this output was too slow: " + plural(n, "line"))
	}
	var b bytes.Buffer
	if err := writeSummary(&b, s, next, report.TextOptions{Width: v.width}); err != nil {
		return err
	}
	v.lines.print(b.Bytes(), true)
	return v.lines.close()
}

// writeSummary prints how a run ended and what to do next.
func writeSummary(w io.Writer, s *agent.Summary, next string, o report.TextOptions) error {
	var b strings.Builder
	if s.Footprint != nil {
		b.WriteString("\n")
		if err := report.WriteFootprint(&b, s.Footprint, o); err != nil {
			return err
		}
	}
	what := "traced " + plural(s.Calls, "call")
	if s.Calls == 0 && s.Footprint != nil {
		what = "counted " + plural(s.Footprint.Calls(), "system call")
	}
	fmt.Fprintf(&b, "\n%s in %s", what, duration(s.Elapsed))
	if len(s.Processes) > 0 {
		fmt.Fprintf(&b, " of %s", processList(s.Processes))
	}
	fmt.Fprintf(&b, "; %s\n", report.Losses(s.Losses))
	share := 0.0
	if s.Elapsed > 0 {
		share = 100 * float64(s.CPU) / float64(s.Elapsed)
	}
	fmt.Fprintf(&b, "the tracer used %.1f %% of a CPU and at most %s of memory\n", share, size(s.MaxRSS))
	if s.Path != "" {
		fmt.Fprintf(&b, "recorded to %s (%s)\n", s.Path, size(uint64(max(s.DBBytes, 0))))
	}
	switch {
	case next != "":
		fmt.Fprintf(&b, "next: %s\n", next)
	case s.Calls == 0 && s.Footprint == nil:
		b.WriteString("no CUDA call was seen; see which processes and libraries can be traced: ingero check\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lockedBuffer collects log lines while a view uses the whole screen; if there are very many, only
// the last ones.
type lockedBuffer struct {
	mu  sync.Mutex // guards the rest
	b   []byte
	cut bool
}

// maxLog is how much is collected, in bytes.
const maxLog = 64 << 10

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if len(l.b) > maxLog {
		l.cut = true
		rest := l.b[len(l.b)-maxLog/2:] // not for each line
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		l.b = append(l.b[:0], rest...)
	}
	return len(p), nil
}

// String is the text so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return "…\n" + string(l.b)
	}
	return string(l.b)
}
