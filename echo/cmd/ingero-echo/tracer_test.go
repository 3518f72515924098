package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/metrics"
)

// What a tracer tells of its findings is what the view has columns for.
func TestFindingsOfATracer(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer "+token)
	e := serve(t, filepath.Join(t.TempDir(), "echo.db"))
	for _, endpoint := range []metrics.Endpoint{
		{Host: e.at["OTLP over HTTP"]}, {GRPC: true, Host: e.at["OTLP over gRPC"]},
	} {
		pushed, err := metrics.Push(t.Context(), endpoint, metrics.Sender{Node: "gpu-05", Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		r := &report.Report{Chains: []report.Chain{{
			ID: "c1", Severity: "HIGH", LostPct: 12.5, LostNS: 125, ExplainedPct: 90, Summary: "rank 5 waits for a CPU",
			Cause:  report.Cause{Kind: "cpu_contention", Process: "hog", PID: 7, Detail: "CPU 3"},
			Effect: report.Effect{Op: "cudaLaunchKernel", Process: "train", PID: 8, TID: 9},
		}}}
		metrics.NewLogs(pushed.Logs, "run").Findings(r, time.Unix(1_700_000_000, 5))
		if err := pushed.Logs.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := pushed.Reader.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// Over both ways the same one: it is kept once.
	const want = `{"columns":["node_id","severity","summary","finding_id","cause","cause_process","cause_pid","cause_detail",` +
		`"effect_op","effect_process","effect_pid","effect_tid","lost_pct","lost_ns","explained_pct","timestamp_ns"],` +
		`"rows":[["gpu-05","HIGH","rank 5 waits for a CPU","c1","cpu_contention","hog",7,"CPU 3",` +
		`"cudaLaunchKernel","train",8,9,12.5,125,90,1700000000000000005]]}`
	if _, got := e.ask(t, `select node_id, severity, summary, finding_id, cause, cause_process, cause_pid, cause_detail,
		effect_op, effect_process, effect_pid, effect_tid, lost_pct, lost_ns, explained_pct, timestamp_ns from findings`); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
