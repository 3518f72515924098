package agent_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// silenceWriter keeps what threads were in, the last state of each, and their stacks.
type silenceWriter struct {
	last   map[event.Thread]event.InFlight
	stacks map[uint64][]event.Frame
}

func (w *silenceWriter) Write(b *store.Batch) error {
	for i := range b.InFlight {
		w.last[b.InFlight[i].Thread] = b.InFlight[i]
	}
	for _, s := range b.Stacks {
		w.stacks[s.ID] = slices.Clone(s.Frames)
	}
	return nil
}

func (w *silenceWriter) Flush(context.Context) error { return nil }
func (w *silenceWriter) Skip(*store.Batch)           {}
func (w *silenceWriter) Lost() uint64                { return 0 }
func (w *silenceWriter) Close() error                { return nil }

// A program that stands still between its calls is recorded, with the worker that it waits for: that one waits for a
// lock that was taken when it was forked.
func TestAProgramThatStandsStillIsRecordedWithWhatKeepsIt(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		class event.Class
	}{"reads": {[]string{"8"}, event.Pipe}, "polls": {[]string{"8", "polls"}, event.Poll}} {
		t.Run(name, func(t *testing.T) { standsStill(t, c.args, c.class) })
	}
}

func standsStill(t *testing.T, args []string, class event.Class) {
	t.Helper()
	kerneltest.Require(t)
	files := extract(t)
	program := filepath.Join(t.TempDir(), "inherited")
	kerneltest.GCC(t, "-pthread", "-o", program, "testdata/standstill/inherited.c",
		filepath.Join(files.LibDir, "libcudart.so.12"), "-Wl,-rpath,"+files.LibDir)
	w := &silenceWriter{last: map[event.Thread]event.InFlight{}, stacks: map[uint64][]event.Frame{}}
	_, err := agent.Run(t.Context(), agent.Options{
		UID: agent.AnyUser, Backend: probe.Backend(kerneltest.Backend()), RingMB: 16,
		Command: append([]string{program}, args...),
		Record:  &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := func(f *event.InFlight, symbol string) bool {
		return slices.ContainsFunc(w.stacks[f.Stack], func(f event.Frame) bool { return f.Symbol == symbol })
	}
	var silent, worker *event.InFlight
	for _, f := range w.last {
		switch {
		case f.Silent:
			silent = &f
		case f.Op == 0:
			worker = &f
		}
	}
	if silent == nil || worker == nil {
		t.Fatalf("recorded %+v, want a silent thread and the one that it waits for", w.last)
	}
	if silent.Class != class || !strings.HasPrefix(silent.File, "pipe:") || silent.Doing != event.Blocked || silent.Peer != worker.Thread || silent.Stuck ||
		silent.Age() < 3*sec || !in(silent, "wait_for_answer") {
		t.Errorf("the program: %+v in %v", silent, w.stacks[silent.Stack])
	}
	if worker.Class != event.Futex || !worker.Stuck || worker.PID == silent.PID || worker.Start != silent.Start ||
		!in(worker, "work_for_parent") {
		t.Errorf("its worker: %+v in %v", worker, w.stacks[worker.Stack])
	}
}

const sec = 1_000_000_000
