package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// tool runs a program of binutils or gcc in dir.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip("needs " + name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, b)
	}
	return string(b)
}

// hidden builds a library with a function that is not exported, and strips it.
func hidden(t *testing.T) (dir string) {
	dir = t.TempDir()
	source := "static __attribute__((noinline)) int secret(int n) { return n * 3; " +
		"}\nint shown(int n) { return secret(n) + 1; }\n"
	if err := os.WriteFile(filepath.Join(dir, "lib.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, dir, "gcc", "-O1", "-fPIC", "-shared", "-Wl,--build-id=0x0123456789abcdef", "-o", "whole.so", "lib.c")
	tool(t, dir, "strip", "-o", "stripped.so", "whole.so")
	return dir
}

func read(t *testing.T, dir, name string) *table {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return load(f)
}

func TestPackedSymbolsOfStrippedFilesAreRead(t *testing.T) {
	dir := hidden(t)
	tool(t, dir, "objcopy", "--only-keep-debug", "whole.so", "mini.so")
	mini, err := os.ReadFile(filepath.Join(dir, "mini.so"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(mini); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"good": packed.Bytes(), "cut": packed.Bytes()[:packed.Len()/2],
		"not xz": []byte("none"),
	} {
		if err := os.WriteFile(filepath.Join(dir, "data"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		tool(t, dir, "objcopy", "--add-section", ".gnu_debugdata=data", "stripped.so", "packed.so")
		whole, tab := read(t, dir, "whole.so"), read(t, dir, "packed.so")
		var at, shown uint64
		for i := range whole.syms {
			switch whole.name(i) {
			case "secret":
				at = whole.syms[i].addr
			case "shown":
				shown = whole.syms[i].addr
			}
		}
		want := ""
		if name == "good" {
			want = "secret"
		}
		if got := tab.symbol(at); at == 0 || got != want {
			t.Errorf("%s: the function at %#x is %q, want %q", name, at, got, want)
		}
		if got := tab.symbol(shown); got != "shown" {
			t.Errorf("%s: the exported function is %q", name, got)
		}
	}
}

func TestBuildIDs(t *testing.T) {
	dir := hidden(t)
	for _, name := range []string{"whole.so", "stripped.so"} {
		if got := read(t, dir, name).buildID; got != "0123456789abcdef" {
			t.Errorf("%s: build id %q", name, got)
		}
	}
	note := func(kind uint32, name, desc string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
		b = binary.LittleEndian.AppendUint32(b, kind)
		pad := func(s string) string { return s + strings.Repeat("\x00", (4-len(s)%4)%4) }
		return append(append(b, pad(name)...), pad(desc)...)
	}
	id := note(3, "GNU\x00", "\x01\x02\x03")
	for want, notes := range map[string][]byte{
		"010203": append(note(5, "GNU\x00", "12345"), id...),
		"":       id[:14],
	} {
		if got := findBuildID(notes, binary.LittleEndian); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, b := range [][]byte{
		note(3, "Go\x00", "abc"), note(3, "GNU\x00", ""),
		note(3, "GNU\x00", strings.Repeat("x", 65)),
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 1},
	} {
		if got := findBuildID(b, binary.LittleEndian); got != "" {
			t.Errorf("%x: got %q", b, got)
		}
	}
}

func TestNamesOfOtherLanguagesAreReadable(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN5model6TensorIdE6launchEi":                                       "model::Tensor<double>::launch(int)",
		"_ZN4core3ptr8non_null16NonNull$LT$T$GT$6as_ptr17h0123456789abcdefE": "core::ptr::non_null::NonNull<T>::as_ptr",
		"_RNvCskwGfYPst2Cb_3foo16example_function":                           "foo::example_function",
	} {
		tab := build([]testSym{{mangled, global, 1, 0x1000, 0x10}})
		if got := tab.symbol(0x1000); got != want {
			t.Errorf("%s: got %q, want %q", mangled, got, want)
		}
	}
}
