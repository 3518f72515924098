package e2e_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/e2e"
	"github.com/ingero-io/ingero/internal/rig"
)

// fault is one injected fault and what the first chain must say about it. The expected names of
// threads and processes come from the victim's own report.
type fault struct {
	name   string
	args   []string
	kind   string
	named  string // the party that must be named: victim, culprit, holder
	holder bool   // the path must show the holder in between
}

// faults have different durations, periods, names and pinning for each cause.
var faults = []fault{
	{
		"hog on the same CPU",
		[]string{"--fault", "cpu-hog", "--pin", "0", "--culprit", "backup-agent"},
		"cpu_contention",
		"culprit", false,
	},
	{"hogs at half duty", []string{
		"--fault", "cpu-hog", "--pin", "1", "--culprit", "indexer", "--duty", "50", "--name",
		"engine",
	}, "cpu_contention", "culprit", false},
	{
		"quota of 20 ms in 100",
		[]string{"--fault", "throttle", "--quota-us", "20000", "--cfs-period-us", "100000"},
		"cpu_throttled", "victim", false,
	},
	{"quota of 15 ms in 50", []string{
		"--fault", "throttle", "--quota-us", "15000", "--cfs-period-us", "50000", "--name",
		"server",
	}, "cpu_throttled", "victim", false},
	{"lock held 50 ms", []string{
		"--fault", "lock", "--fault-ms", "50", "--period-ms", "200", "--culprit",
		"metrics-flush",
	}, "lock_contention", "culprit", false},
	{"lock held 12 ms", []string{
		"--fault", "lock", "--fault-ms", "12", "--period-ms", "60", "--culprit", "gc-thread",
		"--thread", "dispatch",
	}, "lock_contention", "culprit", false},
	{"lock held over fsync, 40 ms", []string{
		"--fault", "lock-io", "--fault-ms", "40", "--period-ms", "200", "--culprit",
		"ckpt-writer",
	}, "block_io", "culprit", true},
	{"lock held over fsync, 15 ms", []string{
		"--fault", "lock-io", "--fault-ms", "15", "--period-ms", "80", "--culprit",
		"wal",
	}, "block_io", "culprit", true},
	{
		"own fsync, 40 ms",
		[]string{"--fault", "own-io", "--fault-ms", "40", "--period-ms", "200"},
		"block_io", "victim",
		false,
	},
	{
		"own fsync, 10 ms",
		[]string{"--fault", "own-io", "--fault-ms", "10", "--period-ms", "80", "--thread", "saver"},
		"block_io", "victim", false,
	},
	{"slow GPU, 30 ms", []string{"--fault", "gpu", "--fault-ms", "30", "--period-ms", "200"}, "gpu_wait", "victim", false},
	{"slow GPU, 8 ms", []string{"--fault", "gpu", "--fault-ms", "8", "--period-ms", "70"}, "gpu_wait", "victim", false},
	{
		"driver spins 30 ms",
		[]string{"--fault", "driver-cpu", "--fault-ms", "30", "--period-ms", "200"},
		"driver_cpu",
		"victim", false,
	},
	{
		"driver spins 8 ms",
		[]string{"--fault", "driver-cpu", "--fault-ms", "8", "--period-ms", "70", "--nested"},
		"driver_cpu", "victim", false,
	},
	{
		"first launch takes 500 ms",
		[]string{"--fault", "cold", "--fault-ms", "500", "--start-after", "0"},
		"cold_start",
		"victim", false,
	},
	{"first launch takes 250 ms", []string{
		"--fault", "cold", "--fault-ms", "250", "--name", "notebook", "--start-after",
		"0",
	}, "cold_start", "victim", false},
}

func TestFirstCauseIsTheInjectedOne(t *testing.T) {
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			args := append([]string{"--seconds", "4", "--start-after", "1"}, f.args...)
			r := e2e.Run(t, args...)
			check(t, f, r)
			if t.Failed() {
				dump(t, r)
			}
		})
	}
}

// find is the first finding, which is to name the injected cause. True findings about other programs on the machine are
// passed over. Where amounts say nothing, another may be larger: of CPU contention, for one, as a CPU that stood still
// counts for the thread that ran there.
func find(f fault, r *rig.Result) *report.Chain {
	var first *report.Chain
	for i := range r.Report.Chains {
		c := &r.Report.Chains[i]
		switch {
		case !r.Measures() && c.Cause.Kind == f.kind && c.Effect.PID == uint32(r.Truth.PID):
			return c
		case first == nil && (c.Cause.Kind == f.kind || r.Wrong(c) != ""):
			first = c
		}
	}
	return first
}

