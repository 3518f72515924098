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

// The end of a first thread is not that of its process, whose other threads may go on for long.
func TestAProcessGoesOnWithoutItsFirstThread(t *testing.T) {
	kerneltest.Require(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "gcc is missing")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libcudart.so.12"), filepath.Join(dir, "leaver")
	for _, c := range []struct {
		file, source string
		args         []string
	}{
		{library, leaverLibrary, []string{"-fPIC", "-shared", "-Wl,-soname,libcudart.so.12"}},
		{program, leaverProgram, []string{library, "-pthread", "-Wl,-rpath," + dir}},
	} {
		if err := os.WriteFile(c.file+".c", []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-O2", "-w", "-o", c.file, c.file + ".c"}, c.args...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
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
