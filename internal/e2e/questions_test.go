package e2e_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/e2e"
	"github.com/ingero-io/ingero/internal/rig"
)

// question is one kind of problem about which the trivial agent asks.
type question struct {
	name    string
	args    []string
	kinds   []string // any of them is right
	culprit bool     // another thread or process is to blame; false: the launching thread
	check   func(*testing.T, *rig.Result)
}

const (
	crowdPin   = 0   // the launching thread's CPU
	crowdAfter = 1.5 // seconds until the workers need more than their CPU has
)

var questions = []question{
	{
		name: "a lock held over fsync", kinds: []string{event.CauseBlockIO}, culprit: true,
		args: []string{"--fault", "lock-io", "--fault-ms", "40", "--period-ms", "200", "--culprit", "ckpt-writer"},
	},
	{
		name: "four data workers on one CPU", culprit: true, check: checkCrowd,
		kinds: []string{event.CauseCPUContention, event.CauseInputStarvation},
		args: []string{
			"--fault", "loader-crowd", "--fault-ms", "4", "--host-us", "1500", "--jitter", "30",
			"--pin", strconv.Itoa(crowdPin), "--start-after", strconv.FormatFloat(crowdAfter, 'g', -1, 64),
		},
	},
	{
		name: "a step that changes in mid-run", kinds: []string{event.CauseImplicitSync},
		args: []string{"--fault", "implicit-sync", "--host-us", "1000", "--seconds", "6", "--start-after", "3"},
	},
	{
		name: "a neighbour beside a GPU-bound program", culprit: true, check: checkNeighbour,
		kinds: []string{event.CauseCPUContention},
		args: []string{
			"--fault", "cpu-hog", "--culprit", "indexer", "--pin", "1", "--nice", "0",
			"--sync-us", "8000", "--host-us", "3000", "--seconds", "6",
		},
	},
}

// maxTokens is the most that the agent may have to read until it knows the cause.
const maxTokens = 4000

// TestQuestionsAreAnsweredInThreeCalls lets the agent ask about programs that were traced just
// before.
func TestQuestionsAreAnsweredInThreeCalls(t *testing.T) {
	for _, q := range questions {
		t.Run(strings.ReplaceAll(q.name, " ", "-"), func(t *testing.T) {
			r := e2e.RunAlone(t, append([]string{"--seconds", "5", "--start-after", "1.5"}, q.args...)...)
			q.ask(t, r)
			if t.Failed() {
				dump(t, r)
			}
		})
	}
}

