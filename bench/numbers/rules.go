package numbers

import (
	"math"
	"strings"
)

// rule returns the bounds of a number. It is false if the program does not know them.
type rule func(k *known, n *node, told float64) (low, high float64, ok bool)

const infinity = math.MaxFloat64 // JSON has no infinity

// walk compares each number of an answer.
func (r *Result) walk(k *known, name string, v any) { r.visit(k, name, v, nil) }

func (r *Result) visit(k *known, path string, v any, at *node) {
	switch v := v.(type) {
	case map[string]any:
		in := &node{v, at}
		for key, x := range v {
			r.visit(k, path+"."+key, x, in)
		}
	case []any:
		for _, x := range v {
			r.visit(k, path, x, at)
		}
	case float64:
		r.compare(k, path, v, at)
	}
}

func (r *Result) compare(k *known, path string, told float64, at *node) {
	if notCompared(path) != "" {
		return
	}
	check, ok := ruleOf(path)
	if !ok {
		r.NoRule = append(r.NoRule, path)
		return
	}
	low, high, ok := check(k, at, told)
	if !ok {
		return
	}
	of, _ := at.get("op")
	name, _ := of.(string)
	r.Checks = append(r.Checks, Check{path, told, low, high, name})
}

// ruleOf is the rule of a field: that of its whole path, or of the longest end of the path that has
// one.
func ruleOf(path string) (rule, bool) {
	if f, ok := byEnd(rules, path); ok {
		return f, true
	}
	if strings.HasPrefix(path, "get_timeline.buckets.") {
		return percent, true // a class of waiting
	}
	return nil, false
}

func byEnd[T any](m map[string]T, path string) (v T, ok bool) {
	for more := true; more; _, path, more = strings.Cut(path, ".") {
		if v, ok = m[path]; ok {
			return v, true
		}
	}
	return v, false
}

