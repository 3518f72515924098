package probe_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/cuda"
	"github.com/ingero-io/ingero/capture/probe/driver"
	"github.com/ingero-io/ingero/capture/probe/graph"
	"github.com/ingero-io/ingero/event"
)

// nvidiaEnv lists folders or files with NVIDIA's own libraries: NVIDIA lets
// nobody pass them on, so they cannot be part of the tests.
const nvidiaEnv = "INGERO_NVIDIA_LIBS"

// functions are the file offsets of a library's exported functions.
func functions(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range syms {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Section != elf.SHN_UNDEF && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Filesz {
				at[s.Name] = s.Value - p.Vaddr + p.Off
			}
		}
	}
	return at
}

func TestFindOnEveryKindOfFunctionEntry(t *testing.T) {
	const stub = "../../internal/cudastub/"
	type entry struct {
		skip uint64
		slow bool
	}
	tests := []struct {
		dir             string
		runtime, driver entry
	}{
		{"prebuilt/linux_amd64/lib", entry{0, false}, entry{0, false}},
		{"variants/prebuilt/linux_amd64/endbr64", entry{4, false}, entry{4, false}},
		{"variants/prebuilt/linux_amd64/subrsp", entry{0, true}, entry{0, true}},
		{"variants/prebuilt/linux_amd64/nop5", entry{0, false}, entry{0, false}},
		{"variants/prebuilt/linux_amd64/nops", entry{0, false}, entry{0, false}},
		{"variants/prebuilt/linux_amd64/nvcuda", entry{0, false}, entry{10, false}},
		{"prebuilt/linux_arm64/lib", entry{0, false}, entry{0, false}},
		{"variants/prebuilt/linux_arm64/bti", entry{0, false}, entry{0, false}},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[stub+tt.dir] = true
		t.Run(tt.dir, func(t *testing.T) {
			for _, l := range []struct {
				lib  *probe.Library
				file string
				want entry
			}{
				{cuda.Library(), "libcudart.so.12", tt.runtime},
				{driver.Library(), "libcuda.so.1", tt.driver},
			} {
				path := filepath.Join(stub, tt.dir, l.file)
				found, err := l.lib.Find(path)
				if err != nil {
					t.Fatal(err)
				}
				at := functions(t, path)
				for _, name := range found.Missing {
					if at[name] != 0 {
						t.Errorf("%s: %s is said to be missing", l.file, name)
					}
				}
				want := 0
				for _, op := range l.lib.Ops {
					for _, name := range op.SymbolNames() {
						if at[name] != 0 {
							want++
						}
					}
				}
				if len(found.Targets) != want || want < 30 {
					t.Errorf("%s: %d targets, want %d", l.file, len(found.Targets), want)
				}
				if n := len(found.Slow()); n > 0 != l.want.slow || n > 0 && n != want {
					t.Errorf("%s: %d slow functions", l.file, n)
				}
				for _, target := range found.Targets {
					if target.Offset != at[target.Symbol]+l.want.skip {
						t.Errorf("%s: %s is probed %d behind its start, want %d", l.file, target.Symbol, target.Offset-at[target.Symbol],
							l.want.skip)
					}
				}
			}
		})
	}
	for _, pattern := range []string{"prebuilt/*/lib", "variants/prebuilt/*/*"} {
		dirs, err := filepath.Glob(stub + pattern)
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: %v, %v", pattern, dirs, err)
		}
		for _, d := range dirs {
			if !tested[d] {
				t.Errorf("%s is not tested", d)
			}
		}
	}
}

func TestCookiesIdentifyTheFunction(t *testing.T) {
	found, err := cuda.Library().Find("../../internal/cudastub/prebuilt/linux_amd64/lib/libcudart.so.12")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, target := range found.Targets {
		op, ok := event.ByName(strings.TrimSuffix(strings.TrimSuffix(target.Symbol, "_ptsz"), "_ptds"))
		if !ok {
			t.Fatalf("no operation for %s", target.Symbol)
		}
		want := uint64(op.Op) | uint64(op.Shape)<<16
		if op.Name == "cudaSetDevice" {
			want |= 1 << 24
			seen++
		}
		if op.Role == event.RoleAlloc {
			want |= 2 << 24
		}
		if op.Role == event.RoleSync {
			want |= 8 << 24
		}
		if target.Cookie != want {
			t.Errorf("%s: cookie %#x, want %#x", target.Symbol, target.Cookie, want)
		}
	}
	if seen != 1 {
		t.Errorf("%d functions set the device", seen)
	}
}

func TestLibrariesWithoutTheFunctions(t *testing.T) {
	found, err := cuda.Library().Find("../../internal/cudastub/prebuilt/linux_amd64/lib/libcuda.so.1")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Targets) != 0 || len(found.Missing) == 0 {
		t.Errorf("found %v of libcudart in libcuda", found.Targets)
	}
	text := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(text, []byte("INPUT(libcuda.so.535)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, text + ".none"} {
		if f, err := driver.Library().Find(path); err == nil {
			t.Errorf("%s: no error, found %+v", path, f)
		}
	}
}

