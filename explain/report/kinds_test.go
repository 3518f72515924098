package report_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

// TestTwoKindsOfCallsAreDistinguished: the median of 10,000 empty waits is not reported for the 777
// that wait for something.
func TestTwoKindsOfCallsAreDistinguished(t *testing.T) {
	c := report.Chain{Severity: "HIGH", Summary: "s", LostNS: 1, Effect: report.Effect{
		Op: "cudaStreamSynchronize", Process: "p", Calls: 10_777, SlowCalls: 5, P50NS: 2100, P99NS: 12_000_000,
		MaxNS: 40_000_000,
		Kinds: []report.OpKind{{Calls: 10_000, P50NS: 2100}, {Calls: 777, P50NS: 12_000_000}},
	}}
	var b strings.Builder
	if err := report.WriteChain(&b, &c, report.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	want := "5 of 10,777 cudaStreamSynchronize calls slow: 10,000 took about 2.1 us, 777 about 12 ms, max 40 ms"
	if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "p50") {
		t.Errorf("want %q in\n%s", want, b.String())
	}
}
