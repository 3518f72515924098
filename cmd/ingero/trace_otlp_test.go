package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/collectortest"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// TestACollectorReceivesATrace traces a program with a fault, and has an OpenTelemetry
// Collector received: as many calls as were recorded, and the findings.
func TestACollectorReceivesATrace(t *testing.T) {
	collectortest.Require(t)
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	for _, scheme := range []string{"http", "grpc"} {
		t.Run(scheme, func(t *testing.T) {
			c, home := collectortest.Start(t, false), t.TempDir()
			address := map[string]string{"http": c.HTTP, "grpc": c.GRPC}[scheme]
			db := filepath.Join(home, "run.db")
			// So long, as on a slow machine seconds pass between two live diagnoses.
			r := runIn(t, home, "trace", "--json", "--otlp", scheme+"://"+address, "--node", "gpu-node-07", "--db", db,
				"--", files.Victim, "loop", "--seconds", "12", "--fault", "lock")
			if r.code != 0 {
				t.Fatalf("%+v", r)
			}
			all := c.Received()
			series := receivedCalls(&all)
			calls := map[string]string{}
			for op, n := range sumByOp(t, series) {
				calls[op] = fmt.Sprint(n)
			}
			if want := recorded(t, home, db); len(want) == 0 || !maps.Equal(calls, want) {
				t.Errorf("received %v calls in %v, recorded were %v", calls, series, want)
			}
			got, want := causes(t, &all), printedCauses(t, r.out)
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("received %v, and trace printed %v", got, want)
			}
		})
	}
}

// series is what the collector tells calls apart by here.
type series struct{ process, op string }

// receivedCalls is how many calls of each series the collector received last: each push has
// the sum since the start.
func receivedCalls(all *collectortest.Received) map[series]uint64 {
	n := map[series]uint64{}
	for _, rm := range all.Metrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				for _, p := range m.ExponentialHistogram.DataPoints {
					if m.Name == "ingero.call.duration" {
						k := series{p.Attributes.Of("process.executable.name"), p.Attributes.Of("ingero.op")}
						n[k] = max(n[k], p.Count)
					}
				}
			}
		}
	}
	return n
}

// sumByOp adds up the calls of the one process, which may have been seen under two names:
// it gives itself another one while its first calls are on their way. It is never without.
func sumByOp(t *testing.T, received map[series]uint64) map[string]uint64 {
	t.Helper()
	n := map[string]uint64{}
	for k, calls := range received {
		if k.process == "" {
			t.Errorf("%d calls of %s are of no process", calls, k.op)
		}
		n[k.op] += calls
	}
	return n
}

// recorded is how many calls of each operation are in a recording.
func recorded(t *testing.T, home, db string) map[string]string {
	t.Helper()
	r := runIn(t, home, "query", db, "--format", "csv", "select op, sum(calls) as n from op_seconds group by op")
	n := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n")[1:] {
		op, calls, _ := strings.Cut(line, ",")
		n[op] = calls
	}
	return n
}

// causes are those of the findings that the collector received, each once. All of them
// are of one trace.
func causes(t *testing.T, all *collectortest.Received) []string {
	t.Helper()
	kinds, traces := map[string]bool{}, map[string]bool{}
	for _, rl := range all.Logs {
		if n := rl.Resource.Attributes.Of("host.name"); n != "gpu-node-07" {
			t.Errorf("the findings are of node %q", n)
		}
		for _, sl := range rl.ScopeLogs {
			for _, l := range sl.LogRecords {
				kinds[l.Attributes.Of("ingero.cause.kind")] = true
				traces[l.TraceID] = true
				if len(l.TraceID) != 32 || len(l.SpanID) != 16 {
					t.Errorf("trace %q, span %q", l.TraceID, l.SpanID)
				}
			}
		}
	}
	if len(traces) > 1 {
		t.Errorf("the findings of one run are of %d traces", len(traces))
	}
	return slices.Sorted(maps.Keys(kinds))
}

// printedCauses are the causes that trace printed.
func printedCauses(t *testing.T, out string) []string {
	t.Helper()
	kinds := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var l struct {
			Type  string
			Chain struct{ Cause struct{ Kind string } }
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "finding" {
			kinds[l.Chain.Cause.Kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
