package otlp_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/echo/otlp"
)

// Echo is upgraded before nodes: it keeps what earlier agents push as before.
func TestWhatEarlierAgentsPushIsKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../cluster/wire/testdata/kept/*/gauges.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
		if err != nil {
			t.Fatal(err)
		}
		got := otlp.Metrics(m, options)
		if got.Refused > 0 {
			t.Errorf("%s: %d refused: %s", file, got.Refused, got.Why)
		}
		rows, scores := map[string]int{}, map[int32]float64{}
		for _, r := range got.Rows {
			rows[r.Metric]++
			if r.Node != "gpu-node-0017.example" || r.Cluster != "research-east-1" || r.Timestamp != 1_790_000_000_123_456_789 {
				t.Errorf("%s: %+v", file, r)
			}
			if r.Metric == "ingero.node.health_score" {
				scores[r.Rank] = r.Double
			}
		}
		if d := cmp.Diff(map[int32]float64{
			136: 0.99, 137: 0.99, 138: 0.99, 139: 0.83, 140: 0.99, 141: 0.99, 142: 0.99, 143: 0.99,
		}, scores); d != "" {
			t.Errorf("%s: %s", file, d)
		}
		if d := cmp.Diff(map[string]int{
			"ingero.health.push": 1, "ingero.node.health_score": 8, "ingero.node.throughput_ratio": 8,
			"ingero.node.compute_efficiency": 8, "ingero.node.memory_headroom": 8, "ingero.node.cpu_availability": 8,
			"ingero.node.degradation_warning": 8, "ingero.agent.fleet_reachable": 1, "ingero.agent.detection_mode": 8,
			"ingero.node.info": 1, "ingero.node.straggler_event": 8, "ingero.node.world_size": 1,
		}, rows); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}
