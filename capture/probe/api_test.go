package probe_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// apiLibraries are the libraries of the catalogue's operations.
var apiLibraries = func() map[string][]event.Source {
	m := map[string][]event.Source{}
	for _, s := range event.Sources {
		if s.Library != "" {
			file := s.Library + ".so.1"
			m[file] = append(m[file], s.Source)
		}
	}
	return m
}()

// typedCalls have arguments that are read from memory, from the stack, or are made of
// several: structures are those of driver_types.h and cuda.h, in words of 8 bytes.
const typedCalls = `
typedef struct { void *ptr; unsigned long pitch, x, y; } pitched;
typedef struct { unsigned long w, h, d; } extent;
extern int cudaMemcpy3D(void *), cudaMemcpyToSymbol(void *, void *, unsigned long, unsigned long, int),
	cuMemcpy2D_v2(void *), cuMemcpy3D_v2(void *), cuMemcpy3DPeer(void *), cuMemsetD32_v2(unsigned long, unsigned, unsigned long),
	cuMemsetD16_v2(unsigned long, unsigned short, unsigned long), cudaMemset2D(void *, unsigned long, int, unsigned long, unsigned long),
	cuMemcpyPeer(unsigned long, void *, unsigned long, void *, unsigned long),
	cuMemcpyDtoA_v2(void *, unsigned long, unsigned long, unsigned long), cudaMalloc3D(pitched *, extent);
static void typed(void)
{
	unsigned long a[32] = {0}, b[32] = {0}, c[32] = {0};
	a[4] = 0x1000; a[12] = 0x2000; a[16] = 10; a[17] = 20; a[18] = 30; a[19] = 2;
	b[14] = 11; b[15] = 12;
	c[22] = 3; c[23] = 4; c[24] = 5;
	cudaMemcpy3D(a);
	cudaMemcpyToSymbol((void *)0x3000, (void *)0x4000, 100, 8, 1);
	cuMemcpy2D_v2(b);
	cuMemcpy3D_v2(c);
	cuMemcpy3DPeer(c);
	cuMemsetD32_v2(0x5000, 7, 10);
	cuMemsetD16_v2(0x5000, 7, 10);
	cudaMemset2D((void *)0x6000, 64, 5, 30, 20);
	cuMemcpyPeer(0x7000, 0, 0x8000, 0, 77);
	cuMemcpyDtoA_v2((void *)0x9000, 8, 0xa000, 55);
	pitched p = { (void *)0xb000, 0, 0, 0 };
	cudaMalloc3D(&p, (extent){ 6, 7, 8 });
}
`

// typedArgs are the arguments that typedCalls are recorded with, in their order.
var typedArgs = []struct {
	op   string
	args [event.NumArgs]uint64
}{
	{"cudaMemcpy3D", [4]uint64{6000, 2, 0x2000, 0x1000}},
	{"cudaMemcpyToSymbol", [4]uint64{100, 1, 0x3000, 0x4000}},
	{"cuMemcpy2D", [4]uint64{132}},
	{"cuMemcpy3D", [4]uint64{60}},
	{"cuMemcpy3DPeer", [4]uint64{60}},
	{"cuMemsetD32", [4]uint64{40, 0x5000, 7}},
	{"cuMemsetD16", [4]uint64{20, 0x5000, 7}},
	{"cudaMemset2D", [4]uint64{600, 0x6000, 5}},
	{"cuMemcpyPeer", [4]uint64{77, 0x7000, 0x8000}},
	{"cuMemcpyDtoA", [4]uint64{55, 0x9000}},
	{"cudaMalloc3D", [4]uint64{336, 0xb000}},
}

