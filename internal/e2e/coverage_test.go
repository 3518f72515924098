package e2e_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/doctable"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
)

var update = flag.Bool("update", false, "rewrite the table in docs/coverage.md")

// ledger counts what was recorded, by process and operation.
type ledger struct {
	mu      sync.Mutex
	calls   map[uint32]map[string]int64
	results map[uint32]map[string]int // by operation and result: "cudaFree=0"
	traced  map[uint32]bool
	depths  map[uint64]depth           // of stacks
	stacks  map[uint32]map[depth]int64 // of calls, by process
}

// depth is how far a stack reaches.
type depth string

const (
	toMain  depth = "to `main`"
	unnamed depth = "whole, without names"
	cut     depth = "cut"
	none    depth = "none"
)

func depthOf(s *event.Stack) depth {
	switch {
	case slices.ContainsFunc(s.Frames, func(f event.Frame) bool { return f.Symbol == "main" }):
		return toMain
	case s.Cut || len(s.Frames) == 0:
		return cut
	}
	return unnamed
}

func (l *ledger) Write(b *store.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range b.Stacks {
		l.depths[b.Stacks[i].ID] = depthOf(&b.Stacks[i])
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		if l.calls[c.PID] == nil {
			l.calls[c.PID], l.results[c.PID], l.stacks[c.PID] = map[string]int64{}, map[string]int{}, map[depth]int64{}
		}
		if c.Depth == 0 { // a nested call has the stack of the outer one
			l.stacks[c.PID][cmp.Or(l.depths[c.Stack], none)]++
		}
		l.calls[c.PID][c.Op.String()]++
		l.results[c.PID][fmt.Sprintf("%s=%d", c.Op, c.Ret)]++
	}
	for _, p := range b.Processes {
		l.traced[p.PID] = l.traced[p.PID] || p.Traced
	}
	return nil
}

func (l *ledger) Flush(context.Context) error { return nil }

func (l *ledger) Skip(*store.Batch) {}

func (l *ledger) Lost() uint64 { return 0 }
func (l *ledger) Close() error { return nil }

func (l *ledger) isTraced(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.traced[uint32(pid)]
}

// tracer is a running agent.
type tracer struct {
	*ledger
	libraries []string
	stop      func() agent.Summary
}

func startTracer(t *testing.T, o agent.Options) *tracer {
	t.Helper()
	l := &ledger{
		calls: map[uint32]map[string]int64{}, results: map[uint32]map[string]int{}, traced: map[uint32]bool{},
		depths: map[uint64]depth{}, stacks: map[uint32]map[depth]int64{},
	}
	o.UID = agent.AnyUser
	o.Record = &agent.Recording{Open: func(store.Session) (store.Writer, error) { return l, nil }}
	started, done := make(chan agent.Start, 1), make(chan agent.Summary, 1)
	o.Started = func(s agent.Start) { started <- s }
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	failed := make(chan error, 1)
	go func() {
		s, err := agent.Run(ctx, o)
		if err != nil {
			failed <- err
		}
		done <- s
	}()
	select {
	case s := <-started:
		return &tracer{l, s.Libraries, sync.OnceValue(func() agent.Summary { cancel(); return <-done })}
	case err := <-failed:
		t.Fatal(err)
	}
	return nil
}

// The number of calls that a victim makes, of each layer.
const runtimeCalls, driverCalls = 120, 70

// situation is one way in which a program loads its CUDA library.
type situation struct {
	name string
	// start starts the program; it may change its files before the tracer starts.
	start func(b *bench) (*cudastub.Victim, int)
	// late runs when the tracer runs, if not nil. It returns the program whose calls count.
	late func(b *bench, v *cudastub.Victim) *cudastub.Victim
	// fork says that a child makes the calls.
	fork bool
	// burst says that the calls begin at once, a millisecond apart, and some may be missed.
	burst bool
}

// measured is the result of a situation.
type measured struct {
	made, seen [2]int64 // runtime, driver
	says       string   // what check --coverage says
	stack      string   // how far the calls' stacks reach
	pid        int      // the process that made the calls
	disturbed  bool     // in a burst, the machine had too much other load
}

// TestCoverage traces a program in every situation, and compares the result with the table in
// docs/coverage.md.
func TestCoverage(t *testing.T) {
	kerneltest.Require(t)
	b := newBench(t)
	victims, pids := make([]*cudastub.Victim, len(situations)), make([]int, len(situations))
	for i := range situations {
		if s := &situations[i]; s.start != nil {
			victims[i], pids[i] = s.start(b)
		}
	}
	tr := startTracer(t, agent.Options{Stack: probe.StackAll})
	results := make([][]measured, len(situations))
	for i := range situations {
		results[i] = situations[i].try(b, tr, victims[i], pids[i])
	}
	sum := tr.stop()
	judged := make([]measured, len(situations))
	for i := range results {
		for n := range results[i] {
			m := &results[i][n]
			calls := tr.calls[uint32(m.pid)]
			m.seen = [2]int64{calls["cudaLaunchKernel"], calls["cuLaunchKernel"]}
			m.stack = reach(tr.stacks[uint32(m.pid)])
			if n == 0 || !m.disturbed || m.seen[0] > judged[i].seen[0] {
				judged[i] = *m
			}
		}
	}
	tabulate(t, judged, sum)
}

