package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// cuda13Library is a libcudart whose __cudaLaunchKernel is a function of its own, and
// whose handles say nothing about the host function.
const cuda13Library = `
#include <stdint.h>
typedef struct { unsigned x, y, z; } dim3;
static const void *host[64];
static int known;
int __cudaGetKernel(void **kernel, const void *function)
{
	host[known] = function;
	*kernel = (void *)(uintptr_t)(0x5500000000000000 + 16 * known++);
	return 0;
}
void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit,
	void *tid, void *bid, void *block, void *grid, int *size) {}
static volatile int queued;
int __cudaLaunchKernel(void *k, dim3 grid, dim3 block, void **args, unsigned long shared, void *stream) { queued += grid.x; return 0; }
int __cudaLaunchKernel_ptsz(void *k, dim3 grid, dim3 block, void **args, unsigned long shared, void *stream) { queued += grid.y; return 0; }
int cudaLaunchKernel(void *k, dim3 grid, dim3 block, void **args, unsigned long shared, void *stream) { queued += grid.z; return 0; }
int cudaMalloc(void **p, unsigned long n) { *p = &queued; return 0; }
`

// cuda13Program registers kernels, one of them not, as one that was found late, and
// launches each by its handle.
const cuda13Program = `
#include <stdio.h>
typedef struct { unsigned x, y, z; } dim3;
int __cudaGetKernel(void **, const void *), __cudaLaunchKernel(void *, dim3, dim3, void **, unsigned long, void *),
	__cudaLaunchKernel_ptsz(void *, dim3, dim3, void **, unsigned long, void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __device_stub__Z6squarePf(void) { puts(""); }
void __device_stub__Z4cubePf(void) { puts(" "); }
void __device_stub__Z4latePf(void) { puts("  "); }
static char names[24000][300];
int main(void)
{
	void *square, *cube, *late;
	char line[64];
	dim3 one = { 1, 1, 1 };
	for (int i = 0; i < 24000; i++) { /* a framework's, before ours */
		snprintf(names[i], sizeof names[i], "_ZN10frameworks%0250dE", i);
		__cudaRegisterFunction(0, names[i], names[i], names[i], 0, 0, 0, 0, 0, 0);
	}
	__cudaRegisterFunction(0, (char *)__device_stub__Z6squarePf, "", "_Z6squarePf", 0, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, (char *)__device_stub__Z4cubePf, "", "_Z4cubePf", 0, 0, 0, 0, 0, 0);
	__cudaGetKernel(&square, __device_stub__Z6squarePf);
	__cudaGetKernel(&cube, __device_stub__Z4cubePf);
	__cudaGetKernel(&late, __device_stub__Z4latePf);
	for (int i = 0; i < 1000; i++) {
		__cudaLaunchKernel(square, one, one, 0, 0, 0);
		__cudaLaunchKernel(cube, one, one, 0, 0, 0);
		__cudaLaunchKernel_ptsz(late, one, one, 0, 0, 0);
	}
	while (fgets(line, sizeof line, stdin))
		;
}
`

// A program compiled with CUDA 13 launches by __cudaLaunchKernel with a handle from
// __cudaGetKernel: each launch is counted, and named.
func TestLaunchesOfCUDA13AreCountedAndNamed(t *testing.T) {
	kerneltest.Require(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "gcc is missing")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "libcudart.so.13"), filepath.Join(dir, "cuda13")
	for _, c := range []struct {
		file, source string
		args         []string
	}{
		{library, cuda13Library, []string{"-fPIC", "-shared", "-Wl,-soname,libcudart.so.13"}},
		{program, cuda13Program, []string{library, "-Wl,-rpath," + dir}},
	} {
		if err := os.WriteFile(c.file+".c", []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-O2", "-w", "-o", c.file, c.file + ".c"}, c.args...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	n := &namer{counter: newCounter(), names: map[string]string{}}
	n.run(t, program, 3)
	launches := int64(0)
	for _, calls := range n.calls {
		launches += calls["cudaLaunchKernel"]
	}
	if launches != 3000 {
		t.Errorf("%d launches recorded, want 3000", launches)
	}
	want := map[string]string{"square": "1 _Z6squarePf", "cube": "1 _Z4cubePf", "late": "3 _Z4latePf"}
	if diff := cmp.Diff(want, n.names); diff != "" {
		t.Error(diff)
	}
}
