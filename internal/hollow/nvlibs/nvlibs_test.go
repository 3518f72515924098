package nvlibs_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
)

const program = `
#include <stdio.h>
int ncclGetVersion(int *), ncclPutSignal(void), cublasCreate_v2(void **), cublasSgemm_v2(void *);
int main(void)
{
	int version = 0;
	void *handle = NULL;
	ncclGetVersion(&version);
	int put = ncclPutSignal(), made = cublasCreate_v2(&handle), launched = cublasSgemm_v2(handle);
	printf("%d %d %d %d\n", version, put, made, launched);
}`

// A program is linked with libraries that have only the names, and runs on those built for it.
func TestAProgramFindsWhatItImports(t *testing.T) {
	dir := t.TempDir()
	gcc := func(source string, args ...string) {
		c := filepath.Join(dir, "source.c")
		if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", append([]string{c}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	nccl, cublas, script := filepath.Join(dir, "libnccl.so"), filepath.Join(dir, "libcublas.so"), filepath.Join(dir, "map")
	if err := os.WriteFile(script, []byte("libcublas.so.13 { global: cublas*; };"), 0o600); err != nil {
		t.Fatal(err)
	}
	gcc("void ncclGetVersion(void){} void ncclPutSignal(void){}", "-shared", "-o", nccl, "-Wl,-soname=libnccl.so.2")
	gcc("void cublasCreate_v2(void){} void cublasSgemm_v2(void){}", "-shared", "-o", cublas,
		"-Wl,-soname=libcublas.so.13", "-Wl,--version-script="+script)
	bin := filepath.Join(dir, "program")
	gcc(program, "-o", bin, nccl, cublas)

	below, err := hollow.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gpu, shared := t.TempDir(), filepath.Join(dir, "shared")
	if err := nvlibs.Build(t.Context(), below, gpu, bin, "libcudnn.so.9"); err != nil {
		t.Fatal(err)
	}
	opened, err := elf.Open(filepath.Join(gpu, "libcudnn.so.9")) // no program imports it
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close() // only read
	if list, err := opened.DynamicSymbols(); err != nil || !slices.ContainsFunc(list, func(s elf.Symbol) bool {
		return s.Name == "cudnnGetVersion" && s.Section != elf.SHN_UNDEF
	}) {
		t.Errorf("libcudnn has no cudnnGetVersion (%v)", err)
	}
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), hollow.Env(gpu, shared)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// An unknown function is refused (5, ncclInvalidUsage), and counted too.
	if got := strings.TrimSpace(string(out)); got != "23007 5 0 0" {
		t.Errorf("it says %q", got)
	}
	rows, err := hollow.Counts(shared)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]uint64{}
	for _, r := range rows {
		if r.Kind == hollow.Call {
			counted[r.Name] = r.Count
		}
	}
	for _, name := range []string{"ncclGetVersion", "ncclPutSignal", "cublasCreate_v2", "cublasSgemm_v2"} {
		if counted[name] != 1 {
			t.Errorf("%s: counted %d times", name, counted[name])
		}
	}
	f, err := elf.Open(filepath.Join(gpu, "libcublas.so.13"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	if names, err := f.DynString(elf.DT_SONAME); err != nil || len(names) != 1 || names[0] != "libcublas.so.13" {
		t.Errorf("its own name is %q, %v", names, err)
	}
}
