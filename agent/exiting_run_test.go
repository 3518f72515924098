package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

const leaverLibrary = `
static unsigned long next = 4096;
int cudaMalloc(void **p, unsigned long n) { *p = (void *)(next += 4096); return 0; }
int cudaFree(void *p) { return p == 0; }
`

// leaverProgram allocates in its first thread, which then ends. Another one frees that and allocates
// once more.
const leaverProgram = `
#include <pthread.h>
#include <unistd.h>
int cudaMalloc(void **, unsigned long), cudaFree(void *);
static void *first[10], *more;
static void *rest(void *unused)
{
	usleep(700 * 1000); /* some drains of the tracer */
	for (int i = 0; i < 10; i++)
		cudaFree(first[i]);
	cudaMalloc(&more, 1000);
	_exit(0);
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 10; i++)
		cudaMalloc(&first[i], 100);
	pthread_create(&t, 0, rest, 0);
	pthread_exit(0);
}
`

// built compiles a library with the name of CUDA's runtime, and a program that uses it.
func built(t *testing.T, librarySource, programSource string) (program string) {
	t.Helper()
	kerneltest.Require(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "gcc is missing")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libcudart.so.12"), filepath.Join(dir, "program")
	for _, c := range []struct {
		file, source string
		args         []string
	}{
		{library, librarySource, []string{"-fPIC", "-shared", "-Wl,-soname,libcudart.so.12"}},
		{program, programSource, []string{library, "-pthread", "-Wl,-rpath," + dir}},
	} {
		if err := os.WriteFile(c.file+".c", []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-O2", "-w", "-o", c.file, c.file + ".c"}, c.args...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return program
}

// The end of a first thread is not that of its process, whose other threads may go on for long.
func TestAProcessGoesOnWithoutItsFirstThread(t *testing.T) {
	program := built(t, leaverLibrary, leaverProgram)
	c := newCounter()
	o := c.options()
	o.Command = []string{program}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var made, freed, unknown uint64
	for _, m := range c.memory {
		made, freed, unknown = made+m.Allocs, freed+m.Frees, unknown+m.UnknownFrees
	}
	if made != 11 || freed != 10 || unknown != 0 {
		t.Errorf("%d allocations and %d frees, %d of them of unknown memory; want 11, 10 and none", made, freed, unknown)
	}
}

// executorProgram calls CUDA; then its second thread executes it anew, which calls CUDA after half a
// second, as programs do that load libraries first.
const executorProgram = `
#include <pthread.h>
#include <unistd.h>
int cudaMalloc(void **, unsigned long), cudaFree(void *);
static char *self;
static void *more;
static void *execute(void *unused)
{
	execl(self, self, "again", (char *)0);
	_exit(1);
}
int main(int argc, char **argv)
{
	pthread_t t;
	self = argv[0];
	if (argc > 1)
		usleep(500 * 1000);
	for (int i = 0; i < 10; i++)
		cudaMalloc(&more, 100);
	if (argc > 1)
		return 0;
	usleep(200 * 1000);
	pthread_create(&t, 0, execute, 0);
	pthread_join(t, 0);
}
`

// The kernel ties the probes of a process to its first thread's task, which is gone once another thread
// has executed a program.
func TestAProgramThatAnotherThreadExecutesIsTraced(t *testing.T) {
	program := built(t, leaverLibrary, executorProgram)
	c := newCounter()
	o := c.options()
	o.Command = []string{program}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var made uint64
	for _, m := range c.memory {
		made += m.Allocs
	}
	if made != 20 {
		t.Errorf("%d allocations; want 10 of each program", made)
	}
}