func check(t *testing.T, f fault, r *rig.Result) {
	t.Helper()
	c := find(f, r)
	if c == nil {
		if r.Disturbed() { // without enough evidence, no finding is right
			t.Logf("no cause found; %s", r.Machine())
			return
		}
		t.Errorf("no cause found; %s", r.Machine())
		return
	}
	if c.Cause.Kind != f.kind {
		t.Errorf("first cause is %s, want %s; %s", c.Cause.Kind, f.kind, r.Machine())
	}
	if c.Effect.PID != uint32(r.Truth.PID) || c.Effect.TID != uint32(r.Truth.TID) {
		t.Errorf("effect is on thread %d of process %d, want %d of %d", c.Effect.TID, c.Effect.PID, r.Truth.TID, r.Truth.PID)
	}
	want, comm := uint32(r.Truth.TID), r.Truth.Comm
	if f.named == "culprit" {
		want, comm = uint32(r.Truth.CulpritTID), r.Truth.CulpritComm
	}
	if f.kind != "cpu_contention" && c.Cause.TID != want { // any of several hogs may be first
		t.Errorf("cause names thread %d, want %d", c.Cause.TID, want)
	}
	if c.Cause.Thread != comm {
		t.Errorf("cause names thread %q, want %q", c.Cause.Thread, comm)
	}
	if f.holder {
		holder := false
		for _, s := range c.Path[1:] {
			holder = holder || s.TID == uint32(r.Truth.HolderTID) && s.State == "blocked"
		}
		if !holder {
			t.Errorf("path does not show the holder %s blocked", r.Truth.HolderComm)
		}
	}
	if !r.Measures() || c != &r.Report.Chains[0] { // then another program took a part of what was injected
		t.Logf("amounts are not compared: %s", r.Machine())
		return
	}
	// The injected fault is the hold of the lock; the disk is its weakest link.
	followed := c.FollowedPct()
	if followed < 80 || c.ExplainedPct < 50 || !f.holder && c.ExplainedPct < 80 {
		t.Errorf("explains %.0f %% of the lost time, and knows of %.0f %%", c.ExplainedPct, followed)
	}
	if statistical := f.kind == "cpu_contention" || f.kind == "cpu_throttled"; statistical {
		return // the victim knows only how much slower its steps were, for any reason
	}
	found := float64(c.LostNS) * followed / 100
	for i := range r.Report.Chains {
		x := &r.Report.Chains[i]
		// A program that had the CPU of the one that held the lock is another finding, and a part of the hold.
		if x != c && x.Cause.Kind == "cpu_contention" && x.Effect.TID == c.Effect.TID && want != c.Effect.TID &&
			len(x.Path) > 1 && x.Path[1].TID == want {
			t.Logf("meanwhile another program had its CPU: %s", x.Summary)
			found += float64(x.LostNS) * x.FollowedPct() / 100
		}
	}
	if share := found / float64(r.Truth.InjectedNS); share < 0.7 || share > 1.3 {
		t.Errorf("found %.0f ms of the %.0f ms injected", found/1e6, float64(r.Truth.InjectedNS)/1e6)
	}
}

func dump(t *testing.T, r *rig.Result) {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteText(&b, r.Report, report.TextOptions{Width: 120}); err != nil {
		t.Error(err)
	}
	t.Logf("truth: %+v\n%s", r.Truth, b.String())
}

// controls are runs in which nothing is wrong. What another program on this machine did may be reported, if it is true.
var controls = []struct {
	name string
	args []string
}{
	{"healthy", []string{"--pin", "0"}},
	{"busy neighbours and a sleeping sibling", []string{"--pin", "0", "--ping-pong", "1", "--sleeper"}},
	{"slow but steady GPU", []string{"--pin", "0", "--sync-us", "20000"}},
	{"idle server", []string{"--pin", "0", "--fault", "idle-server", "--period-ms", "120", "--start-after", "0.2"}},
}

func TestControlsAreSilent(t *testing.T) {
	for _, c := range controls {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			r := e2e.Run(t, append([]string{"--seconds", "4"}, c.args...)...)
			for i := range r.Report.Chains {
				if why := r.Wrong(&r.Report.Chains[i]); why != "" {
					t.Errorf("%s: %s", r.Report.Chains[i].Summary, why)
				}
			}
			if t.Failed() {
				dump(t, r)
			}
		})
	}
}

// The report says that the scheduler prefers a culprit, and what would change that.
func TestReportSaysIfTheSchedulerPrefersTheCulprit(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"real-time": {[]string{"--rt", "10", "--duty", "50"}, "runs under SCHED_FIFO at priority 10"},
		"less-nice": {[]string{"--nice", "-10"}, "is at nice -10, the waiting thread at nice 0"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{
				"--seconds", "5", "--start-after", "1.5", "--fault", "cpu-hog", "--pin", "1", "--culprit",
				"irq-poller",
			}, tc.args...)
			r := e2e.Run(t, args...)
			if len(r.Report.Chains) == 0 {
				dump(t, r)
				t.Fatal("no cause found")
			}
			c := r.Report.Chains[0]
			if c.Cause.Kind != "cpu_contention" || !strings.Contains(c.Cause.Detail, tc.want) {
				t.Errorf("cause %s: %s; want %q in it", c.Cause.Kind, c.Cause.Detail, tc.want)
				dump(t, r)
			}
		})
	}
}
