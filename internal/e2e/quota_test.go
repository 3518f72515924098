package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/probe"
)

// A program that is put under a quota while it is traced: the finding names that group and
// its period.
func TestAQuotaGivenWhileTracedIsNamed(t *testing.T) {
	kerneltest.Require(t)
	group, dir := quotaGroup(t)
	work := t.TempDir()
	r, err := rig.Run(t.Context(), rig.Options{
		Args: []string{"--seconds", "6"}, Dir: work, DB: filepath.Join(t.TempDir(), "e2e.db"), Node: "node-1", Everyone: true,
		Backend: probe.Backend(kerneltest.Backend()),
		Started: func() { move(t, work, dir) },
	}, func(*rig.Result) {})
	if err != nil {
		t.Fatal(err)
	}
	c := first(r, "cpu_throttled")
	if c == nil {
		dump(t, r)
		t.Fatal("no cpu_throttled")
	}
	if !strings.Contains(c.Summary, "cgroup "+group+" ") || !strings.Contains(c.Cause.Detail, "each 100 ms") {
		t.Errorf("%q, %q: want group %s and its period of 100 ms", c.Summary, c.Cause.Detail, group)
	}
	if c.Pattern == nil || c.Pattern.Kind != "periodic" || c.Pattern.PeriodNS != 100e6 {
		t.Errorf("pattern %+v, want every 100 ms", c.Pattern)
	}
	if !strings.Contains(c.Recommendations[0], dir) {
		t.Errorf("%q does not name a file of %s", c.Recommendations[0], dir)
	}
	if t.Failed() {
		dump(t, r)
	}
}

// quotaGroup makes a group with a twentieth of a CPU per 100 ms, in the CPU controller that
// this machine has, and returns its path and folder. It is removed when the test ends.
func quotaGroup(t *testing.T) (group, dir string) {
	t.Helper()
	group = "/ingero-quota-" + strconv.Itoa(os.Getpid())
	for _, v := range []struct {
		mount string
		files [][2]string
	}{
		{"/sys/fs/cgroup/cpu", [][2]string{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "5000"}}},
		{"/sys/fs/cgroup", [][2]string{{"cpu.max", "5000 100000"}}},
	} {
		if _, err := os.Stat(filepath.Join(v.mount, "cgroup.procs")); err != nil {
			continue
		}
		dir = v.mount + group
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		if _, err := os.Stat(filepath.Join(dir, v.files[0][0])); err != nil {
			continue // without the CPU controller
		}
		for _, f := range v.files {
			if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return group, dir
	}
	t.Skip("no CPU controller, neither of version 1 nor 2, in which a group can be made")
	return "", ""
}

// move puts the program that was given work as its folder into a group.
func move(t *testing.T, work, group string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	moved := false
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(bytes.Split(b, []byte{0}), func(w []byte) bool { return string(w) == work }) {
			continue
		}
		pid := filepath.Base(filepath.Dir(path))
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o644); err != nil {
			t.Error(fmt.Errorf("move %s: %w", pid, err))
		}
		moved = true
	}
	if !moved {
		t.Errorf("no program with %s as its folder", work)
	}
}
