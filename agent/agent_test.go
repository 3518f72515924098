package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// counter is a writer and a sink that counts.
type counter struct {
	mu       sync.Mutex
	calls    map[uint32]map[string]int64 // by process, then operation
	threads  map[event.Thread]string
	procs    map[uint32]store.Process
	memory   []event.Memory
	sites    []event.MemorySite
	io       store.Tables
	requests []event.Request
	off      int
	seconds  int
	closed   bool
}

func newCounter() *counter {
	return &counter{
		calls: map[uint32]map[string]int64{}, threads: map[event.Thread]string{},
		procs: map[uint32]store.Process{},
	}
}

func (c *counter) Write(b *store.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Calls {
		k := &b.Calls[i]
		if c.calls[k.PID] == nil {
			c.calls[k.PID] = map[string]int64{}
		}
		c.calls[k.PID][k.Op.String()]++
	}
	for _, t := range b.Threads {
		c.threads[t.Thread] = t.Comm
	}
	for _, p := range b.Processes {
		c.procs[p.PID] = p
	}
	c.memory, c.sites = append(c.memory, b.Memory...), append(c.sites, b.MemorySites...)
	c.requests, c.io.RequestSums = append(c.requests, b.Requests...), append(c.io.RequestSums, b.RequestSums...)
	c.io.Devices, c.io.Files = append(c.io.Devices, b.Devices...), append(c.io.Files, b.Files...)
	c.io.Connections = append(c.io.Connections, b.Connections...)
	c.io.HostMemory = append(c.io.HostMemory, b.HostMemory...)
	c.off += len(b.OffCPU)
	return nil
}

func (c *counter) Flush(context.Context) error { return nil }

func (c *counter) Skip(*store.Batch) {}

func (c *counter) Lost() uint64 { return 0 }

func (c *counter) Close() error {
	c.closed = true
	return nil
}

func (c *counter) Batch(*store.Batch) {}

func (c *counter) Second(*agent.Status) { c.seconds++ }

func (c *counter) options() agent.Options {
	return agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), Sinks: []agent.Sink{c}, InnerCalls: true,
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return c, nil }},
	}
}

func extract(t *testing.T) cudastub.Files {
	t.Helper()
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compare fails the test unless every call the victim made was recorded.
func (c *counter) compare(t *testing.T, truth cudastub.Truth, s agent.Summary) {
	t.Helper()
	for symbol, n := range truth.Calls {
		if got := c.calls[uint32(truth.PID)][operation(symbol)]; got != n {
			t.Errorf("%s: the victim made %d calls, %d recorded", symbol, n, got)
		}
	}
	for _, l := range s.Losses {
		// probes that come late lose nothing if no call is made meanwhile
		if l.Kind.Counts() || l.Kind == event.LostUnmatched {
			t.Errorf("lost %d %s", l.Count, l.Kind)
		}
	}
	if !c.closed {
		t.Error("the recording was not closed")
	}
}

// operation is the name of the operation a function is.
func operation(symbol string) string {
	for _, i := range event.Catalog {
		if slices.Contains(i.SymbolNames(), symbol) {
			return i.Name
		}
	}
	return symbol
}

func TestAProcessThatStartsAfterTheTracerIsExact(t *testing.T) {
	files := extract(t)
	c := newCounter()
	o := c.options()
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan agent.Start, 1)
	o.Started = func(s agent.Start) { started <- s }
	done := make(chan agent.Summary, 1)
	go func() {
		s, err := agent.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	<-started
	run, err := files.StartLoop(t.Context(), cudastub.Options{}, "--seconds", "1", "--nested", "--thread", "dispatcher")
	if err != nil {
		t.Fatal(err)
	}
	// It has mapped its libraries by now, and waits: the tracer needs a moment.
	waitUntil(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.procs[uint32(run.PID())].Traced
	})
	if err := run.Begin(); err != nil {
		t.Fatal(err)
	}
	truth, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	s := <-done
	c.compare(t, truth, s)
	if got := c.threads[event.Thread{PID: uint32(truth.PID), TID: uint32(truth.TID)}]; got != truth.Comm {
		t.Errorf("the thread is called %q, want %q", got, truth.Comm)
	}
	if c.off == 0 || c.seconds == 0 {
		t.Errorf("%d off-CPU intervals and %d seconds were reported", c.off, c.seconds)
	}
}

