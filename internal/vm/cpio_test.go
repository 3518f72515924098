package vm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// list reads an archive: a line "mode name content" for each entry.
func list(t *testing.T, b []byte) (lines []string) {
	t.Helper()
	const header = 110
	for at := 0; ; {
		if string(b[at:at+6]) != "070701" {
			t.Fatalf("no header at %d", at)
		}
		number := func(i int) (n int) {
			fmt.Sscanf(string(b[at+6+8*i:at+14+8*i]), "%X", &n)
			return n
		}
		mode, size, nameSize := number(1), number(6), number(11)
		name := string(b[at+header : at+header+nameSize-1])
		data := (at + header + nameSize + 3) &^ 3
		if name == "TRAILER!!!" {
			return lines
		}
		lines = append(lines, fmt.Sprintf("%o %s %s", mode, name, b[data:data+size]))
		at = (data + size + 3) &^ 3
	}
}

func TestArchivesHoldFilesAndTheirFolders(t *testing.T) {
	var b bytes.Buffer
	a := newArchive(&b)
	a.file("/etc/group", []byte("root"), 0o644)
	a.file("/etc/group", []byte("again"), 0o644)
	a.file("/init", []byte("12345"), 0o755)
	a.folder("/a/b")
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"40755 etc ", "100644 etc/group root", "100755 init 12345", "40755 a ", "40755 a/b "}
	if got := list(t, b.Bytes()); !slices.Equal(got, want) {
		t.Errorf("holds %q, want %q", got, want)
	}
}

func TestProgramsBringWhatTheyAreLinkedTo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ld-linux-aarch64.so.1", "libc.so.6"} {
		data, err := os.ReadFile("../cudastub/variants/prebuilt/linux_arm64/bti/libcuda.so.1") // any library
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	a := newArchive(&b)
	arch := Arch{Libs: []string{"/none", dir}, LibsIn: "libc6-something"}
	if err := a.program("/bin/victim", "../cudastub/prebuilt/linux_arm64/victim-late", arch); err != nil {
		t.Fatal(err)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range list(t, b.Bytes()) {
		names = append(names, strings.Fields(l)[1])
	}
	for _, want := range []string{"bin/victim", "lib/ld-linux-aarch64.so.1", "lib/libc.so.6"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	arch.Libs = nil
	err := newArchive(&b).program("/bin/victim", "../cudastub/prebuilt/linux_arm64/victim-late", arch)
	if err == nil || !strings.Contains(err.Error(), "install libc6-something") {
		t.Errorf("a library that is missing: %v", err)
	}
}