func TestLibraryFilesAreRecognised(t *testing.T) {
	for name, want := range map[string]string{
		"libcudart.so":               "cuda",
		"libcudart.so.12":            "cuda",
		"libcudart.so.11.8.89":       "cuda",
		"libcudart-d0da41ae.so.11.0": "cuda",
		"libcudart_static.a":         "",
		"libcudart.so.12.bak":        "",
		"libcuda.so":                 "driver",
		"libcuda.so.1":               "driver",
		"libcuda.so.535.261.03":      "driver",
		"libcudadebugger.so.1":       "",
		"libcudnn.so.9":              "",
		"not-libcuda.so.1":           "",
	} {
		got := ""
		for _, l := range []*probe.Library{cuda.Library(), driver.Library()} {
			if l.File.MatchString(name) {
				got += l.Name
			}
		}
		if got != want {
			t.Errorf("%s: matched by %q, want %q", name, got, want)
		}
	}
}

// TestFindOnNVIDIAsLibraries reads the real files. On Debian they are in the
// non-free packages libcudart11.0 and libcuda1; no GPU is needed.
func TestFindOnNVIDIAsLibraries(t *testing.T) {
	where := os.Getenv(nvidiaEnv)
	if where == "" {
		t.Skipf("set %s to folders with NVIDIA's libcudart and libcuda", nvidiaEnv)
	}
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(where) {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			for _, lib := range []*probe.Library{cuda.Library(), driver.Library()} {
				if lib.File.MatchString(entry.Name()) {
					seen[lib.Name] = true
					checkNVIDIA(t, lib, path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !seen["cuda"] || !seen["driver"] {
		t.Errorf("no libcudart, or no libcuda, in %s; found %v", where, seen)
	}
}

// checkNVIDIA checks that what every version exports is found, that a missing
// function is one that came later, and that nothing is single-stepped.
func checkNVIDIA(t *testing.T, lib *probe.Library, path string) {
	t.Helper()
	found, err := lib.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	at := functions(t, path)
	skips := map[uint64]int{}
	for _, target := range found.Targets {
		skips[target.Offset-at[target.Symbol]]++
	}
	t.Logf("%s: %d functions, skips %v, missing %v, slow %v", filepath.Base(path), len(found.Targets), skips,
		found.Missing, found.Slow())
	if n := len(found.Slow()); n > 0 {
		t.Errorf("%s: %d of %d functions have to be single-stepped", path, n, len(found.Targets))
	}
	for _, name := range found.Missing {
		if _, ok := at[name]; ok {
			t.Errorf("%s: exports %s, which was not found", path, name)
		}
	}
	for _, name := range map[string][]string{
		"cuda": {
			"cudaMalloc", "cudaFree", "cudaLaunchKernel", "cudaMemcpy", "cudaMemcpyAsync", "cudaStreamSynchronize",
			"cudaDeviceSynchronize",
		},
		"driver": {"cuLaunchKernel", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuCtxSynchronize"},
	}[lib.Name] {
		ok := false
		for _, target := range found.Targets {
			ok = ok || target.Symbol == name
		}
		if !ok {
			t.Errorf("%s: no %s", path, name)
		}
	}
}

func TestLibrariesInTheSameFilesAreJoined(t *testing.T) {
	runtime, graphs := cuda.Library(), graph.Library()
	joined := probe.Join(runtime, driver.Library(), graphs)
	if len(joined) != 2 || joined[0].Name != "cuda+graph" || joined[1].Name != "driver" {
		t.Fatalf("joined to %d libraries, the first named %s", len(joined), joined[0].Name)
	}
	if got, want := len(joined[0].Ops), len(runtime.Ops)+len(graphs.Ops); got != want {
		t.Errorf("%d operations, want %d", got, want)
	}
	if len(runtime.Ops) != len(event.BySource(event.SourceCUDA)) {
		t.Error("joining changed a library that was joined")
	}
	found, err := joined[0].Find("../../internal/cudastub/prebuilt/linux_amd64/lib/libcudart.so.12")
	if err != nil || slices.Contains(found.Missing, "cudaGraphLaunch") || slices.Contains(found.Missing, "cudaMalloc") {
		t.Fatalf("missing %v (%v)", found.Missing, err)
	}
	at := map[uint64]string{}
	for _, target := range found.Targets {
		if other, ok := at[target.Offset]; ok {
			t.Errorf("%s and %s are probed at one place", other, target.Symbol)
		}
		at[target.Offset] = target.Symbol
	}
	if at[functions(t,
		"../../internal/cudastub/prebuilt/linux_amd64/lib/libcudart.so.12")["cudaGraphLaunch"]] != "cudaGraphLaunch" {
		t.Error("cudaGraphLaunch is not probed")
	}
}