// buildAPI makes libraries that have every function of the catalogue, and a program that
// calls each of them as often as asked for, then those of typedCalls.
func buildAPI(t *testing.T, times int) (dir, program string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "gcc is missing")
	}
	dir = t.TempDir()
	gcc := func(out, source string, args ...string) {
		c := filepath.Join(dir, filepath.Base(out)+".c")
		if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := exec.Command("gcc",
			append([]string{"-O1", "-w", "-fno-builtin", "-o", out, c}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
	}
	var calls strings.Builder
	links := []string{"-L" + dir, "-Wl,-rpath," + dir}
	for lib, sources := range apiLibraries {
		var functions strings.Builder
		n := 0
		for _, s := range sources {
			for _, i := range event.BySource(s) {
				for _, f := range i.SymbolNames() {
					n++
					fmt.Fprintf(&functions, "int %s() { static volatile int n; n += %d; return 0; }\n", f, n)
					fmt.Fprintf(&calls, "\t\t((int (*)(long, long, long, long, long, long, long, long))%s)(0, 0, 0, 0, 0, 0, 0, 0);\n",
						f)
				}
			}
		}
		gcc(filepath.Join(dir, lib), functions.String(), "-fPIC", "-shared", "-Wl,-soname,"+lib)
		links = append(links, "-l:"+lib)
	}
	program = filepath.Join(dir, "caller")
	var declared strings.Builder
	for _, sources := range apiLibraries {
		for _, s := range sources {
			for _, i := range event.BySource(s) {
				for _, f := range i.SymbolNames() {
					if !strings.Contains(typedCalls, f+"(") {
						fmt.Fprintf(&declared, "extern int %s();\n", f)
					}
				}
			}
		}
	}
	gcc(program, "#include <stdio.h>\n"+declared.String()+typedCalls+fmt.Sprintf(`
int main(void)
{
	char line[16];
	setvbuf(stdout, 0, _IOLBF, 0);
	puts("ready");
	fgets(line, sizeof line, stdin);
	for (int i = 0; i < %d; i++) {
%s	}
	puts("all");
	fgets(line, sizeof line, stdin);
	typed();
	puts("typed");
	fgets(line, sizeof line, stdin);
}
`, times, calls.String()), links...)
	return dir, program
}

// Every function of the catalogue is timed, also those that the stand-in does not have.
// Detaching so many from perf events takes a minute, so that back end is left out.
func TestEveryFunctionOfTheCatalogueIsTimed(t *testing.T) {
	kerneltest.Require(t)
	const times = 3
	dir, program := buildAPI(t, times)
	eachOf(t, []probe.Backend{probe.BackendSession, probe.BackendMulti}, func(t *testing.T, backend probe.Backend) {
		tr, err := probe.Open(probe.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		begun := time.Now()
		for lib := range apiLibraries {
			attachAll(t, tr, filepath.Join(dir, lib), 0)
		}
		t.Logf("attached in %v", time.Since(begun).Round(time.Millisecond))
		cmd := exec.Command(program)
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
		defer func() { in.Close(); _ = cmd.Wait() }()
		said := bufio.NewScanner(out)
		step := func(done string) probe.Records {
			t.Helper()
			if done != "ready" {
				fmt.Fprintln(in)
			}
			if !said.Scan() || said.Text() != done {
				t.Fatalf("the program says %q (%v), want %q", said.Text(), said.Err(), done)
			}
			var r probe.Records
			tr.Drain(&r, 1<<30)
			return r
		}
		step("ready")
		if err := tr.Adopt(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		got := map[event.Op]int{}
		r := step("all")
		for i := range r.Calls {
			got[r.Calls[i].Op]++
		}
		for i := range r.Marks {
			got[r.Marks[i].Op]++
		}
		for _, sources := range apiLibraries {
			for _, s := range sources {
				for _, i := range event.BySource(s) {
					if want := times * len(i.SymbolNames()); got[i.Op] != want {
						t.Errorf("%s: %d calls recorded, want %d", i.Name, got[i.Op], want)
					}
				}
			}
		}
		calls := step("typed").Calls
		if len(calls) != len(typedArgs) {
			t.Fatalf("%d calls recorded, want %d: %+v", len(calls), len(typedArgs), calls)
		}
		for n, want := range typedArgs {
			if c := calls[n]; c.Op.String() != want.op || c.Args != want.args {
				t.Errorf("recorded %s %#x, want %s %#x", c.Op, c.Args, want.op, want.args)
			}
		}
	})
}
