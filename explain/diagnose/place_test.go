package diagnose_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// moves matches the CPUs to which fixes move threads.
var moves = regexp.MustCompile(`taskset -a?cp (\S+)`)

func movedTo(c *report.Chain) (lists []string) {
	for _, fix := range c.Recommendations {
		for _, m := range moves.FindAllStringSubmatch(fix, -1) {
			lists = append(lists, m[1])
		}
	}
	return lists
}

// Four workers on one CPU are one problem with one fix, which does not use the launching thread's
// CPU.
func TestOneProblemIsOneFinding(t *testing.T) {
	path := filepath.Join("testdata", "cpu_contention_workers.txtar")
	for _, tc := range []struct {
		cpus int
		busy map[int]float64
		to   []string
	}{
		{cpus: 2},
		{cpus: 4, to: []string{"1-3"}},
		{cpus: 4, busy: map[int]float64{0: 10, 1: 100, 2: 97, 3: 3}, to: []string{"1,3"}},
	} {
		in := diagnosetest.InputOf(read(t, path))
		in.CPUs = tc.cpus
		if tc.busy != nil {
			in.Snapshots = []store.Snapshot{{At: in.Ops[0].First + 1e9, CPUs: store.NewCPUBusy(tc.busy)}}
		}
		r := diagnose.Diagnose(in)
		if len(r.Chains) != 1 {
			t.Fatalf("%d findings:\n%s", len(r.Chains), checkedText(r))
		}
		c := &r.Chains[0]
		if c.Cause.Kind != event.CauseCPUContention || !slices.Contains(c.Also, event.CauseInputStarvation) ||
			len(c.Culprits) != 4 {
			t.Errorf("%s, also %v, %d culprits", c.Cause.Kind, c.Also, len(c.Culprits))
		}
		for _, p := range c.Culprits {
			if p.Pct < 20 || p.Pct > 30 {
				t.Errorf("%s has %.1f %%, want about a quarter", p.Process, p.Pct)
			}
		}
		if got := movedTo(c); !slices.Equal(got, tc.to) {
			t.Errorf("%d CPUs: moved to %v, want %v", tc.cpus, got, tc.to)
		}
		if !strings.Contains(c.Cause.Detail, "4 workers need 3.79 ms of CPU a step: on CPU 1 at best 264 steps/s") {
			t.Errorf("the arithmetic is missing: %s", c.Cause.Detail)
		}
		if len(tc.to) == 0 && c.WhatIf.FasterBy > 1 {
			t.Errorf("without a CPU to spare a step is said to be %.1f %% faster", c.WhatIf.FasterBy)
		}
	}
}

// No fix moves a thread to a CPU that a launching thread uses.
// launchCPUs are the CPUs that launching threads ran on most, as the recording has them.
func launchCPUs(in *diagnose.Input) map[uint16]bool {
	ran := map[event.Thread]map[uint16]int{}
	for i := range in.Ops {
		if in.Ops[i].Op.Role() == event.RoleLaunch && in.Ops[i].Calls >= 100 {
			ran[in.Ops[i].Thread] = map[uint16]int{}
		}
	}
	for i := range in.OffCPU {
		if n := ran[in.OffCPU[i].Thread]; n != nil {
			n[in.OffCPU[i].InCPU]++
		}
	}
	cpus := map[uint16]bool{}
	for _, n := range ran {
		var most uint16
		for cpu, times := range n {
			if times > n[most] {
				most = cpu
			}
		}
		if len(n) > 0 {
			cpus[most] = true
		}
	}
	return cpus
}

func TestFixesUseNoCPUOfALaunchingThread(t *testing.T) {
	for _, path := range cases(t) {
		for _, cpus := range []int{2, 4} {
			in, r := diagnosed(t, path)
			if cpus != in.CPUs {
				other := *in
				other.CPUs = cpus
				in, r = &other, diagnose.Diagnose(&other)
			}
			taken := launchCPUs(in)
			for i := range r.Chains {
				for _, list := range movedTo(&r.Chains[i]) {
					for _, cpu := range diagnose.ParseCPUs(list) {
						if taken[cpu] {
							t.Errorf("%s: a fix takes CPU %d: %q", path, cpu, r.Chains[i].Recommendations)
						}
					}
				}
			}
		}
	}
}

// A chain explains as much as its weakest link. The explained part and the rest are all of the lost
// time. Other kinds found in the same calls have a share of the time lost there, besides the
// finding's own.
func TestSharesAddUp(t *testing.T) {
	for _, path := range cases(t) {
		_, r := diagnosed(t, path)
		for i := range r.Chains {
			c := &r.Chains[i]
			if c.LostNS == 0 || c.Cause.Kind == event.CauseHang {
				continue
			}
			sum := c.ExplainedPct
			for _, v := range c.Rest {
				sum += v.Pct
			}
			if sum < 98.5 || sum > 100.5 {
				t.Errorf("%s: %s: explained and the rest are %.1f %%: %+v", path, c.ID, sum, c.Rest)
			}
			others := 0.0
			for _, a := range c.Alternatives {
				others += a.Pct
			}
			if others >= 100 {
				t.Errorf("%s: %s: others have %.1f %% of the same calls", path, c.ID, others)
			}
			if c.Cause.Kind != event.CauseCollectiveWait { // explained by when ranks entered, not by a chain of waits
				weakest(t, path, c)
			}
		}
	}
}

func weakest(t *testing.T, path string, c *report.Chain) {
	t.Helper()
	const percent = 0.01
	explained := c.ExplainedPct * percent * float64(c.LostNS)
	var side float64 // of threads that were waited for in parallel
	for i := 1; i < len(c.Path); i++ {
		s := &c.Path[i]
		if s.Layer != "HOST" || s.State == "running" && c.Cause.Kind == event.CauseCPUContention {
			continue
		}
		side += float64(s.NS)
		if i+1 < len(c.Path) && c.Path[i+1].Beside || len(c.Culprits) > 3 {
			continue
		}
		if explained > side+0.002*float64(c.LostNS) {
			t.Errorf("%s: %s explains %.0f ms, a link of its path only %.0f ms", path, c.ID, explained/1e6, side/1e6)
		}
		side = 0
	}
}

func TestDiskExplainsItsPartOfALocksHold(t *testing.T) {
	r := diagnose.Diagnose(diagnosetest.InputOf(read(t, filepath.Join("testdata", "block_io_lock_part.txtar"))))
	if len(r.Chains) != 1 {
		t.Fatal(checkedText(r))
	}
	c := &r.Chains[0]
	if c.ExplainedPct < 68 || c.ExplainedPct > 70 {
		t.Errorf("the disk explains %.1f %%, want 69 %%", c.ExplainedPct)
	}
	if len(c.Rest) != 1 || c.Rest[0].Of != "hold" || c.Rest[0].What != "it ran on a CPU" {
		t.Errorf("the rest is %+v, want time on a CPU", c.Rest)
	}
}

func TestGPUWaitSaysWhatElseDelayedTheCalls(t *testing.T) {
	r := diagnose.Diagnose(diagnosetest.InputOf(read(t, filepath.Join("testdata", "gpu_wait_runnable.txtar"))))
	for i := range r.Chains {
		c := &r.Chains[i]
		if c.Cause.Kind != event.CauseGPUWait {
			continue
		}
		if strings.Contains(c.Cause.Detail, "nothing on the host") ||
			!strings.Contains(c.Cause.Detail, "waited for a CPU 300 ms") {
			t.Errorf("%s", c.Cause.Detail)
		}
		return
	}
	t.Errorf("no gpu_wait:\n%s", checkedText(r))
}
