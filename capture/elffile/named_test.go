package elffile_test

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/elffile"
)

// TestFunctionsAgreeWithAllSymbols looks up functions of a library that has thousands,
// one name of two the end of another one, as debug/elf reads them all at once.
func TestFunctionsAgreeWithAllSymbols(t *testing.T) {
	dir := t.TempDir()
	var c strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&c, "int step_%d(void) { return 1; }\nstatic int __attribute__((used)) p_%d(void) { return 1; }\n", i, i)
	}
	src, lib := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	if err := os.WriteFile(src, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	names, want := map[string]bool{"no such function": true}, []elf.Symbol(nil)
	for i, y := range all {
		if elf.ST_TYPE(y.Info) == elf.STT_FUNC && i%7 == 0 {
			names[y.Name] = true
		}
	}
	for _, y := range all {
		if elf.ST_TYPE(y.Info) == elf.STT_FUNC && names[y.Name] && y.Value != 0 && y.Section != elf.SHN_UNDEF {
			y.Version, y.VersionIndex, y.HasVersion = "", 0, false
			want = append(want, y)
		}
	}
	if len(want) < 100 {
		t.Fatalf("%d functions to look up, which are too few", len(want))
	}
	own, err := elffile.Read(must(os.Open(lib)))
	if err != nil {
		t.Fatal(err)
	}
	wanted, longest := elffile.Names(names)
	q := elffile.Query{Kind: elf.SHT_SYMTAB, May: elffile.IsFunction, Wanted: wanted, Longest: longest}
	found, err := own.Find(q)
	var got []elf.Symbol
	for _, y := range found {
		got = append(got, y.Symbol)
		if y.Symbol.Name != all[y.Index-1].Name { // debug/elf leaves out the first
			t.Errorf("%s has the index %d", y.Symbol.Name, y.Index)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d functions, error %v; want %d", len(got), err, len(want))
	}
}

// TestFunctionsOfAStrippedFile: no symbols is not the same as no such function.
func TestFunctionsOfAStrippedFile(t *testing.T) {
	if _, err := (&elffile.File{}).Find(elffile.Query{Kind: elf.SHT_SYMTAB}); !errors.Is(err, elf.ErrNoSymbols) {
		t.Errorf("error %v, want %v", err, elf.ErrNoSymbols)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
