package e2e_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
)

// If a program is put under a quota while it is traced, the finding names that group and its
// period.
func TestAQuotaGivenWhileTracedIsNamed(t *testing.T) {
	kerneltest.Require(t)
	q, err := rig.NewQuota(5000, 100_000) // a twentieth of a CPU
	if errors.Is(err, rig.ErrNoQuota) {
		kerneltest.Lacks(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Remove(); err != nil {
			t.Error(err)
		}
	})
	r, err := rig.Run(t.Context(), rig.Options{
		Args: []string{"--seconds", "6"}, Dir: t.TempDir(), DB: filepath.Join(t.TempDir(), "e2e.db"), Node: "node-1",
		Everyone: true,
		Backend:  probe.Backend(kerneltest.Backend()),
		During:   func(_ context.Context, pid int) (rig.Tell, error) { return nil, q.Move(pid) },
	}, func(*rig.Result) {})
	if err != nil {
		t.Fatal(err)
	}
	c := first(r, "cpu_throttled")
	if c == nil {
		dump(t, r)
		t.Fatal("no cpu_throttled")
	}
	if !strings.Contains(c.Summary, "cgroup "+q.Path+" ") || !strings.Contains(c.Cause.Detail, "each 100 ms") {
		t.Errorf("%q, %q: want group %s and its period of 100 ms", c.Summary, c.Cause.Detail, q.Path)
	}
	if c.Pattern == nil || c.Pattern.Kind != "periodic" || c.Pattern.PeriodNS != 100e6 {
		t.Errorf("pattern %+v, want every 100 ms", c.Pattern)
	}
	if !strings.Contains(c.Recommendations[0], q.Dir) {
		t.Errorf("%q does not name a file of %s", c.Recommendations[0], q.Dir)
	}
	if t.Failed() {
		dump(t, r)
	}
}
