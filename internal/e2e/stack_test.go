package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// stackFiles are the programs of testdata/stack.
type stackFiles struct {
	program, fixed   string // position-independent or not
	plugin, stripped string // libraries to be loaded later
}

// buildStack compiles the programs of testdata/stack as vendors do: optimised, and without frame
// pointers.
func buildStack(t *testing.T) (f stackFiles, dir string) {
	t.Helper()
	kerneltest.Require(t)
	if _, err := exec.LookPath("g++"); err != nil {
		kerneltest.Lacks(t, "needs g++")
	}
	dir = t.TempDir()
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	build := func(out string, args ...string) string {
		out = filepath.Join(dir, out)
		args = append([]string{"-std=c++17", "-O2", "-fomit-frame-pointer", "-Wl,--build-id=sha1", "-o", out}, args...)
		args = append(args, "-L"+files.LibDir, "-l:libcudart.so.12", "-Wl,-rpath,"+files.LibDir+":"+dir, "-ldl", "-pthread")
		if b, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
			t.Fatalf("g++ %s: %v\n%s", args, err, b)
		}
		return out
	}
	model := build("libmodel.so", "-fPIC", "-shared", "-Wl,-soname,libmodel.so", "testdata/stack/model.cc")
	f.plugin = build("plugin.so", "-fPIC", "-shared", "testdata/stack/model.cc")
	f.stripped = build("stripped.so", "-s", "-fPIC", "-shared", "-fvisibility=hidden", "testdata/stack/model.cc",
		"-Wl,--version-script=testdata/stack/stripped.map")
	f.program = build("program", "-fPIE", "-pie", "testdata/stack/main.cc", model)
	f.fixed = build("fixed", "-fno-pie", "-no-pie", "testdata/stack/main.cc", model)
	return f, dir
}

// stackSink keeps the stacks of launches, in the order of the calls.
type stackSink struct {
	mu     sync.Mutex
	stacks map[uint64]event.Stack
	calls  []uint64
}

func (s *stackSink) Batch(b *store.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range b.Stacks {
		k.Frames = slices.Clone(k.Frames)
		s.stacks[k.ID] = k
	}
	for i := range b.Calls {
		if b.Calls[i].Op.String() == "cudaLaunchKernel" {
			s.calls = append(s.calls, b.Calls[i].Stack)
		}
	}
}

func (s *stackSink) Second(*agent.Status) {}

