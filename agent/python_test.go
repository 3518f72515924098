package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/pythontest"
	"github.com/ingero-io/ingero/store"
)

// pythonFrame is a frame as calls.py tells it: file, function, line.
type pythonFrame struct {
	file, function string
	line           uint32
}

func (f *pythonFrame) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&f.file, &f.function, &f.line})
}

func (f pythonFrame) String() string {
	return fmt.Sprintf("%s:%d in %s", filepath.Base(f.file), f.line, f.function)
}

// pythonTruth is what calls.py writes.
type pythonTruth struct {
	Version string
	Calls   map[uint64]int
	Stacks  [][]pythonFrame
}

// stackWriter keeps the calls of cudaFree and all stacks.
type stackWriter struct {
	calls  []event.Call
	stacks map[uint64][]event.Frame
}

func (w *stackWriter) Write(b *store.Batch) error {
	for i := range b.Calls {
		if b.Calls[i].Op.String() == "cudaFree" {
			w.calls = append(w.calls, b.Calls[i])
		}
	}
	for _, s := range b.Stacks {
		w.stacks[s.ID] = slices.Clone(s.Frames)
	}
	return nil
}

func (w *stackWriter) Flush(context.Context) error { return nil }

func (w *stackWriter) Skip(*store.Batch) {}

func (w *stackWriter) Lost() uint64 { return 0 }
func (w *stackWriter) Close() error { return nil }

// python returns the Python frames of a stack.
func (w *stackWriter) python(id uint64) []pythonFrame {
	var r []pythonFrame
	for _, f := range w.stacks[id] {
		if f.Kind == event.FramePython {
			r = append(r, pythonFrame{f.File, f.Symbol, f.Line})
		}
	}
	return r
}

// maxPythonFrames is NPYFRAME of capture/bpf/include/python_rec.h.
const maxPythonFrames = 128

// expected is a true stack as it is recorded: cut if it is too deep.
func expected(frames []pythonFrame) []pythonFrame {
	if len(frames) <= maxPythonFrames {
		return frames
	}
	return append(slices.Clone(frames[:maxPythonFrames]), pythonFrame{function: python.Cut().Symbol})
}

