package coverage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// compile makes an ELF file of C source.
func compile(t *testing.T, file, source string, args ...string) string {
	t.Helper()
	c := filepath.Join(t.TempDir(), "t.c")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", append([]string{"-O1", "-fPIC", "-o", file, c}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// function is C source of functions that do nothing.
func function(names ...string) string {
	return "int " + strings.Join(names, "(void) { return 0; }\nint ") + "(void) { return 0; }\n"
}

// caller is C source of a program that calls functions of other files.
func caller(names ...string) string {
	return "extern int " + strings.Join(names, "(void), ") + "(void);\nint main(void) { return " + strings.Join(names,
		"() + ") + "(); }\n"
}

// A program that launches by a function that is not traced is not "traced: yes".
func TestImportsOfAProcessAreComparedWithTracedFunctions(t *testing.T) {
	m, _, _ := newMachine(t)
	dir := t.TempDir()
	runtime := compile(t, filepath.Join(dir, "libcudart.so.14"),
		function("cudaMalloc", "cudaGetDevice", "__cudaLaunchKernel",
			"cudaLaunchKernelTomorrow", "cudaFrobnicate", "cudaWaitExternalSemaphoresAsync",
			"cudaLaunchCooperativeKernelMultiDevice"), "-shared")
	own := compile(t, filepath.Join(dir, "libown.so"), function("cudaLaunchMine"), "-shared")
	launches, calls := "GPU work handed over by ", "calls of "
	for pid, tt := range map[int]struct {
		imports []string
		backend string
		traced  coverage.Traced
		want    []string // code, what
	}{
		1: {[]string{"cudaMalloc", "__cudaLaunchKernel", "cudaGetDevice"}, "session", coverage.Yes, nil},
		2: {
			[]string{"cudaLaunchKernelTomorrow"},
			"session", coverage.Partly,
			[]string{"untraced_launch " + launches + "cudaLaunchKernelTomorrow"},
		},
		3: {
			[]string{"cudaMalloc", "cudaFrobnicate", "cudaWaitExternalSemaphoresAsync"},
			"session", coverage.Yes,
			[]string{
				"untraced_function " + calls + "cudaFrobnicate",
				"untraced_function " + calls + "cudaWaitExternalSemaphoresAsync",
			},
		},
		4: {[]string{"cudaMalloc", "cudaLaunchMine"}, "session", coverage.Yes, nil}, // not one of CUDA's
		5: {[]string{"cudaLaunchCooperativeKernelMultiDevice"}, "session", coverage.Yes, nil},
		6: {
			[]string{"cudaLaunchCooperativeKernelMultiDevice"},
			"perf", coverage.Partly,
			[]string{"untraced_launch " + launches + "cudaLaunchCooperativeKernelMultiDevice"},
		},
		7: {
			[]string{"cudaMalloc", "cudaLaunchKernelTomorrow"},
			"", coverage.No,
			[]string{"untraced_launch " + launches + "cudaLaunchKernelTomorrow"},
		},
	} {
		program := compile(t, filepath.Join(t.TempDir(), "program"), caller(tt.imports...), runtime, own)
		m.process(pid, "program", program, runtime, own)
		r := m.examine(coverage.Options{Backend: tt.backend, PIDs: []int{pid}})
		p := r.Processes[0]
		var got []string
		for _, n := range p.NotSeen {
			if strings.HasPrefix(n.Code, "untraced") {
				got = append(got, n.Code+" "+n.What)
			}
			if n.Why == "" {
				t.Errorf("%v: %+v gives no reason", tt.imports, n)
			}
		}
		if p.Traced != tt.traced || !slices.Equal(got, tt.want) {
			t.Errorf("%v by %q: traced: %s, %q; want %s, %q", tt.imports, tt.backend, p.Traced, got, tt.traced, tt.want)
		}
	}
}

// A file that calls a CUDA library which cannot be attached to has that reason only.
func TestFunctionsOfARemovedLibraryAreNotListed(t *testing.T) {
	m, _, _ := newMachine(t)
	dir := t.TempDir()
	runtime := compile(t, filepath.Join(dir, "libcudart.so.14"), function("cudaMalloc", "cudaLaunchKernelTomorrow"),
		"-shared")
	program := compile(t, filepath.Join(dir, "program"), caller("cudaLaunchKernelTomorrow"), runtime)
	if err := os.Remove(runtime); err != nil {
		t.Fatal(err)
	}
	m.process(1, "program", program, runtime)
	p := m.examine(coverage.Options{Backend: "session"}).Processes[0]
	if p.Traced != coverage.No || len(p.NotSeen) != 1 || p.NotSeen[0].Code != "file_gone" {
		t.Errorf("%+v", p)
	}
}
