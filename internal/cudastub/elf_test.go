package cudastub_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exports are the functions a library stands in for, by name.
func exports(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]elf.Symbol{}
	for _, s := range symbols {
		isFunc := elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF
		if isFunc && !strings.HasPrefix(s.Name, "cudastub_") {
			found[s.Name] = s
		}
	}
	return found
}

func openELF(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// exportsOf are the sorted names of both libraries in dir.
func exportsOf(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, lib := range []string{"libcuda.so.1", "libcudart.so.12"} {
		for name := range exports(t, openELF(t, filepath.Join(dir, lib))) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func code(t *testing.T, f *elf.File, s elf.Symbol, n int) []byte {
	t.Helper()
	section := f.Sections[s.Section]
	out := make([]byte, n)
	if _, err := section.ReadAt(out, int64(s.Value-section.Addr)); err != nil {
		t.Fatal(err)
	}
	return out
}

func begins(prefix ...byte) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, prefix) }
}

// nvcuda is cmpl $0x321cba00,disp32(%rip); je +12; jmp *disp32(%rip).
func nvcuda(b []byte) bool {
	return b[0] == 0x81 && b[1] == 0x3d && binary.LittleEndian.Uint32(b[6:]) == 0x321cba00 &&
		bytes.Equal(b[10:14], []byte{0x74, 0x0c, 0xff, 0x25})
}

// stp is "stp x29, x30, [sp, #-n]!", at byte offset at.
func stp(at int) func([]byte) bool {
	return func(b []byte) bool {
		return binary.LittleEndian.Uint32(b[at:])&0xffc07fff == 0xa9807bfd
	}
}

func TestFunctionsBeginAsTheVariantSays(t *testing.T) {
	push := begins(0x55)
	btiC := begins(0x5f, 0x24, 0x03, 0xd5)
	tests := []struct {
		dir     string
		runtime func([]byte) bool
		driver  func([]byte) bool
	}{
		{"prebuilt/linux_amd64/lib", push, push},
		{"variants/prebuilt/linux_amd64/endbr64", begins(0xf3, 0x0f, 0x1e, 0xfa, 0x55), begins(0xf3, 0x0f, 0x1e, 0xfa, 0x55)},
		{"variants/prebuilt/linux_amd64/subrsp", begins(0x48, 0x83, 0xec), begins(0x48, 0x83, 0xec)},
		{"variants/prebuilt/linux_amd64/nop5", begins(0x0f, 0x1f, 0x44, 0, 0), begins(0x0f, 0x1f, 0x44, 0, 0)},
		{"variants/prebuilt/linux_amd64/nops", begins(0x90, 0x90, 0x90, 0x90, 0x90), begins(0x90, 0x90, 0x90, 0x90, 0x90)},
		{"variants/prebuilt/linux_amd64/nvcuda", push, nvcuda},
		{"prebuilt/linux_arm64/lib", stp(0), stp(0)},
		{
			"variants/prebuilt/linux_arm64/bti", func(b []byte) bool { return btiC(b) && stp(4)(b) },
			func(b []byte) bool { return btiC(b) && stp(4)(b) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.dir, func(t *testing.T) {
			checkLibrary(t, filepath.Join(tt.dir, "libcudart.so.12"), tt.runtime)
			checkLibrary(t, filepath.Join(tt.dir, "libcuda.so.1"), tt.driver)
		})
	}
}

func checkLibrary(t *testing.T, path string, begins func([]byte) bool) {
	t.Helper()
	f := openELF(t, path)
	soname, err := f.DynString(elf.DT_SONAME)
	if err != nil || !slices.Equal(soname, []string{filepath.Base(path)}) {
		t.Errorf("%s: soname %v (%v)", path, soname, err)
	}
	functions := exports(t, f)
	if len(functions) < 30 {
		t.Errorf("%s: only %d functions", path, len(functions))
	}
	for name, s := range functions {
		if b := code(t, f, s, 16); !begins(b) {
			t.Errorf("%s: %s begins with % x", path, name, b)
		}
	}
	if f.Section(".symtab") == nil || f.Section(".debug_info") != nil || f.Section(".note.gnu.build-id") != nil {
		t.Errorf("%s: want .symtab, no debug information, no build id", path)
	}
}

func TestVictimKeepsTheNamesOfATrainingProgram(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		symbols, err := openELF(t, "prebuilt/linux_"+arch+"/victim").Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{
			"train_step", "load_batch", "preprocess", "update_metrics", "forward", "backward",
			"wait_for_gpu", "save_checkpoint", "flush_metrics", "compress_backup",
			"leak_activations", "capture_graph", "log_losses", "upload_table", "next_batch", "take_gil",
		} {
			if !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name }) {
				t.Errorf("%s: no function %s", arch, name)
			}
		}
	}
}
