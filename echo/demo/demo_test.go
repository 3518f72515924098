package demo_test

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/demo"
	"github.com/ingero-io/ingero/echo/ingest"
)

// The recording is moved as a whole: it has the same length wherever it ends. Package mcptool tests what the tools find
// in it.
func TestRequests(t *testing.T) {
	const end, later = 1_780_000_000_000_000_000, 3_600_000_000_000
	a, err := demo.Requests(end)
	if err != nil {
		t.Fatal(err)
	}
	b, err := demo.Requests(end + later)
	if err != nil || len(a) != len(b) {
		t.Fatalf("%d and %d requests, %v", len(a), len(b), err)
	}
	paths := map[string]int{}
	first, last := uint64(end), uint64(0)
	for i := range a {
		paths[a[i].Path]++
		n := len(a[i].Body)
		if n == 0 || n > ingest.MaxRequest || a[i].Path != b[i].Path || bytes.Equal(a[i].Body, b[i].Body) {
			t.Errorf("request %d to %s has %d bytes, an hour later %d to %s", i, a[i].Path, n, len(b[i].Body), b[i].Path)
		}
		one, another := spans(t, a[i]), spans(t, b[i])
		for k := range one {
			if one[k]+later != another[k] {
				t.Fatalf("request %d: %d was not moved by an hour: %d", i, one[k], another[k])
			}
			first, last = min(first, one[k]), max(last, one[k])
		}
	}
	if paths["/v1/traces"] < 50 || paths["/v1/metrics"] < 50 || paths["/v1/logs"] < 50 {
		t.Error(paths)
	}
	if last > end || end-last > 10e9 || last-first < 120e9 {
		t.Errorf("collectives are from %d to %d, of what ends at %d", first, last, end)
	}
}

// spans returns when the spans of a request start and end.
func spans(t *testing.T, r demo.Request) (ns []uint64) {
	t.Helper()
	if r.Path != "/v1/traces" {
		return nil
	}
	req := ptraceotlp.NewExportRequest()
	if err := req.UnmarshalProto(r.Body); err != nil {
		t.Fatal(err)
	}
	for _, r := range req.Traces().ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for _, span := range s.Spans().All() {
				ns = append(ns, uint64(span.StartTimestamp()), uint64(span.EndTimestamp()))
			}
		}
	}
	return ns
}
