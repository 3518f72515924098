package tracers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestTracersAmongProcesses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid, p := range map[int]struct{ comm, state, command string }{
		1:    {"systemd", "S", "/sbin/init"},
		7:    {"ingero", "S", "/usr/bin/ingero\x00trace\x00--quiet"},
		8:    {"ingero", "S", "ingero\x00--config\x00/x.yaml\x00trace"},
		9:    {"ingero", "S", "ingero\x00explain\x00trace.db"},
		10:   {"ingero", "Z", "ingero\x00trace"},
		11:   {"python", "S", "python\x00ingero\x00trace"},
		12:   {"ingero", "S", "ingero\x00query\x00--\x00trace"},
		13:   {"sudo", "S", "sudo\x00ingero\x00trace"},
		4711: {"ingero", "S", "ingero\x00trace"},
	} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		stat := fmt.Sprintf("%d (%s) %s 1 %s9000 0", pid, p.comm, p.state, strings.Repeat("0 ", 17))
		for name, text := range map[string]string{
			"stat": stat, "cmdline": p.command + "\x00", fmt.Sprintf("task/%d/comm", pid): p.comm + "\n",
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := processes(proc.New(root), 4711, 100*time.Second)
	if want := []Tracer{{7, 10 * time.Second}, {8, 10 * time.Second}}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestTracersAmongProgramsInTheKernel(t *testing.T) {
	t.Parallel()
	at := func(s float64, names ...string) (list []program) {
		for _, n := range names {
			list = append(list, program{n, time.Duration(s * float64(time.Second))})
		}
		return list
	}
	list := slices.Concat(at(50, ours...), at(10, ours[:3]...), at(10.1, ours[3]), at(30, "on_exec", "on_exit"),
		at(98, ours...)) // a tracer, another, somebody's, and a trial of "ingero check"
	got := hidden(list, 100*time.Second)
	if want := []Tracer{{0, 90 * time.Second}, {0, 50 * time.Second}}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestTracerInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for want, is := range map[string]Tracer{
		"pid 4711, since 15:04:00":                     {4711, 5 * time.Second},
		"in another container, since 2025-12-31 15:04": {0, 48 * time.Hour},
	} {
		if got := is.describe(now); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