// maxTries is the largest number of tries of a burst while the machine is too busy.
const maxTries = 3

// try measures a situation. A burst is repeated if it was disturbed, so only the last try may be undisturbed. It counts
// then; otherwise the best one does.
func (s *situation) try(b *bench, tr *tracer, v *cudastub.Victim, pid int) (tries []measured) {
	for len(tries) < maxTries {
		m := s.measure(b, tr, v, pid)
		tries = append(tries, m)
		if !m.disturbed {
			break
		}
	}
	return tries
}

// watchLoad measures what else the machine does until the returned function is called, which reports whether it was
// too much.
func (b *bench) watchLoad(name string) (tooMuch func() bool) {
	b.t.Helper()
	before, err := rig.ReadUsage()
	b.try(err)
	pauses, err := b.files.WatchPauses(b.t.Context())
	b.try(err)
	return func() bool {
		paused, err := pauses.Share()
		b.try(err)
		after, err := rig.ReadUsage()
		b.try(err)
		stolen, others := rig.Stolen(before, after), rig.Others(before, after)
		b.t.Logf("%s: other programs used %.0f %% of the CPUs; the hypervisor took %.0f %% of the working time, and "+
			"%.0f %% without a word", name, 100*others, 100*stolen, 100*paused)
		return max(stolen, others, paused) > rig.Unusable
	}
}

// reach describes how far the stacks of a process's calls reach.
func reach(n map[depth]int64) string {
	var all []string
	for _, d := range []depth{toMain, unnamed, cut, none} {
		if n[d] > 0 {
			all = append(all, string(d))
		}
	}
	return strings.Join(all, ", ")
}

// measure makes the calls of a situation.
func (s *situation) measure(b *bench, tr *tracer, v *cudastub.Victim, pid int) measured {
	disturbed := func() bool { return false }
	if s.burst {
		disturbed = b.watchLoad(s.name)
	}
	if s.late != nil {
		v = s.late(b, v)
		pid = v.PID()
	}
	m := measured{made: [2]int64{runtimeCalls, driverCalls}, pid: pid}
	if !s.burst {
		waitFor(b.t, s.name+": to be traced", func() bool { return tr.isTraced(pid) })
	}
	switch {
	case s.burst:
		b.do(v, "rate cudaLaunchKernel 1000 %g", float64(runtimeCalls)/1000)
	case s.fork:
		m.pid = int(b.do(v, "spawn cudaLaunchKernel %d", runtimeCalls).Int("child_pid"))
		m.made[1] = 0 // another child would make them
	default:
		b.do(v, "call cudaLaunchKernel %d", runtimeCalls)
	}
	if !s.fork {
		b.do(v, "call cuLaunchKernel %d", driverCalls)
	}
	m.disturbed = disturbed()
	m.says = says(b.t, pid)
	return m
}

// says describes what check --coverage reports about a process.
func says(t *testing.T, pid int) string {
	t.Helper()
	r, err := coverage.Examine(&coverage.Options{
		Libraries: all.Libraries(), PIDs: []int{pid},
		Backend: string(probe.BackendSession),
	})
	if err != nil || len(r.Processes) != 1 {
		t.Errorf("process %d: %+v, %v", pid, r, err)
		return ""
	}
	p := r.Processes[0]
	s := string(p.Traced)
	for _, n := range p.NotSeen {
		s += ", `" + n.Code + "`"
	}
	return s
}

// firstMS is for how many milliseconds calls may be missed when a library appears.
const firstMS = 50

// tabulate formats the results as a table and compares it with the one in the document.
func tabulate(t *testing.T, results []measured, sum agent.Summary) {
	t.Helper()
	late := slices.ContainsFunc(sum.Losses, func(l event.Loss) bool { return l.Kind == event.LostLate })
	table := "| situation | runtime calls seen | driver calls seen | stacks reach | `check --coverage` says " +
		"|\n|---|---|---|---|---|\n"
	for i, s := range situations {
		m := results[i]
		row := []string{s.name}
		for layer, made := range m.made {
			seen, word := m.seen[layer], ""
			switch {
			case made == 0:
				word = "–"
			case seen == made:
				word = "all"
			case seen == 0:
				word = "none"
			default:
				word = fmt.Sprintf("%d of %d", seen, made)
			}
			if s.burst && layer == 0 {
				missed := made - seen
				t.Logf("%s: missed the calls of the first %d ms", s.name, missed)
				if seen > 0 && missed <= firstMS {
					word = fmt.Sprintf("all after the first %d ms", firstMS)
				}
				if missed > 0 && !late {
					t.Errorf("%s: missed %d calls, and no loss is counted", s.name, missed)
				}
			}
			row = append(row, word)
		}
		table += "| " + strings.Join(append(row, m.stack, m.says), " | ") + " |\n"
	}
	t.Logf("losses: %v\n%s", sum.Losses, table)
	doc, err := doctable.Read("../../docs/coverage.md", "printed by internal/e2e TestCoverage")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case doc.Text == table:
	case *update:
		doc.Text = table
		if err := doc.Write(); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/coverage.md says otherwise; -update if this is meant:\n%s", table)
	}
}

// waitFor polls, because there is no event to wait for across processes.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