// rules are the rules of fields, by the end of their path.
var rules = map[string]rule{
	"diagnose.calls": outermostOfAll, "get_check.recording.calls": outermostOfAll, "report.events": outermostOfAll,
	"get_trace_stats.calls": outermost, "get_timeline.calls_of_all": rounded(outermost, edges),
	"run_sql.events_by_window.rows.calls_of_all": outermost,
	"run_sql.events_by_window.rows.ns_of_all":    inCalls(0),
	"get_timeline.in_calls_ns_of_all":            inCalls(edges),
	"get_timeline.steps_of_all":                  allSteps,

	"calls": callsOfOp, "op_calls": callsOfOp, "errors": errorsOfOp, "bytes": bytesOfOp,
	"total_ns": total, "avg_ns": mean, "op_avg_ns": mean, "max_ns": longest,
	"p50_ns": quantile(0.5), "p95_ns": quantile(0.95), "p99_ns": quantile(0.99),
	"kinds.calls": atMost(callsOfOp), "kinds.p50_ns": atMost(longest), "slow_calls": atMost(callsOfOp),
	"tail_ratio": tailRatio,

	"stacks.calls": atMost(callsOfOp), "stacks.total_ns": atMost(total), "stacks.avg_ns": atMost(longest),
	"stacks.max_ns": atMost(longest), "op_time_pct": percent, "calls_without_stack": withoutStack,

	"by_call_site.calls": outermost, "call_sites.calls": atMost(callsOfOp), "call_sites.total_ns": atMost(total),
	"call_sites.avg_ns": atMost(longest), "call_sites.p50_ns": atMost(longest), "call_sites.p95_ns": atMost(longest),
	"call_sites.p99_ns": atMost(longest), "call_sites.max_ns": atMost(longest),

	"off_cpu_ns": offCPU, "off_cpu.ns": upTo(wall), "runnable_ns": runnable,
	"step_ms":          upTo(func(k *known) float64 { return k.wall / 1e6 }),
	"calls_per_step":   upTo(func(k *known) float64 { return k.outermost() }),
	"buckets.in_calls": percent,

	"lost_ns": upTo(wall), "lost_pct": lostPct, "explained_pct": percent, "alternatives.pct": percent, "rest.pct": percent,
	"culprits.pct": percent, "idle.pct": percent, "path.ns": upTo(wall), "culprits.ns": upTo(wall), "rest.ns": upTo(wall),
	"code.share": share, "code.in_kernel_share": share, "code.samples": upTo(samples), // of causes and of changes
	"waits.share": share, "waits.in_kernel_share": share, "waits.samples": upTo(samples), // of effects
	"timeline": share, "pattern.times": upTo(func(k *known) float64 { return k.outermost() }),
	"pattern.period_ns": upTo(wall),
	"pattern.from_ns":   duringRun,
	"pattern.to_ns":     patternTo, "pattern.burst_pct": percent,

	"now_ns": stepTime, "per_step.lost_ns": lostPerStep, "without_ns": upTo(wall), "faster_pct": faster,
	"step_ns": upTo(wall),
	"low_ns":  upTo(wall), "high_ns": upTo(wall), "per_step.steps": steps, "per_step.affected": atMost(steps),
	"workloads.steps": steps, "workloads.p50_ns": upTo(wall), "workloads.p99_ns": upTo(wall), "warmup_ns": upTo(wall),
	"workloads.mean_ns": upTo(wall), "account.ns": upTo(wall), "account.pct": percent,

	"changes.before_ns": upTo(wall), "changes.after_ns": upTo(wall), "changes.until_ns": duringRun,
	"changes.work_ns": upTo(wall), "changes.per_minute_ns": upTo(wall), "changes.parts.ns": ofDifference,

	"idle.ns":        idle,
	"window.from_ns": windowFrom, "window.to_ns": windowTo,

	"memory.allocs": callsOf("cudaMalloc"), "memory.frees": callsOf("cudaFree"), "memory.bytes": allocated,
	"memory.failed":     none,
	"memory.live_count": liveCount, "memory.live_bytes": upToAllocated, "memory.peak_bytes": upToAllocated,

	"graph_frequency.launches_of_all":  callsOf("cudaGraphLaunch"),
	"graph_lifecycle.launches_of_all":  callsOf("cudaGraphLaunch"),
	"graph_lifecycle.launch_ns_of_all": totalOf("cudaGraphLaunch"),
	"graphs.launches":                  atMost(callsOf("cudaGraphLaunch")),
	"graphs.launch_ns":                 atMost(totalOf("cudaGraphLaunch")),
	"instantiate_ns":                   atMost(totalOf("cudaGraphInstantiate")), "graphs.updates": none,
	"graphs.failed":             none,
	"processes.captures":        callsOf("cudaStreamBeginCapture"),
	"processes.captures_failed": callsFailed("cudaStreamEndCapture"),
	"processes.instantiates":    callsOf("cudaGraphInstantiate"), "processes.launches": callsOf("cudaGraphLaunch"),
	"processes.updates": none, "processes.destroyed": callsOf("cudaGraphExecDestroy"),
	"launches_per_instantiate": launchesPerInstantiate,
	"launch_hz":                launchRate,
	"instantiate_hz": near(edges,
		func(k *known) float64 { return k.calls["cudaGraphInstantiate"] / k.t.Seconds }),
}

// reasons say why some numbers are not compared, by the end of their path.
var reasons = map[string]string{
	"pid": "names a process; who is named is judged as the culprit", "tid": "names a thread; as pid",
	"holder_tid":   "as pid",
	"before_bytes": "of the host's memory, which the program does not count", "after_bytes": "as before_bytes",
	"per_minute_bytes": "as before_bytes",
	"calls_per_s":      "of a part of a second or more; calls_of_all adds them up",
	"bucket_ns":        "chosen by the tool", "at_s": "chosen by the tool", "end_s": "calls_of_all is made with it",
	"schema":          "of the form",
	"evidence.sample": "how many waits were recorded one by one",
	"stored_rows":     "of the recording, not of the program", "at_ns": "a moment of the machine's",
	"graphs.hz": "of the time between a graph's first and last launch, which the program does not note",
	"min_hz":    "as hz", "max_hz": "as hz", "trend_pct": "of sampled steps", "rank": "none here",
}

func notCompared(path string) string {
	if strings.HasPrefix(path, "report.lost.") {
		return "of the tracer: what it could not record"
	}
	why, _ := byEnd(reasons, path)
	return why
}