func TestACommandIsTracedFromItsFirstInstruction(t *testing.T) {
	files := extract(t)
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	c := newCounter()
	o := c.options()
	o.Command = []string{files.Victim, "loop", "--steps", "300"}
	s, err := agent.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.calls) != 1 {
		t.Errorf("calls of %d processes recorded", len(c.calls))
	}
	for pid, calls := range c.calls {
		if n := calls["cudaLaunchKernel"]; s.ExitCode != 0 || n < 300*20 || n%20 != 0 {
			t.Errorf("exit code %d, calls %v: not 300 whole steps and a warm-up", s.ExitCode, calls)
		}
		if c.procs[pid].Name == "" {
			t.Errorf("process %d has no name", pid)
		}
	}
}

// A command that was asked to exit may take any time: it is recorded until it has, and never killed. It has its
// own input and output.
func TestACommandThatIgnoresSIGTERMIsWaitedFor(t *testing.T) {
	kerneltest.Require(t)
	var out bytes.Buffer
	o := newCounter().options()
	o.Command = []string{"sh", "-c", `trap "echo asked" TERM; echo ready; until read line; do :; done; echo "got $line"; exit 7`}
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	o.Stdin, o.Stdout = read, lineFunc(func(line string) {
		out.WriteString(line)
		switch line {
		case "ready\n":
			stop()
		case "asked\n":
			fmt.Fprintln(write, "a line")
			write.Close()
		}
	})
	s, err := agent.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if s.ExitCode != 7 || s.Command != nil || out.String() != "ready\nasked\ngot a line\n" {
		t.Errorf("exit code %d, still running: %v, output %q", s.ExitCode, s.Command != nil, out.String())
	}
}

// lineFunc is called with what is written, which is a line at a time.
type lineFunc func(string)

func (f lineFunc) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// running fails the test unless a command still runs, and ends it.
func running(t *testing.T, s *agent.Summary) {
	t.Helper()
	if s.Command == nil {
		t.Fatalf("the command ended with exit code %d", s.ExitCode)
	}
	select {
	case <-s.Command.Exited():
		t.Fatalf("the command ended with exit code %d", s.Command.ExitCode())
	default:
	}
	s.Command.Stop()
	<-s.Command.Exited()
	if code := s.Command.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
}