// traceLines traces a program while it processes lines of input, and returns the stacks of its
// launches.
func traceLines(t *testing.T, b probe.Backend, program string, lines ...string) []event.Stack {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	sink := &stackSink{stacks: map[uint64]event.Stack{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err = agent.Run(ctx, agent.Options{
		PIDs: []int{cmd.Process.Pid}, UID: agent.AnyUser, Backend: b, Stack: probe.StackAll, Sinks: []agent.Sink{sink},
		Started: func(agent.Start) {
			defer stop()
			for _, l := range lines {
				if _, err := io.WriteString(in, l+"\n"); err != nil {
					t.Error(err)
				} else if _, err := answers.ReadString('\n'); err != nil {
					t.Errorf("%s: %v", l, err)
				}
			}
		},
	})
	in.Close()
	if e := cmd.Wait(); e != nil {
		t.Error(e)
	}
	if errors.Is(err, probe.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var stacks []event.Stack
	for _, id := range sink.calls {
		stacks = append(stacks, sink.stacks[id])
	}
	return stacks
}

// own are the names of the frames that belong to the test programs.
func own(s *event.Stack) []string {
	var names []string
	for _, f := range s.Frames {
		name, _, _ := strings.Cut(f.Symbol, " [clone") // what the optimizer adds
		if strings.HasPrefix(name, "model") || strings.HasPrefix(name, "(anonymous namespace)::") || name == "main" {
			names = append(names, name)
		}
	}
	return names
}

func describe(s *event.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "\t%s %s+%#x\n", f.Symbol, f.Module, f.Offset)
	}
	return b.String()
}

const (
	tensors = "model::Tensor<double>"
	launch  = tensors + "::launch(int)"
	dynamic = "model::Dynamic::forward(" + tensors + "&, int)"
	aligned = "model::Aligned::forward(" + tensors + "&, int)"
	direct  = "model::direct(int)"
	stdText = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	run     = "model::run(" + stdText + " const&, int)"
	step    = "(anonymous namespace)::step(std::__cxx11::basic_istringstream<char, std::char_traits<char>, " +
		"std::allocator<char> >&)"
)

// threadStart are libc's functions in which threads begin, often without a name.
var threadStart = []string{"clone", "clone3", "__clone", "__clone3", ""}

// ways are lines of input, the frames that they must give, and where the stack ends.
var ways = []struct {
	line string
	want []string
	end  []string
}{
	{"direct 1", []string{direct, run, step, "main"}, []string{"_start"}},
	{"recurse 9", append(slices.Repeat([]string{"model::recurse(int)"}, 10), run, step, "main"), []string{"_start"}},
	{
		"libc",
		[]string{direct, "model::by_call(void const*, void const*)", "model::through_libc()", run, step, "main"},
		[]string{"_start"},
	},
	{"signal", []string{direct, "model::handler(int)", "model::in_signal()", run, step, "main"}, []string{"_start"}},
	{"thread", []string{direct}, threadStart},
	{"frame20 1", []string{direct, "model::frame20(int)", run, step, "main"}, []string{"_start"}},
	{"frame36 1", []string{direct, "model::frame36(int)", run, step, "main"}, []string{"_start"}},
	{"frame200 1", []string{
		direct, "model::frame36(int)", "model::frame48(int)", "model::frame200(int)", run, step,
		"main",
	}, []string{"_start"}},
	{
		"frame3000 1",
		[]string{direct, "model::frame36(int)", "model::frame3000(int)", run, step, "main"},
		[]string{"_start"},
	},
	{
		"frames_in_thread",
		[]string{direct, "model::frame36(int)", "model::frame48(int)", "model::frame200(int)"},
		threadStart,
	},
	{"exception", []string{direct, "model::behind_exception()", run, step, "main"}, []string{"_start"}},
}

func TestStacksReachMainWithoutFramePointers(t *testing.T) {
	files, _ := buildStack(t)
	var lines []string
	for _, w := range ways {
		lines = append(lines, w.line)
	}
	for _, c := range []struct {
		name, program string
		backend       probe.Backend
	}{
		{"session", files.program, probe.BackendSession},
		{"session, not PIE", files.fixed, probe.BackendSession},
		{"multi", files.program, probe.BackendMulti},
		{"perf", files.program, probe.BackendPerf},
	} {
		t.Run(c.name, func(t *testing.T) {
			stacks := traceLines(t, c.backend, c.program, lines...)
			if len(stacks) != len(ways) {
				t.Fatalf("%d calls with a stack, want %d", len(stacks), len(ways))
			}
			for i := range ways {
				checkStack(t, &stacks[i], ways[i].line, ways[i].want, ways[i].end)
			}
		})
	}
}

// checkStack compares a stack with the frames that must follow that of direct.
func checkStack(t *testing.T, s *event.Stack, line string, want, end []string) {
	t.Helper()
	want = append([]string{launch, dynamic, aligned}, want...)
	if want[3] != direct { // all ways but recursion name it
		want = slices.Insert(want, 3, direct)
	}
	got := own(s)
	if strings.Contains(line, "thread") && len(got) > len(want) {
		got = got[:len(want)] // then comes the lambda, with a name from the compiler
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%swant %q", line, describe(s), want)
	}
	if n := len(s.Frames); s.Cut || n == 0 || !slices.Contains(end, s.Frames[n-1].Symbol) {
		t.Errorf("%s: cut: %v; should end in %s:\n%s", line, s.Cut, end, describe(s))
	}
}

func TestStacksThroughLibrariesLoadedLater(t *testing.T) {
	files, _ := buildStack(t)
	s := traceLines(t, "", files.program, "direct 1", "plugin "+files.plugin+" direct 2",
		"plugin "+files.stripped+" direct 3", "recurse 400")
	if len(s) != 4 {
		t.Fatalf("%d calls with a stack, want 4", len(s))
	}
	plugin := "(anonymous namespace)::plugin(" + stdText + " const&, " + stdText + " const&, int)"
	checkStack(t, &s[1], "plugin", []string{direct, run, "model_run", plugin, step, "main"}, []string{"_start"})

	if got := own(&s[2]); !slices.Equal(got, []string{"model_run", plugin, step, "main"}) || s[2].Cut {
		t.Errorf("stripped: cut: %v, got\n%s", s[2].Cut, describe(&s[2]))
	}
	for i := range 4 {
		if f := &s[2].Frames[i]; f.Symbol != "" || f.Module != "stripped.so" || f.Offset == 0 || len(f.BuildID) != 40 {
			t.Errorf("stripped: frame %d is %+v, want an offset in stripped.so and its build id", i, f)
		}
	}
	if n := len(s[3].Frames); !s[3].Cut || n != 128 {
		t.Errorf("a stack of more than 400 frames has %d, cut: %v", n, s[3].Cut)
	}
}

// A function whose return is probed has another return address on the stack: the kernel's. Callers
// of such functions are found all the same.
func TestStacksReachMainThroughFunctionsWhoseReturnIsProbed(t *testing.T) {
	kerneltest.Require(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "needs gcc")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libcudart.so.13"), filepath.Join(dir, "lookup")
	for _, args := range [][]string{
		{"-fPIC", "-shared", "-Wl,-soname,libcudart.so.13", "-Wl,-Bsymbolic", "-o", library, "testdata/stack/lookup.c"},
		{"-o", program, "testdata/stack/lookup_main.c", library, "-Wl,-rpath," + dir},
	} {
		args = append([]string{"-O2", "-fomit-frame-pointer"}, args...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %v\n%s", args, err, out)
		}
	}
	for _, backend := range probe.Backends {
		t.Run(string(backend), func(t *testing.T) {
			stacks := traceLines(t, backend, program, "one", "two", "jump")
			if len(stacks) != 3 {
				t.Fatalf("%d calls, want 3", len(stacks))
			}
			for i, s := range stacks {
				want := []string{"__cudaGetKernel", "look", "main"}
				if i == 1 {
					want = slices.Insert(want, 1, "cudaGetKernel")
				}
				var got []string
				for _, f := range s.Frames {
					if len(got) < len(want) {
						got = append(got, f.Symbol)
					}
				}
				if n := len(s.Frames); !slices.Equal(got, want) || s.Cut || s.Frames[n-1].Symbol != "_start" {
					t.Errorf("call %d: cut: %v, want %s to _start, got\n%s", i, s.Cut, want, describe(&s))
				}
			}
		})
	}
}
