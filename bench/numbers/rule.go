package numbers

import "runtime"

// Counts of calls. Calls that were dropped, according to the recording, may be missing.

func outermost(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	n := k.outermost()
	return n - k.lost, n, true
}

// outermostOfAll is for an answer that may include other programs.
func outermostOfAll(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	n := k.outermost()
	if k.t.Fault == "gpu-peer" || k.t.Also != nil && k.t.Also.Fault == "gpu-peer" {
		return n - k.lost, infinity, true
	}
	return n - k.lost, n, true
}

func callsOf(op string) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) {
		n := k.calls[op]
		return max(0, n-k.lost), n, k.alone()
	}
}

func callsFailed(op string) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) {
		n := float64(k.made[op].Errors)
		return max(0, n-k.lost), n, true
	}
}

func callsOfOp(k *known, n *node, _ float64) (low, high float64, ok bool) {
	op := k.op(n)
	calls, ok := k.calls[op]
	low = max(0, calls-k.lost)
	if _, own := k.made[op]; !own && k.innerOff { // the runtime's stand-in makes these calls
		low = 0
	}
	return low, calls, ok && (k.alone() || n.number("tid") == 0)
}

func errorsOfOp(k *known, n *node, _ float64) (low, high float64, ok bool) {
	m, ok := k.made[k.op(n)]
	return max(0, float64(m.Errors)-k.lost), float64(m.Errors), ok
}

func bytesOfOp(k *known, n *node, _ float64) (low, high float64, ok bool) {
	m, ok := k.made[k.op(n)]
	high = float64(m.Bytes)
	if k.lost > 0 {
		return 0, high, ok
	}
	return high, high, ok
}

func none(*known, *node, float64) (low, high float64, ok bool) { return 0, 0, true }

func launchesPerInstantiate(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	n := k.calls["cudaGraphInstantiate"]
	v := k.calls["cudaGraphLaunch"] / max(n, 1)
	return v * (1 - rounding), v * (1 + rounding), n > 0 && k.lost == 0
}

// launchRate is the mean rate of whole seconds. It is between the smallest and the largest of them,
// and about the rate of the whole run.
func launchRate(k *known, n *node, _ float64) (low, high float64, ok bool) {
	v := k.calls["cudaGraphLaunch"] / k.t.Seconds
	return max(n.number("min_hz"), v/2), min(n.number("max_hz"), 2*v), k.lost == 0 && k.alone()
}

// Time in calls, between the clock inside them and the clock around them.

func total(k *known, n *node, _ float64) (low, high float64, ok bool) {
	m, ok := k.made[k.op(n)]
	low = float64(m.Inside.TotalNS)
	if k.lost > 0 {
		low = 0
	}
	return low, float64(m.Around.TotalNS), ok && (k.alone() || n.number("tid") == 0)
}

func totalOf(op string) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) {
		m, ok := k.made[op]
		return float64(m.Inside.TotalNS), float64(m.Around.TotalNS), ok && k.lost == 0
	}
}

func mean(k *known, n *node, _ float64) (low, high float64, ok bool) {
	m, ok := k.made[k.op(n)]
	calls := float64(max(m.Calls, 1))
	return float64(m.Inside.TotalNS)/calls - 1, float64(m.Around.TotalNS)/calls + 1, ok && k.lost == 0
}

func longest(k *known, n *node, _ float64) (low, high float64, ok bool) {
	m, ok := k.made[k.op(n)]
	return float64(m.Inside.MaxNS), float64(m.Around.MaxNS), ok && k.lost == 0 && k.alone()
}

func quantile(q float64) rule {
	return func(k *known, n *node, _ float64) (low, high float64, ok bool) {
		m, ok := k.made[k.op(n)]
		from, _ := m.Inside.Bounds(q)
		_, to := m.Around.Bounds(q)
		return float64(from)*(1-histogram) - 1, float64(to)*(1+histogram) + 1, ok && k.lost == 0 && k.alone()
	}
}

