package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

// All calls of a kind together are not slow compared with themselves.
func TestCallsAreSlowComparedWithOthersOfTheirKind(t *testing.T) {
	for _, c := range []struct {
		calls, slow uint64
		op, want    string
	}{
		{231_478, 231_478, "cudaStreamSynchronize", "each of 231,478 cudaStreamSynchronize calls: p50 1.63 us"},
		{231_478, 0, "cudaStreamSynchronize", "  231,478 cudaStreamSynchronize calls: p50 1.63 us"},
		{231_478, 906, "cudaStreamSynchronize", "906 of 231,478 cudaStreamSynchronize calls slow: p50 1.63 us"},
		{21, 21, "between calls", "each of 21 gaps between calls: p50 1.63 us"},
	} {
		r := &report.Report{Chains: []report.Chain{{
			Severity: "HIGH", Summary: "s", LostNS: 1, Effect: report.Effect{
				Op: c.op, Process: "p", Calls: c.calls,
				SlowCalls: c.slow, P50NS: 1630, P99NS: 2000, MaxNS: 3000,
			},
		}}}
		var b bytes.Buffer
		if err := report.WriteText(&b, r, report.TextOptions{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("want %q in\n%s", c.want, &b)
		}
	}
}