func (q *question) ask(t *testing.T, r *rig.Result) {
	t.Helper()
	known := false
	answer, err := agent.Investigate(t.Context(), r.Input.DB, func(f *agent.Finding) bool {
		known = known || q.right(f, r)
		return known
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, %d tokens; %s", len(answer.Calls), answer.Tokens(), r.Machine())
	if len(answer.Contradictions) > 0 {
		t.Errorf("contradictions: %q", answer.Contradictions)
	}
	answered := known && answer.Tokens() <= maxTokens
	if !answered && !quiet(r) {
		t.Log("not answered at once: others had a part in it") // another program may rightly be named first
		return
	}
	if !answered {
		t.Errorf("not answered in %d calls and %d tokens: %+v", len(answer.Calls), answer.Tokens(), answer.Calls)
	}
	if known && q.check != nil {
		q.check(t, r)
	}
}

// quiet reports whether the machine had so little other load that amounts, and the shares of
// several culprits, are those of the program alone.
func quiet(r *rig.Result) bool { return r.Measures() && r.Others <= fewOthers }

const fewOthers = 0.05 // share of the CPUs' time

// right reports whether a finding is of a right kind and names the right culprit.
func (q *question) right(f *agent.Finding, r *rig.Result) bool {
	pid, tid := int(f.Culprit.PID), int(f.Culprit.TID)
	switch {
	case !slices.Contains(q.kinds, f.Kind):
		return false
	case !q.culprit:
		return pid == r.Truth.PID && tid == r.Truth.TID
	case r.Truth.CulpritPID == r.Truth.PID:
		return pid == r.Truth.PID && tid == r.Truth.CulpritTID
	}
	return pid == r.Truth.CulpritPID || slices.Contains(r.Truth.CulpritPIDs, pid)
}

// checkNeighbour: time that a neighbour takes is not also attributed to a slower GPU, and the
// predicted step without the neighbour is like the steps before it.
func checkNeighbour(t *testing.T, r *rig.Result) {
	t.Helper()
	without := (1e9*r.Truth.Seconds - float64(r.Truth.InjectedNS)) / float64(r.Truth.Steps)
	for i := range r.Report.Chains {
		c := &r.Report.Chains[i]
		if c.Cause.Kind == event.CauseGPUWait && !r.Disturbed() {
			t.Errorf("the GPU is blamed, too: %s", c.Summary)
		}
		if int(c.Cause.PID) != r.Truth.CulpritPID || !quiet(r) {
			continue
		}
		if c.WhatIf == nil {
			t.Error("a step without the neighbour is not reported")
		} else if is := float64(c.WhatIf.StepNS); is < 0.85*without || is > 1.15*without {
			t.Errorf("a step without the neighbour is said to take %.1f ms, and takes %.1f ms", is/1e6, without/1e6)
		}
	}
}

// checkCrowd: workers that share a CPU are one problem, reported with all of them, and the fix does
// not use the launching thread's CPU.
func checkCrowd(t *testing.T, r *rig.Result) {
	t.Helper()
	workers := r.Truth.CulpritPIDs
	var found []*report.Chain
	for i := range r.Report.Chains {
		c := &r.Report.Chains[i]
		if slices.Contains(workers, int(c.Cause.PID)) ||
			slices.ContainsFunc(c.Path, func(s report.Step) bool { return slices.Contains(workers, int(s.PID)) }) {
			found = append(found, c)
		}
		for _, m := range pins.FindAllStringSubmatch(strings.Join(c.Recommendations, "\n"), -1) {
			if lists(t, m[1], crowdPin) {
				t.Errorf("a fix needs the launching thread's CPU: %s", m[0])
			}
		}
	}
	if len(found) != 1 && quiet(r) {
		t.Errorf("%d findings of one problem", len(found))
	}
	checkShares(t, found[0], r)
	checkDemand(t, found[0], r)
}

// pins matches the CPUs to which fixes move threads.
var pins = regexp.MustCompile(`taskset -a?cp (\S+)`)

// lists reports whether a list of CPUs in the form of taskset contains a CPU.
func lists(t *testing.T, cpus string, cpu int) bool {
	t.Helper()
	for part := range strings.SplitSeq(cpus, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		first, err := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err != nil || err2 != nil {
			t.Errorf("%q is no list of CPUs", cpus)
		}
		if first <= cpu && cpu <= last {
			return true
		}
	}
	return false
}

func checkShares(t *testing.T, c *report.Chain, r *rig.Result) {
	t.Helper()
	var named []int
	var sum float64
	var ran uint64
	for _, w := range c.Culprits {
		if slices.Contains(r.Truth.CulpritPIDs, int(w.PID)) {
			named = append(named, int(w.PID))
		}
		sum += w.Pct
		ran += w.NS
	}
	if slices.Sort(named); !slices.Equal(named, r.Truth.CulpritPIDs) && quiet(r) {
		t.Errorf("%v are blamed, want %v: %+v", named, r.Truth.CulpritPIDs, c.Culprits)
	}
	if sum > 100.5 {
		t.Errorf("the shares add up to %.1f %%: %+v", sum, c.Culprits)
	}
	if seconds := float64(ran) / 1e9; seconds > r.Truth.Seconds {
		t.Errorf("they ran %.1f s on one CPU in %.1f s", seconds, r.Truth.Seconds)
	}
}

// demand matches how many steps a second the workers' CPU allows.
var demand = regexp.MustCompile(`4 workers need .* of CPU a step: on CPU \S+ at best (\d+) steps/s; on all (\d+) CPUs`)

// checkDemand: workers that need more than their CPU has determine how fast steps can be.
func checkDemand(t *testing.T, c *report.Chain, r *rig.Result) {
	t.Helper()
	if r.Input.CPUs > 2 || !quiet(r) {
		return // there is room for the workers, or others took some of it
	}
	m := demand.FindStringSubmatch(c.Cause.Detail)
	if m == nil {
		t.Errorf("the demand is not reported: %s", c.Cause.Detail)
		return
	}
	best, err := strconv.ParseFloat(m[1], 64)
	was := float64(r.Truth.FaultCount) / (r.Truth.Seconds - crowdAfter)
	if err != nil || best < 0.9*was || best > 1.2*was {
		t.Errorf("at best %.0f steps/s are said to be possible, and there were %.0f", best, was)
	}
}