// tailRatio is p99 over p50.
func tailRatio(k *known, n *node, told float64) (low, high float64, ok bool) {
	low99, high99, ok := quantile(0.99)(k, n, told)
	low50, high50, _ := quantile(0.5)(k, n, told)
	return low99 / max(high50, 1) * (1 - rounding), high99 / max(low50, 1) * (1 + rounding), ok
}

func inCalls(tolerance float64) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) {
		low, high = k.within()
		return low * (1 - tolerance), high * (1 + tolerance), k.lost == 0 && k.alone()
	}
}

// withoutStack: each call either has a stack that is shown, or is counted here.
func withoutStack(k *known, n *node, _ float64) (low, high float64, ok bool) {
	if _, more := n.get("next_cursor"); more {
		return 0, 0, false
	}
	stacks, _ := n.get("stacks")
	list, _ := stacks.([]any)
	var with float64
	for _, s := range list {
		o, _ := s.(map[string]any)
		calls, _ := o["calls"].(float64)
		with += calls
	}
	for _, calls := range k.calls {
		high += calls
	}
	low = k.outermost()
	return low - with - k.lost, high - with, true
}

// Time of threads.

// wall is the run's time with the time before the first step and after the last, ns.
func wall(k *known) float64 { return k.wall*(1+edges) + 1e9 }

func offCPU(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	off := k.wall - float64(k.t.CPUNS)
	switches := float64(k.t.VoluntarySwitches+k.t.InvoluntarySwitches) * switching
	return off - k.slack(), off + k.slack() + switches, k.alone()
}

// switching is how much more CPU time the kernel counts for a context switch than there is between
// its two tracepoints, ns: 10,000 to 35,000 on a virtual machine, traced or not.
const switching = 60_000

// wakeUp is the longest delivery time of a wake-up to a sleeping CPU of a virtual machine, ns. The
// kernel's account of a thread (/proc/PID/schedstat) begins when it arrives, the recording's when
// it is sent.
const wakeUp = 150_000

func runnable(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	wakes := float64(k.t.VoluntarySwitches) * wakeUp
	return float64(k.t.RunnableNS) - k.slack(), float64(k.t.RunnableNS) + k.slack() + wakes, k.alone() &&
		k.t.RunnableNS > 0
}

// slack is the largest difference between the kernel's account of a thread and the recording's, ns:
// time at the edges of the run, such as the wait for the first request, and time that a hypervisor
// took, which one of the two counts as running.
func (k *known) slack() float64 {
	return (edges+2*k.stolen)*k.wall + 2*k.wall/float64(max(k.t.Steps, 1))
}

// duringRun is for a time: it is within the run of the program's clock.
func duringRun(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	at := float64(k.t.BeganNS)
	return at - edges*k.wall, at + wall(k), at > 0
}

// patternTo is for the end of a part of the time: within the run, and after its begin.
func patternTo(k *known, n *node, told float64) (low, high float64, ok bool) {
	low, high, ok = duringRun(k, n, told)
	return max(low, n.number("from_ns")), high, ok
}

// windowFrom is for the begin of what is recorded: not before the program began, and not after its
// first steps. Records of what it prepares come before them.
func windowFrom(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	slack := edges * k.wall
	return float64(k.t.MainNS) - slack, float64(k.t.BeganNS) + slack, k.t.MainNS > 0
}

// windowTo is for the end of what is recorded: with the program's clock.
func windowTo(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	end, slack := float64(k.t.BeganNS)+k.wall, edges*k.wall
	return end - slack, end + slack, k.t.BeganNS > 0
}

func idle(k *known, n *node, _ float64) (low, high float64, ok bool) {
	if k.t.IdleNS == 0 || n.number("pid") != float64(k.t.PID) {
		return 0, 0, false
	}
	v := float64(k.t.IdleNS)
	return v - k.slack(), v + k.slack(), true
}

// Findings.

