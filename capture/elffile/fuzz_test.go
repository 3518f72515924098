package elffile_test

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
	hostile "github.com/ingero-io/ingero/internal/hostile/elffile"
)

// seedBytes bounds a section that is read as a whole.
const seedBytes = 1 << 20

// seeds are the headers of small attacks; all are tried by TestAttacksAreReadWithLittleMemory.
func seeds(f *testing.F) (list [][]byte) {
	path := filepath.Join(f.TempDir(), "file")
	for _, a := range hostile.Attacks() {
		if !slices.Contains([]string{"absurd notes", "tables over each other", "4,096 libraries", "far segments"}, a.Name) {
			continue
		}
		if err := a.Write(path); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// FuzzRead reads what may be an ELF file in every way.
func FuzzRead(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := elffile.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(x.Sections) > limit.Sections || len(x.Progs) > limit.Programs {
			t.Errorf("%d sections, %d segments", len(x.Sections), len(x.Progs))
		}
		for _, tag := range []elf.DynTag{elf.DT_SONAME, elf.DT_NEEDED} {
			if names, err := x.Dynamic(tag); len(names) > limit.Needed {
				t.Errorf("%d names, %v", len(names), err)
			}
		}
		for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
			found, err := x.Find(elffile.Query{Kind: kind, Longest: 16, Wanted: func(n []byte) bool { return len(n) > 0 }})
			for i, y := range found {
				if n := len(y.Name); n == 0 || n > 16 || i > 0 && y.Index <= found[i-1].Index {
					t.Fatalf("symbol %d %q behind %d, %v", y.Index, y.Name, i, err)
				}
			}
		}
		for _, s := range x.Sections {
			if data, err := s.Data("section", seedBytes); err == nil && uint64(len(data)) != s.FileSize {
				t.Errorf("%d bytes of a section of %d", len(data), s.FileSize)
			}
		}
	})
}
