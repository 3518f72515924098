package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/limit"
)

// FuzzFiles reads what /proc may say of a process: a program chooses its name, its arguments, its environment and the
// paths of what it maps.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("7f12a000-7f12b000 r-xp 00001000 fe:00 1234   /usr/lib/lib x.so (deleted)\n"))
	f.Add([]byte("1 (a) b) S 2 3 4\n"))
	f.Add([]byte("A=1\x00B\x00=C\x00PATH=/bin"))
	f.Add([]byte("0::/a:b\n1:cpu,memory:/x\n"))
	f.Add([]byte("VmSwap: 10 kB\nRssAnon: x kB\nCpus_allowed_list:\t0-3\n"))
	root := f.TempDir()
	dir := filepath.Join(root, "1")
	if err := os.MkdirAll(filepath.Join(dir, "task", "1"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range []string{"maps", "stat", "environ", "cmdline", "cgroup", "status", "task/1/comm", "task/1/stat"} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x := New(root)
		if c, err := x.Command(1); len(c) > 3*limit.CommandLine || err != nil {
			t.Errorf("a command of %d bytes, %v", len(c), err)
		}
		if list, _ := x.Maps(1); len(list) > 0 && !strings.HasPrefix(list[0].Path, "/") {
			t.Errorf("mapping %+v", list[0])
		}
		if env, err := x.Environ(1, "A"); len(env) > 1 || err != nil {
			t.Errorf("environment %v, %v", env, err)
		}
		if _, err := x.Usage(1); err == nil && !strings.Contains(string(b), ")") {
			t.Error("the use of a process without a name")
		}
		if s, err := x.Scheduling(1, 1); err == nil && !strings.Contains(string(b), ")") {
			t.Errorf("%+v of a process without a name", s)
		}
		if g, err := x.Cgroups(1); err != nil || len(g) > len(b) {
			t.Errorf("%d groups, %v", len(g), err)
		}
	})
}

// TestLongFilesOfAProcessAreCut: a process may have any number of mappings, and any size of environment.
func TestLongFilesOfAProcessAreCut(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, line string, most int) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(line, most/len(line)+2)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cmdline", "argument\x00", limit.CommandLine)
	write("environ", "NAME=value\x00", limit.Environ)
	write("maps", "1000-2000 r-xp 0 fe:00 1 /"+strings.Repeat("d/", 2000)+"\n", limit.MapsBytes)
	x := New(root)
	if c, err := x.Command(1); err != nil || len(c) != limit.CommandLine {
		t.Errorf("a command of %d bytes, %v", len(c), err)
	}
	if e, err := x.Environ(1, "NAME"); err != nil || e["NAME"] == "" {
		t.Errorf("environment %v, %v", e, err)
	}
	list, err := x.Maps(1)
	if most := limit.MapsBytes / 4000; err != nil || len(list) > most || len(list) < most/2 {
		t.Errorf("%d mappings of many bytes, %v", len(list), err)
	}
	write("maps", "1000-2000 r-xp 0 fe:00 1 /d\n", 30*limit.Mappings)
	if list, err := x.Maps(1); err != nil || len(list) != limit.Mappings {
		t.Errorf("%d mappings, %v", len(list), err)
	}
}
