package coverage

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestLocalLaunchFunctionsOfAProgramAreFound(t *testing.T) {
	dir := t.TempDir()
	source, file := filepath.Join(dir, "t.c"), filepath.Join(dir, "t")
	const text = `#define F __attribute__((noinline, used)) static int
F cudaLaunchKernel(void) { return 1; }
F cudaLaunchKernelTomorrow(void) { return 2; }
F cudaMalloc(void) { return 3; }
int main(void) { return cudaLaunchKernel() + cudaLaunchKernelTomorrow() + cudaMalloc(); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-o", file, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := readSymbols(file)
	slices.Sort(s.launching)
	if !slices.Equal(s.launching, []string{"cudaLaunchKernel", "cudaLaunchKernelTomorrow"}) ||
		len(s.exported)+len(s.imported) > 0 {
		t.Errorf("%+v", s)
	}
	if s := readSymbols(source); len(s.launching) > 0 {
		t.Errorf("of a text file: %+v", s)
	}
}
