package coverage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/cudastub/embedded"
)

var update = flag.Bool("update", false, "rewrite testdata")

// machine is a /proc with processes that have files mapped.
type machine struct {
	t    *testing.T
	root string
}

func (m *machine) write(name, content string) {
	m.t.Helper()
	p := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// process maps files; one that does not exist was deleted.
func (m *machine) process(pid int, name string, files ...string) {
	m.t.Helper()
	m.write(fmt.Sprintf("%d/task/%[1]d/comm", pid), name+"\n")
	var maps strings.Builder
	for i, f := range files {
		var ino uint64 = 1
		deleted := " (deleted)"
		if s, err := os.Stat(f); err == nil {
			ino, deleted = s.Sys().(*syscall.Stat_t).Ino, ""
		}
		at := 0x7f0000000000 + i<<20
		fmt.Fprintf(&maps, "%x-%x r-xp 00001000 fe:00 %d %s%s\n", at, at+0x1000, ino, f, deleted)
	}
	m.write(fmt.Sprintf("%d/maps", pid), maps.String())
	if err := os.Symlink("/", filepath.Join(m.root, fmt.Sprint(pid), "root")); err != nil {
		m.t.Fatal(err)
	}
}

func newMachine(t *testing.T) (*machine, cudastub.Files, embedded.Files) {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if errors.Is(err, cudastub.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	inside, err := embedded.Extract(files)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t, t.TempDir()}, files, inside
}

func (m *machine) examine(o coverage.Options) *coverage.Report {
	m.t.Helper()
	o.Proc, o.Libraries = m.root, all.Libraries()
	r, err := coverage.Examine(&o)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func TestEachProcessIsTracedOrTheReasonIsListed(t *testing.T) {
	m, files, inside := newMachine(t)
	runtime, driver := filepath.Join(files.LibDir, "libcudart.so.12"), filepath.Join(files.LibDir, "libcuda.so.1")
	nccl := filepath.Join(t.TempDir(), "libnccl.so.2.21.5")
	wrong := filepath.Join(t.TempDir(), "libcudart.so.9") // by its name only
	for to, from := range map[string]string{nccl: filepath.Join(files.LibDir, "libnccl.so.2"), wrong: inside.Engine} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.process(1, "init")
	m.process(10, "python3", files.Victim, runtime, driver)
	m.process(11, "trainer", runtime, driver, nccl)
	m.process(12, "static", inside.Static, driver)
	m.process(13, "stripped", inside.Stripped, driver)
	m.process(14, "mixed", runtime, driver, inside.Stripped)
	m.process(15, "driver-only", driver)
	m.process(16, "upgraded", "/gone/libcudart.so.12", driver)
	m.process(17, "lost", "/gone/libcudart.so.12")
	m.process(18, "misnamed", wrong)
	m.process(19, "Xorg")
	m.process(20, "self", runtime)
	for n, target := range []string{"/dev/null", "/dev/nvidia0", "/dev/nvidiactl"} {
		fd := filepath.Join(m.root, "19/fd", fmt.Sprint(n))
		if err := os.MkdirAll(filepath.Dir(fd), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, fd); err != nil {
			t.Fatal(err)
		}
	}
	r := m.examine(coverage.Options{Backend: "session", Self: 20})
	want := map[int]string{
		10: "python3 yes", 11: "trainer yes", 12: "static yes", 13: "stripped partly stripped_runtime",
		14: "mixed partly stripped_runtime", 15: "driver-only yes no_runtime", 16: "upgraded partly file_gone",
		17: "lost no file_gone", 18: "misnamed no no_functions", 19: "Xorg no no_library",
	}
	for _, p := range r.Processes {
		got := p.Name + " " + string(p.Traced)
		for _, n := range p.NotSeen {
			got += " " + n.Code
			if n.What == "" || n.Why == "" {
				t.Errorf("process %d: %+v leaves something open", p.PID, n)
			}
		}
		if got != want[p.PID] {
			t.Errorf("process %d: %q, want %q", p.PID, got, want[p.PID])
		}
		delete(want, p.PID)
		for _, l := range p.Libraries {
			if l.Timed != (len(l.Attached) > 0) {
				t.Errorf("process %d: %+v", p.PID, l)
			}
		}
	}
	if len(want) > 0 || !r.Complete {
		t.Errorf("not listed: %v; complete: %v", want, r.Complete)
	}
}

func TestNothingIsTracedWhereTracingDoesNotWork(t *testing.T) {
	m, files, _ := newMachine(t)
	m.process(1, "python3", filepath.Join(files.LibDir, "libcudart.so.12"))
	why := coverage.Reason{Code: "no_btf", What: "any call", Why: "x", Next: "y"}
	r := m.examine(coverage.Options{Reasons: []coverage.Reason{why}})
	if r.Processes[0].Traced != coverage.No || !r.Processes[0].Libraries[0].Timed || len(r.Reasons) != 1 ||
		r.Reasons[0] != why {
		t.Errorf("%+v", r)
	}
}

func TestProcessesThatMayNotBeReadAreCounted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may look at everything")
	}
	m, _, _ := newMachine(t)
	m.process(1, "a")
	if err := os.Chmod(filepath.Join(m.root, "1/maps"), 0); err != nil {
		t.Fatal(err)
	}
	r := m.examine(coverage.Options{})
	if r.Hidden != 1 || r.Complete || r.Reasons[0].Code != "hidden_processes" {
		t.Errorf("%+v", r)
	}
}

func TestWithoutProcThereIsAnError(t *testing.T) {
	_, err := coverage.Examine(&coverage.Options{Proc: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestReportFormat holds the JSON against a copy: programs rely on it.
func TestReportFormat(t *testing.T) {
	r := coverage.Report{
		Schema: 1, Hidden: 1, Backend: "session", Reasons: []coverage.Reason{{Code: "c", What: "w", Why: "y", Next: "n"}},
		Processes: []coverage.Process{{
			PID: 1, Name: "n", Traced: coverage.Partly, NotSeen: []coverage.Reason{{Code: "c"}},
			Libraries: []coverage.Library{{
				Kind: "runtime", Path: "/p", Embedded: true, Deleted: true, Soname: "s", Version: "v", BuildID: "b", Timed: true,
				Attached: []string{"a"}, Same: []string{}, LeftOut: []string{}, Missing: []string{}, Slow: []string{},
			}},
		}},
	}
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/report.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the form has changed (%v); -update if fields were added:\n%s", err, got)
	}
}
