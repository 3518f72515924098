package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/collectortest"
)

// The OpenTelemetry Collector receives what is pushed, over both protocols, with TLS
// and without.
func TestACollectorReceivesMetricsAndFindings(t *testing.T) {
	collectortest.Require(t)
	for _, scheme := range []string{"http", "https", "grpc", "grpcs"} {
		t.Run(scheme, func(t *testing.T) {
			c := collectortest.Start(t, strings.HasSuffix(scheme, "s"))
			address := c.HTTP
			if strings.HasPrefix(scheme, "grpc") {
				address = c.GRPC
			}
			m, p := pushed(t, scheme+"://"+address)
			m.Batch(batch(t))
			m.Second(&Tracer{InFlight: 1})
			chain := report.Chain{ID: "f1", Severity: "HIGH", Summary: "engine lost 12 %", LostPct: 12}
			chain.Cause.Kind, chain.Effect.Process = "cpu_contention", "engine"
			found := &report.Report{Chains: []report.Chain{chain}}
			m.Findings(found)
			NewLogs(p.Logs, "a run").Findings(found, time.Unix(1_800_000_000, 0))
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			d := NewDetections(p, "gpu-05:8080")
			slow := slowRank()
			d.Event(&slow, "rank 5 is slow")
			d.Close(slow.At.Add(time.Minute))
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := c.Received()
			collectedMetrics(t, &all)
			collectedLogs(t, &all)
			collectedSpans(t, &all)
		})
	}
}

// collectedMetrics demands every metric of the catalogue, and of calls as many as there
// were: pushed and then once more.
func collectedMetrics(t *testing.T, r *collectortest.Received) {
	t.Helper()
	units, calls := map[string]string{}, map[string]uint64{}
	for _, rm := range r.Metrics {
		if n := rm.Resource.Attributes.Of("host.name"); n != "node-1" {
			t.Errorf("the metrics are of node %q", n)
		}
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				units[m.Name] = m.Unit
				for _, p := range m.ExponentialHistogram.DataPoints {
					if m.Name == callDuration { // a later push has the sum
						calls[p.Attributes.Of(attrOp)] = max(calls[p.Attributes.Of(attrOp)], p.Count)
					}
				}
			}
		}
	}
	for i := range Catalogue {
		if unit, ok := units[Catalogue[i].Name]; !ok || unit != Catalogue[i].Unit {
			t.Errorf("%s was received %t, with unit %q", Catalogue[i].Name, ok, unit)
		}
	}
	want := map[string]uint64{}
	for _, c := range batch(t).Calls {
		want[c.Op.String()] += 2
	}
	for op, n := range want {
		if calls[op] != n {
			t.Errorf("%d calls of %s, want %d", calls[op], op, n)
		}
	}
}

func collectedLogs(t *testing.T, r *collectortest.Received) {
	t.Helper()
	n, events := 0, 0
	for _, rl := range r.Logs {
		for _, sl := range rl.ScopeLogs {
			for _, l := range sl.LogRecords {
				if l.EventName == wire.EventStraggler {
					events++
					if l.Body.StringValue != "rank 5 is slow" || l.SeverityText != "WARN" ||
						l.Attributes.Of("ingero.node.address") != "gpu-05:8080" || l.Attributes.Of("cause.kind") != "block_io" {
						t.Errorf("the event is %+v", l)
					}
					continue
				}
				n++
				if l.Body.StringValue != "engine lost 12 %" || l.SeverityText != "HIGH" || l.EventName != "ingero.finding" ||
					l.Attributes.Of(attrCause) != "cpu_contention" {
					t.Errorf("the record is %+v", l)
				}
				if len(l.TraceID) != 32 || len(l.SpanID) != 16 || strings.Trim(l.TraceID, "0") == "" ||
					strings.Trim(l.SpanID, "0") == "" {
					t.Errorf("trace %q, span %q", l.TraceID, l.SpanID)
				}
			}
		}
	}
	if n != 1 || events != 1 {
		t.Errorf("%d records of one finding, %d of one event", n, events)
	}
}

// collectedSpans demands the span of the event, which ended with the tracer.
func collectedSpans(t *testing.T, r *collectortest.Received) {
	t.Helper()
	n := 0
	for _, rs := range r.Spans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				n++
				if s.Name != spanStraggler || s.TraceID != "0123456789ab8def8123456789abcdef" || len(s.Events) != 1 ||
					s.Events[0].Name != "outcome" || s.Events[0].Attributes.Of("status") != "unresolved" ||
					s.EndTimeUnixNano-s.StartTimeUnixNano != uint64(65*time.Second) ||
					s.Attributes.Of("node_id") != "gpu-05" {
					t.Errorf("the span is %+v", s)
				}
			}
		}
	}
	if n != 1 {
		t.Errorf("%d spans of one event", n)
	}
}
