package agent_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/pythontest"
	"github.com/ingero-io/ingero/store"
)

// flightWriter keeps the calls in flight, the last sight of each, and all stacks. When
// it has seen as many threads as it wants it calls enough.
type flightWriter struct {
	stackWriter
	inFlightTracker map[event.Thread]event.InFlight
	want            int
	enough          func()
	where           map[string]bool // what the status says of them
}

// Batch and Second make it a sink, too.
func (w *flightWriter) Batch(*store.Batch) {}

func (w *flightWriter) Second(s *agent.Status) {
	for _, at := range s.Where {
		w.where[filepath.Base(at)] = true
	}
	if len(w.inFlightTracker) == w.want && len(s.Where) == w.want {
		w.enough()
	}
}

func (w *flightWriter) Write(b *store.Batch) error {
	for _, f := range b.InFlight {
		if f.Outcome == event.StillInFlight {
			w.inFlightTracker[f.Thread] = f
		}
	}
	return w.stackWriter.Write(b)
}

// A call that hangs has no return, at which the kernel would walk the Python frames: they
// are read from the process. Every Python of the machine hangs at the same time, in two
// threads each: those of the first compute, as CUDA does, the others sleep.
func TestAHangingCallHasItsPythonFrames(t *testing.T) {
	kerneltest.Require(t)
	if err := probe.PythonSupport(); err != nil {
		t.Skip(err)
	}
	lib := filepath.Join(extract(t).LibDir, "libcudart.so.12")
	pythons, begin := map[int]string{}, []io.Writer{}
	o := agent.Options{UID: agent.AnyUser}
	ctx, end := context.WithTimeout(t.Context(), 15*time.Second)
	defer end()
	for _, in := range pythontest.Interpreters(t) {
		if in.Minor < python.Oldest || in.Minor > python.Newest {
			continue
		}
		how := "sleep=60s"
		if len(pythons) == 0 {
			how = "spin=60s"
		}
		pid, stdin := startHanging(t, in, lib, how)
		pythons[pid], begin, o.PIDs = in.Name(), append(begin, stdin), append(o.PIDs, pid)
	}
	w := &flightWriter{
		stackWriter{stacks: map[uint64][]event.Frame{}},
		map[event.Thread]event.InFlight{},
		2 * len(pythons), end,
		map[string]bool{},
	}
	o.Sinks = []agent.Sink{w}
	o.Started = func(agent.Start) {
		for _, b := range begin {
			io.WriteString(b, "go\n")
		}
	}
	o.Record = &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }}
	if _, err := agent.Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	hung := map[int]int{}
	for _, f := range w.inFlightTracker {
		hung[int(f.PID)]++
		script, err := filepath.Abs("testdata/python/hangs.py")
		if err != nil {
			t.Fatal(err)
		}
		var got []pythonFrame
		for _, p := range w.python(f.Stack) {
			p.file, _ = filepath.Abs(p.file)
			if p.file == script {
				got = append(got, p)
			}
		}
		outermost := pythonFrame{script, "<module>", 24}
		if f.TID != f.PID {
			outermost = pythonFrame{script, "worker", 17}
		}
		of := func(f string) string { // 3.11 and later know the class
			if slices.ContainsFunc(got, func(p pythonFrame) bool { return p.function == "Trainer."+f }) {
				return "Trainer." + f
			}
			return f
		}
		want := []pythonFrame{{script, of("wait_for_gpu"), 9}, {script, of("step"), 13}, outermost}
		if !slices.Equal(got, want) {
			t.Errorf("Python %s hangs in %v, want %v; the whole stack is %v", pythons[int(f.PID)], got, want, w.stacks[f.Stack])
		}
		native := func(f event.Frame) bool { return f.Symbol == "cudaStreamSynchronize" }
		if f.Doing == event.Blocked && !slices.ContainsFunc(w.stacks[f.Stack], native) {
			t.Errorf("Python %s: no native frames in %v", pythons[int(f.PID)], w.stacks[f.Stack])
		}
	}
	if len(w.where) > 2 || !w.where["hangs.py:9 in wait_for_gpu"] && !w.where["hangs.py:9 in Trainer.wait_for_gpu"] {
		t.Errorf("the status says they are at %v", w.where)
	}
	for pid, name := range pythons {
		if hung[pid] != 2 {
			t.Errorf("Python %s: %d threads seen in flight, want 2", name, hung[pid])
		}
	}
}

// startHanging starts a Python whose calls of cudaStreamSynchronize do not return. It
// makes them when a line was written to it, and is killed at the end of the test.
func startHanging(t *testing.T, in pythontest.Interpreter, lib, how string) (pid int, stdin io.Writer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), in.Path, "testdata/python/hangs.py", lib)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "LD_LIBRARY_PATH="+filepath.Dir(lib),
		"CUDASTUB=cudaStreamSynchronize:"+how)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, stdin
}