func TestTheEndOfTracingDoesNotEndTheCommand(t *testing.T) {
	kerneltest.Require(t)
	t.Run("duration", func(t *testing.T) {
		c := newCounter()
		o := c.options()
		o.Command = []string{"sleep", "1000"}
		o.Duration = time.Second
		s, err := agent.Run(t.Context(), o)
		if err != nil || !c.closed {
			t.Errorf("%v; recording closed: %v", err, c.closed)
		}
		running(t, &s)
	})
	t.Run("left", func(t *testing.T) {
		o := newCounter().options()
		o.Command = []string{"sh", "-c", `trap "" TERM; echo ready; exec sleep 1000`}
		ctx, stop := context.WithCancel(t.Context())
		leave := make(chan struct{})
		o.Leave = leave
		o.Stdout = lineFunc(func(string) {
			stop()
			close(leave)
		})
		s, err := agent.Run(ctx, o)
		if err != nil || s.Command == nil {
			t.Fatalf("%v; the command ended with exit code %d", err, s.ExitCode)
		}
		if err := syscall.Kill(s.Command.PID(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		<-s.Command.Exited()
	})
	for name, fail := range map[string]func(*agent.Options){
		"a sink panics": func(o *agent.Options) { o.Sinks = append(o.Sinks, panicking{}) },
		"the loop panics": func(o *agent.Options) {
			o.RankEvents = func([]store.RankEvent) []store.RankEvent { panic("a bug") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newCounter().options()
			o.Command = []string{"sleep", "1000"}
			fail(&o)
			s, err := agent.Run(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), "a bug") {
				t.Errorf("the error is %v", err)
			}
			running(t, &s)
		})
	}
}

// panicking is a sink with a bug.
type panicking struct{}

func (panicking) Batch(*store.Batch) {}

func (panicking) Second(*agent.Status) { panic("a bug") }

func TestNoCommandIsStartedIfTheRecordingCannotBeOpened(t *testing.T) {
	kerneltest.Require(t)
	mark := filepath.Join(t.TempDir(), "began")
	o := newCounter().options()
	o.Command = []string{"touch", mark}
	full := errors.New("disk is full")
	o.Record.Open = func(store.Session) (store.Writer, error) { return nil, full }
	if s, err := agent.Run(t.Context(), o); !errors.Is(err, full) || s.Began {
		t.Errorf("%v; began: %v", err, s.Began)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command ran (%v)", err)
	}
}

func TestDescendantsOfANamedProcessAreTraced(t *testing.T) {
	files := extract(t)
	v, err := files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Do("pid"); err != nil { // it has its libraries now
		t.Fatal(err)
	}
	c := newCounter()
	o := c.options()
	o.PIDs = []int{v.PID()}
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan agent.Start, 1)
	o.Started = func(s agent.Start) { started <- s }
	done := make(chan agent.Summary, 1)
	go func() {
		s, err := agent.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	s := <-started
	if len(s.Processes) != 1 || s.Processes[0].PID != v.PID() || len(s.Libraries) != 2 {
		t.Errorf("started with %+v", s)
	}
	if _, err := v.Do("call cudaLaunchKernel 100"); err != nil {
		t.Fatal(err)
	}
	paced, err := v.Do("rate cudaLaunchKernel 1000 1")
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-done
	made := 100 + paced.Int("calls")
	if n := c.calls[uint32(v.PID())]["cudaLaunchKernel"]; n != made || made <= 100 {
		t.Errorf("%d calls recorded, %d made", n, made)
	}
}

func TestALibraryLoadedLaterIsTraced(t *testing.T) {
	files := extract(t)
	v, err := files.Start(context.Background(), cudastub.Options{Late: true})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := newCounter()
	o := c.options()
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan agent.Start, 1)
	o.Started = func(s agent.Start) { started <- s }
	done := make(chan agent.Summary, 1)
	go func() {
		s, err := agent.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	<-started
	if _, err := v.Do("dlopen"); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.procs[uint32(v.PID())].Traced
	})
	if _, err := v.Do("call cudaLaunchKernel 100"); err != nil {
		t.Fatal(err)
	}
	stop()
	s := <-done
	if n := c.calls[uint32(v.PID())]["cudaLaunchKernel"]; n != 100 {
		t.Errorf("%d calls recorded, want 100", n)
	}
	late := slices.ContainsFunc(s.Losses, func(l event.Loss) bool { return l.Kind == event.LostLate && l.Count > 0 })
	if !late {
		t.Errorf("losses %v do not tell that the probes came after the library", s.Losses)
	}
}

// waitUntil polls: there is no event to wait for across processes.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	end := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatal("nothing happened in 10 s")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestARunEndsWhenItsNamedProcessesHaveEnded(t *testing.T) {
	files := extract(t)
	v, err := files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := newCounter().options()
	o.PIDs = []int{v.PID()}
	o.Started = func(agent.Start) {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := agent.Run(t.Context(), o)
	if err != nil || !s.AllExited {
		t.Errorf("ended with %+v, %v", s, err)
	}
	if _, err := agent.Run(t.Context(), o); !errors.Is(err, agent.ErrNoProcess) {
		t.Errorf("tracing a process that ended: %v", err)
	}
}