// tracePython runs calls.py under the tracer with a stack for every call.
func tracePython(t *testing.T, in pythontest.Interpreter, backend probe.Backend) (*stackWriter, pythonTruth,
	agent.Summary,
) {
	t.Helper()
	files := extract(t)
	dir := t.TempDir()
	lib, truthFile := filepath.Join(files.LibDir, "libcudart.so.12"), filepath.Join(dir, "truth.json")
	args := []string{"testdata/python/calls.py", lib, truthFile}
	if ext := extension(t, in, files, dir); ext != "" {
		args = append(args, ext)
	}
	cmd := exec.Command(in.Path, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "LD_LIBRARY_PATH="+files.LibDir)
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
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	w := &stackWriter{stacks: map[uint64][]event.Frame{}}
	s, err := agent.Run(t.Context(), agent.Options{
		// room for the copies of all native stacks
		PIDs: []int{cmd.Process.Pid}, UID: agent.AnyUser, Backend: backend, Stack: probe.StackAll, RingMB: 512,
		Started: func(agent.Start) { io.WriteString(stdin, "go\n") },
		Record:  &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(truthFile)
	if err != nil {
		t.Fatal(err)
	}
	var truth pythonTruth
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	return w, truth, s
}

// extension builds direct.c for an interpreter and returns the folder it is in;
// none if the interpreter came without headers.
func extension(t *testing.T, in pythontest.Interpreter, files cudastub.Files, dir string) string {
	t.Helper()
	if in.Include == "" {
		t.Logf("Python %s has no headers: its calls from a C extension are not tested", in.Version)
		return ""
	}
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-I"+in.Include, "testdata/python/direct.c",
		filepath.Join(files.LibDir, "libcudart.so.12"), "-o", filepath.Join(dir, "direct.so")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// compare counts the calls whose whole Python stack is right, and those where it is
// not.
func (truth *pythonTruth) compare(t *testing.T, w *stackWriter) (right, wrong int) {
	for i := range w.calls {
		c := &w.calls[i]
		stack, ok := truth.Calls[c.Args[0]]
		if !ok {
			t.Fatalf("call %d was not made", c.Args[0])
		}
		want, got := expected(truth.Stacks[stack]), w.python(c.Stack)
		if slices.Equal(got, want) {
			right++
			continue
		}
		if wrong++; wrong < 4 {
			t.Logf("call %d has\n%v\nwant\n%v\nin %v", c.Args[0], got, want, w.stacks[c.Stack])
		}
	}
	return right, wrong
}

// TestPythonFramesAreThoseOfTheInterpreter compares the whole Python stack of each
// of some ten thousand calls with what CPython says of itself.
func TestPythonFramesAreThoseOfTheInterpreter(t *testing.T) {
	tested := 0
	for _, in := range pythontest.Interpreters(t) {
		if in.Minor < python.Oldest || in.Minor > python.Newest {
			continue
		}
		tested++
		t.Run(in.Name(), func(t *testing.T) {
			w, truth, s := tracePython(t, in, "")
			for _, l := range s.Losses {
				if l.Kind.Counts() || l.Kind == event.LostStack {
					t.Errorf("lost %d %s", l.Count, l.Kind)
				}
			}
			right, wrong := truth.compare(t, w)
			t.Logf("Python %s: %d of %d calls have their whole stack right (%.2f %%), %d different ones",
				in.Name(), right, len(truth.Calls), 100*float64(right)/float64(len(truth.Calls)), len(truth.Stacks))
			if right+wrong != len(truth.Calls) || right*100 < 99*len(truth.Calls) {
				t.Errorf("%d right and %d wrong of %d calls", right, wrong, len(truth.Calls))
			}
		})
	}
	if tested == 0 {
		t.Fatal("no Python from 3.8 to 3.14 on this machine; install python3")
	}
}

// TestPythonIsSeenOnEveryBackend uses the newest interpreter.
func TestPythonIsSeenOnEveryBackend(t *testing.T) {
	all := pythontest.Interpreters(t)
	in := slices.MaxFunc(all, func(a, b pythontest.Interpreter) int {
		known := func(i pythontest.Interpreter) int {
			if i.Minor > python.Newest {
				return 0
			}
			return i.Minor
		}
		return known(a) - known(b)
	})
	for _, b := range probe.Backends {
		t.Run(string(b), func(t *testing.T) {
			w, truth, _ := tracePython(t, in, b)
			if right, wrong := truth.compare(t, w); right*100 < 99*len(truth.Calls) {
				t.Errorf("Python %s: %d right and %d wrong of %d calls", in.Name(), right, wrong, len(truth.Calls))
			}
		})
	}
}

// TestPythonThatExecutesAndForks begins with a shell that becomes Python, which
// forks a child that makes the calls.
func TestPythonThatExecutesAndForks(t *testing.T) {
	in := pythontest.Interpreters(t)[0]
	files := extract(t)
	w := &stackWriter{stacks: map[uint64][]event.Frame{}}
	_, err := agent.Run(t.Context(), agent.Options{
		Command: []string{
			"sh", "-c",
			"exec " + in.Path + " testdata/python/forks.py " + filepath.Join(files.LibDir, "libcudart.so.12"),
		},
		UID: agent.AnyUser, Stack: probe.StackAll, Stdout: io.Discard, Stderr: os.Stderr,
		Record: &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	pids := map[uint32]int{}
	for i := range w.calls {
		s := w.python(w.calls[i].Stack)
		if len(s) == 2 && s[0].function == "child" && s[1].function == "<module>" && s[0].line == 9 &&
			filepath.Base(s[0].file) == "forks.py" {
			pids[w.calls[i].PID]++
		}
	}
	if len(pids) != 2 {
		t.Errorf("calls with the right frames by process: %v, want two processes; %d calls in all", pids, len(w.calls))
	}
}
