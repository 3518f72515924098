package numbers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// truth is the truth of a program that made 100 launches of 10 to 12 us each and 10 waits, in 10
// steps of 1 ms.
func truth() *cudastub.Truth {
	times := func(ns, n uint64, bucket uint64) cudastub.Times {
		return cudastub.Times{TotalNS: ns * n, MaxNS: ns, Buckets: [][2]uint64{{bucket, n}}}
	}
	return &cudastub.Truth{
		PID: 7, TID: 7, Steps: 10, Seconds: 0.01, MainNS: 1_699_999_999_990_000_000,
		BeganNS: 1_700_000_000_000_000_000, CPUNS: 4_000_000,
		Calls: map[string]int64{"cudaLaunchKernel": 100, "cudaStreamSynchronize": 10, "cuLaunchKernel": 100},
		Made: map[string]cudastub.Made{
			"cudaLaunchKernel":      {Calls: 100, Inside: times(10_000, 100, 295), Around: times(12_000, 100, 302)},
			"cudaStreamSynchronize": {Calls: 10, Inside: times(500_000, 10, 476), Around: times(510_000, 10, 477)},
		},
	}
}

// TestWrongNumbersAreFound has a right and a wrong number for each kind of rule.
func TestWrongNumbersAreFound(t *testing.T) {
	for _, c := range []struct {
		tool, answer string
		wrong        []string // fields, sorted
	}{
		{
			"get_trace_stats",
			`{"calls":110,"ops":[{"pid":7,"op":"cudaLaunchKernel","calls":100,"total_ns":1100000,"avg_ns":11000,
			"p50_ns":11000,"p95_ns":11000,"p99_ns":11900,"max_ns":11500}],"off_cpu_ns":6000000}`, nil,
		},
		{"get_trace_stats", `{"calls":210,"ops":[{"pid":7,"op":"cudaLaunchKernel","calls":99,"total_ns":900000,"avg_ns":13000,
			"p50_ns":5000,"p95_ns":11000,"p99_ns":13500,"max_ns":9000}],"off_cpu_ns":3000000}`, []string{
			"get_trace_stats.calls", "get_trace_stats.off_cpu_ns", "get_trace_stats.ops.avg_ns", "get_trace_stats.ops.calls",
			"get_trace_stats.ops.max_ns", "get_trace_stats.ops.p50_ns", "get_trace_stats.ops.p99_ns",
			"get_trace_stats.ops.total_ns",
		}},
		{"get_trace_stats", `{"ops":[{"pid":8,"op":"cudaLaunchKernel","calls":3}]}`, nil}, // of another program
		{
			"get_trace_stats.by_call_site",
			`{"calls":110,"ops":[{"pid":7,"op":"cudaStreamSynchronize","calls":6,"total_ns":3030000,"avg_ns":505000,
			"p50_ns":500000,"max_ns":510000,"op_time_pct":60},{"pid":7,"op":"cudaStreamSynchronize","calls":4,
			"total_ns":2000000,"avg_ns":500000,"p50_ns":500000,"max_ns":500000,"op_time_pct":40}],
			"off_cpu":[{"class":"ioctl","ns":6000000}]}`, nil,
		},
		{
			"get_trace_stats.by_call_site",
			`{"calls":120,"ops":[{"pid":7,"op":"cudaStreamSynchronize","calls":6,"total_ns":3030000,"avg_ns":505000,
			"p50_ns":700000,"max_ns":510000,"op_time_pct":60},{"pid":7,"op":"cudaStreamSynchronize","calls":11,
			"total_ns":2300000,"avg_ns":500000,"p50_ns":500000,"max_ns":600000,"op_time_pct":140}],
			"off_cpu":[{"class":"ioctl","ns":6000000}]}`,
			[]string{
				"get_trace_stats.by_call_site.call_sites.calls", "get_trace_stats.by_call_site.call_sites.max_ns",
				"get_trace_stats.by_call_site.call_sites.op_time_pct", "get_trace_stats.by_call_site.call_sites.p50_ns",
				"get_trace_stats.by_call_site.calls", "get_trace_stats.by_call_site.ops.calls",
				"get_trace_stats.by_call_site.ops.max_ns", "get_trace_stats.by_call_site.ops.total_ns",
			},
		},
		{
			"get_stacks",
			`{"calls_without_stack":108,"stacks":[{"op":"cudaLaunchKernel","calls":2,"op_calls":100,"op_time_pct":1.5}]}`, nil,
		},
		{
			"get_stacks",
			`{"calls_without_stack":5,"stacks":[{"op":"cudaLaunchKernel","calls":101,"op_calls":99,"op_time_pct":101}]}`,
			[]string{
				"get_stacks.calls_without_stack", "get_stacks.stacks.calls", "get_stacks.stacks.op_calls",
				"get_stacks.stacks.op_time_pct",
			},
		},
		{"diagnose", `{"calls":110,"finding":{"lost_ns":1000000,"lost_pct":10,"explained_pct":99},
			"per_step":{"now_ns":1000000,"lost_ns":100000,"without_ns":900000,"faster_pct":11.1}}`, nil},
		{"diagnose", `{"calls":210,"finding":{"lost_ns":1000000,"lost_pct":20,"explained_pct":101},
			"per_step":{"now_ns":2000000,"lost_ns":200000,"without_ns":900000,"faster_pct":50}}`, []string{
			"diagnose.calls", "diagnose.finding.explained_pct", "diagnose.finding.lost_pct", "diagnose.per_step.faster_pct",
			"diagnose.per_step.lost_ns", "diagnose.per_step.now_ns",
		}},
		{
			"report",
			`{"window":{"from_ns":1699999999995000000,"to_ns":1700000000010000000},"chains":[{"effect":{"pid":7,"tid":7,
			"op":"cudaStreamSynchronize","calls":10,"slow_calls":3,"tail_ratio":1}}]}`, nil,
		},
		{
			"report",
			`{"window":{"from_ns":1699999999989000000,"to_ns":1700000000009000000},"chains":[{"effect":{"pid":7,"tid":7,
			"op":"cudaStreamSynchronize","calls":20,"slow_calls":30,"tail_ratio":2}}]}`,
			[]string{
				"report.chains.effect.calls", "report.chains.effect.slow_calls", "report.chains.effect.tail_ratio",
				"report.window.from_ns", "report.window.to_ns",
			},
		},
		{
			"report",
			`{"chains":[{"pattern":{"from_ns":1700000000003000000,"to_ns":1700000000002000000,"burst_pct":120}}]}`,
			[]string{"report.chains.pattern.burst_pct", "report.chains.pattern.to_ns"},
		},
		{
			"report",
			`{"chains":[{"pattern":{"from_ns":1700000000003000000,"to_ns":1700000000005000000,"burst_pct":60}}]}`, nil,
		},
		{
			"report", `{"window":{"from_ns":1700000000001000000,"to_ns":1700000000011000000}}`,
			[]string{"report.window.from_ns", "report.window.to_ns"},
		},
	} {
		var answer map[string]any
		if err := json.Unmarshal([]byte(c.answer), &answer); err != nil {
			t.Fatal(err)
		}
		var res Result
		for _, q := range questions(truth()) {
			if _, asIs := answer["off_cpu"]; asIs && q.name == c.tool {
				answer = q.read(answer)
			}
		}
		res.walk(newKnown(truth(), &report.Report{}, 0), c.tool, answer)
		var wrong []string
		for _, w := range res.Wrong() {
			wrong = append(wrong, w.Field)
		}
		slices.Sort(wrong)
		if !slices.Equal(wrong, c.wrong) || len(res.NoRule) > 0 {
			t.Errorf("%s: wrong are\n%s\nwant\n%s\nwithout a rule: %q", c.answer, strings.Join(wrong, "\n"),
				strings.Join(c.wrong, "\n"), res.NoRule)
		}
	}
}

// TestAFieldWithoutARuleIsReported: a new field must have a rule or a reason.
func TestAFieldWithoutARuleIsReported(t *testing.T) {
	var res Result
	res.walk(newKnown(truth(), &report.Report{}, 0), "get_stacks",
		map[string]any{"stacks": []any{map[string]any{"new_ns": 1.0, "pid": 7.0}}})
	if !slices.Equal(res.NoRule, []string{"get_stacks.stacks.new_ns"}) {
		t.Errorf("without a rule are %q", res.NoRule)
	}
	if f := Fields([]*Result{&res}); len(f) != 1 || f[0].Wrong != 1 {
		t.Errorf("fields %+v", f)
	}
}