func lostPct(k *known, n *node, _ float64) (low, high float64, ok bool) {
	pct := 100 * n.number("lost_ns") / k.wall
	return pct*(1-edges) - 0.2, pct*(1+edges) + 0.2, k.alone()
}

func steps(k *known, n *node, _ float64) (low, high float64, ok bool) {
	v := float64(k.t.Steps)
	return v - float64(k.t.PhaseSteps) - k.lost - 1, v, k.alone() && n.number("pid") == float64(k.t.PID)
}

// stepTime is the mean duration of a step without waits for work.
func stepTime(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	v := (k.wall - float64(k.t.IdleNS)) / float64(max(k.t.Steps, 1))
	return v * (1 - 2*edges), v * (1 + edges), k.alone() && k.t.Steps > 0 // the program's clock stops later than its calls
}

func lostPerStep(k *known, n *node, _ float64) (low, high float64, ok bool) {
	var lost float64
	for up := n.up; up != nil; up = up.up { // the finding's field; the step's own has the same name
		if v, is := up.fields["lost_ns"].(float64); is {
			lost = v
			break
		}
		if f, is := up.fields["finding"].(map[string]any); is {
			lost, _ = f["lost_ns"].(float64)
			break
		}
	}
	v := lost / float64(max(k.t.Steps, 1))
	return v*(1-edges) - 1, v*(1+edges) + 1, k.alone() && k.t.Steps > 0
}

// faster is the gain in steps a second, in percent.
func faster(_ *known, n *node, _ float64) (low, high float64, ok bool) {
	without := n.number("without_ns") + n.number("step_ns") // one of them is there
	v := 100 * (n.number("now_ns")/without - 1)
	return v*(1-rounding) - 0.1, v*(1+rounding) + 0.1, without > 0
}

// Memory of the device.

func allocated(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	v := float64(k.made["cudaMalloc"].Bytes)
	return v, v, k.lost == 0
}

func upToAllocated(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	return float64(k.t.LeakedBytes), float64(k.made["cudaMalloc"].Bytes), k.lost == 0
}

func liveCount(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	m := k.made["cudaMalloc"]
	v := float64(m.Calls-m.Errors) - k.calls["cudaFree"]
	return v, v, k.lost == 0
}

// Rules that are made of other rules.

func percent(*known, *node, float64) (low, high float64, ok bool) { return 0, 100 + rounding*100, true }

func share(*known, *node, float64) (low, high float64, ok bool) { return 0, 1, true }

// samples is how many samples of code there are at most: a CPU takes one in 10 ms or more.
func samples(k *known) float64 { return k.wall / 10e6 * float64(runtime.NumCPU()) }

// ofDifference is for a part of a difference of times, which may be negative.
func ofDifference(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	return -wall(k), wall(k), true
}

// allSteps may leave out those of phases: whether they are alike enough to be steps is not known.
func allSteps(k *known, _ *node, _ float64) (low, high float64, ok bool) {
	v := float64(k.t.Steps)
	return (v - float64(k.t.PhaseSteps)) * (1 - edges), v * (1 + edges), k.lost == 0 && k.alone()
}

func upTo(most func(k *known) float64) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) { return 0, most(k), true }
}

func near(tolerance float64, of func(k *known) float64) rule {
	return func(k *known, _ *node, _ float64) (low, high float64, ok bool) {
		v := of(k)
		return v * (1 - tolerance), v * (1 + tolerance), k.lost == 0 && k.alone()
	}
}

// atMost is for a part of what another rule is about.
func atMost(all rule) rule {
	return func(k *known, n *node, told float64) (low, high float64, ok bool) {
		_, high, ok = all(k, n, told)
		return 0, high, ok
	}
}

// rounded is a rule with a relative tolerance, either way.
func rounded(exact rule, by float64) rule {
	return func(k *known, n *node, told float64) (low, high float64, ok bool) {
		low, high, ok = exact(k, n, told)
		return low * (1 - by), high * (1 + by), ok
	}
}
