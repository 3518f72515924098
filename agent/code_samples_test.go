package agent_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// sampleWriter keeps code samples, their stacks, and calls.
type sampleWriter struct {
	calls   []event.Call
	samples []event.CodeSample
	stacks  map[uint64][]event.Frame
}

func (w *sampleWriter) Write(b *store.Batch) error {
	w.calls = append(w.calls, b.Calls...)
	w.samples = append(w.samples, b.CodeSamples...)
	for _, s := range b.Stacks {
		w.stacks[s.ID] = slices.Clone(s.Frames)
	}
	return nil
}

func (w *sampleWriter) Flush(context.Context) error { return nil }
func (w *sampleWriter) Skip(*store.Batch)           {}
func (w *sampleWriter) Lost() uint64                { return 0 }
func (w *sampleWriter) Close() error                { return nil }

// A program that computes, asks the kernel and sleeps between its calls is sampled where it does, and in proportion.
func TestCodeBetweenCallsIsSampled(t *testing.T) {
	kerneltest.Require(t)
	files := extract(t)
	program := filepath.Join(t.TempDir(), "between")
	kerneltest.GCC(t, "-o", program, "testdata/code/between.c", filepath.Join(files.LibDir, "libcudart.so.12"),
		"-Wl,-rpath,"+files.LibDir)
	w := &sampleWriter{stacks: map[uint64][]event.Frame{}}
	_, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), Command: []string{program}, RingMB: 16,
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	named := func(s *event.CodeSample, symbol string) bool {
		return slices.ContainsFunc(w.stacks[s.Stack], func(f event.Frame) bool { return f.Symbol == symbol })
	}
	var computes, asks, inCall, inKernel, sleeps int
	for i := range w.samples {
		s := &w.samples[i]
		switch {
		case s.Op != 0:
			t.Errorf("a sample in %s: it makes no system call", s.Op)
		case s.Waits:
			sleeps++
			if !named(s, "sleep_a_while") || s.Syscall != unix.SYS_CLOCK_NANOSLEEP && s.Syscall != unix.SYS_NANOSLEEP {
				t.Errorf("it sleeps in system call %d of %v", s.Syscall, w.stacks[s.Stack])
			}
		case named(s, "crunch_numbers"):
			computes++
		case named(s, "ask_the_kernel"):
			asks++
			if s.Syscall == unix.SYS_GETPPID {
				inCall++
			}
			if w.stacks[s.Stack][0].Kind == event.FrameKernel {
				inKernel++
			}
		}
	}
	t.Logf("%d samples with %d stacks: %d compute, %d ask the kernel, %d in the system call, %d in the kernel",
		len(w.samples), len(w.stacks), computes, asks, inCall, inKernel)
	if sleeps < 20 {
		t.Errorf("%d samples of 200 times that it slept", sleeps)
	}
	on := len(w.samples) - sleeps
	if computes < 20 || asks < 20 || computes > 3*asks || asks > 3*computes || computes+asks < on*3/4 {
		t.Errorf("%d samples, %d where it computes, %d where it asks the kernel", len(w.samples), computes, asks)
	}
	if inCall == 0 || inKernel == 0 || inCall > asks {
		t.Errorf("%d samples in the system call, %d in the kernel, of %d", inCall, inKernel, asks)
	}
	if len(w.stacks) > len(w.samples)/2 {
		t.Errorf("%d stacks of %d samples: they are not of functions", len(w.stacks), len(w.samples))
	}
}

// It needs nothing but the tracer's own stand-in, so that it runs on all kernels.
func TestACommandIsSampledBetweenItsCalls(t *testing.T) {
	kerneltest.Require(t)
	files := extract(t)
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	w := &sampleWriter{stacks: map[uint64][]event.Frame{}}
	_, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), RingMB: 16,
		Command: []string{files.Victim, "loop", "--steps", "150", "--host-us", "10000"},
		Record:  &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	between := 0
	for i := range w.samples {
		s := &w.samples[i]
		own := slices.ContainsFunc(w.stacks[s.Stack], func(f event.Frame) bool {
			return f.Module == filepath.Base(files.Victim)
		})
		if s.Op == 0 && own {
			between++
		}
	}
	if between < 10 {
		t.Errorf("%d of %d samples are between its calls, and in its own code", between, len(w.samples))
	}
}

// A timer may expire while the stack of a call is copied. A sample of that moment would take the stack's place.
func TestCallsKeepTheirStacksWhileCodeIsSampled(t *testing.T) {
	kerneltest.Require(t)
	files := extract(t)
	program := filepath.Join(t.TempDir(), "deep")
	kerneltest.GCC(t, "-O1", "-o", program, "testdata/code/deep.c", filepath.Join(files.LibDir, "libcudart.so.12"),
		"-Wl,-rpath,"+files.LibDir)
	w := &sampleWriter{stacks: map[uint64][]event.Frame{}}
	sum, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), Command: []string{program}, RingMB: 256,
		Stack:  probe.StackAll,
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	without, lost := 0, 0
	for _, c := range w.calls {
		if c.Depth == 0 && c.Stack == 0 {
			without++
		}
	}
	for _, l := range sum.Losses {
		if l.Kind == event.LostStack {
			lost += int(l.Count)
		}
	}
	t.Logf("%d calls, %d without a stack; %d samples; lost: %v", len(w.calls), without, len(w.samples), sum.Losses)
	if len(w.calls) < 2000 || len(w.samples) < 20 || without != lost {
		t.Errorf("of %d calls %d have no stack, and %d are counted", len(w.calls), without, lost)
	}
}
