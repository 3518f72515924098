package wire_test

import (
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

func request(t testing.TB, p wire.Push) []byte {
	t.Helper()
	b, err := wire.AppendRequest(nil, &p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func one(t testing.TB, b []byte) wire.Push {
	t.Helper()
	got, err := wire.ParseRequest(b)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d pushes, %v", len(got), err)
	}
	return got[0]
}

func TestPushIsSmall(t *testing.T) {
	p := usual()
	p.Health.Run, p.Health.Number = math.MaxUint64, 9
	b := request(t, p)
	if len(b) > 1000 {
		t.Errorf("8 ranks are %d bytes; 1,000 at most", len(b))
	}
	t.Logf("8 ranks: %d bytes, with the published gauges %d", len(b), len(request(t, full())))
}

func TestPushComesBack(t *testing.T) {
	ordered := usual()
	ordered.Health.Run, ordered.Health.Number = 1<<63|5, 77
	for _, p := range []wire.Push{ordered, usual(), full(), {Node: "n", Health: health.Push{
		Cohort: 5, Node: wire.Node("n"), Sent: 1, Size: 1, Ranks: []health.RankPush{{X: [health.Repeated]float32{}}},
	}}} {
		if d := cmp.Diff(p, one(t, request(t, p)), cmpopts.EquateNaNs()); d != "" {
			t.Error(d)
		}
	}
}

func TestAnyPushComesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		p := wire.Push{Node: "n", Cluster: strings.Repeat("c", random.IntN(257)), Health: anyPush(random)}
		if random.IntN(2) == 0 {
			p.WorldSize = 1 << 20
		}
		for range random.IntN(20) {
			g := wire.NoGauges(int32(len(p.Gauges)) - 1)
			g.State, g.Score.Health, g.Score.CPU = "idle", random.Float64(), random.Float64()
			yes := random.IntN(2) == 0
			g.Warning, g.Reachable = &yes, &yes
			g.Group = []string{"", "0123456789abcdef"}[random.IntN(2)]
			p.Gauges = append(p.Gauges, g)
		}
		if d := cmp.Diff(p, one(t, request(t, p)), cmpopts.EquateNaNs()); d != "" {
			t.Fatal(d)
		}
	}
}

func TestNumbersThatAreNotFiniteAreNone(t *testing.T) {
	p := usual()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	r := &p.Health.Ranks[2]
	r.Sigma, r.Shift, r.X[4], p.Health.Reference = nan, inf, -inf, inf
	p.Health.Echo.Mid = nan
	got := one(t, request(t, p))
	r.Sigma, r.Shift, r.X[4], p.Health.Reference = 0, 0, nan, 0
	p.Health.Echo = health.Summary{}
	if d := cmp.Diff(p, got, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}

// TestOTLP parses what is written with OpenTelemetry's own code.
func TestOTLP(t *testing.T) {
	var r collectorpb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(request(t, full()), &r); err != nil {
		t.Fatal(err)
	}
	rm := r.ResourceMetrics[0]
	if d := cmp.Diff(map[string]any{
		"ingero.node.id": "gpu-node-0017.example", "ingero.cluster.id": "research-east-1", "ingero.world_size": int64(512),
	}, values(rm.Resource.Attributes)); d != "" {
		t.Error(d)
	}
	sm := rm.ScopeMetrics[0]
	if len(r.ResourceMetrics) != 1 || len(rm.ScopeMetrics) != 1 || sm.Scope.Name != "ingero.health" {
		t.Error("one scope", sm.Scope)
	}
	points := map[string]int{}
	for _, m := range sm.Metrics {
		points[m.Name] = len(m.GetGauge().DataPoints)
		for _, p := range m.GetGauge().DataPoints {
			if p.TimeUnixNano != uint64(sent) || len(m.ProtoReflect().GetUnknown())+len(p.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("%s: %v", m.Name, p)
			}
		}
	}
	if d := cmp.Diff(map[string]int{
		"ingero.health.push": 1, "ingero.node.health_score": 8, "ingero.node.throughput_ratio": 8,
		"ingero.node.compute_efficiency": 8, "ingero.node.memory_headroom": 8, "ingero.node.cpu_availability": 8,
		"ingero.node.degradation_warning": 8, "ingero.agent.fleet_reachable": 1, "ingero.agent.detection_mode": 8,
		"ingero.node.info": 1, "ingero.node.straggler_event": 8, "ingero.node.world_size": 1,
	}, points); d != "" {
		t.Error(d)
	}
	for _, m := range sm.Metrics {
		if m.Name == "ingero.node.straggler_event" {
			p := m.GetGauge().DataPoints[3]
			if d := cmp.Diff(map[string]any{
				"ingero.node.rank": int64(139), "ingero.node.state": "active", "threshold": 0.9, "score": 0.83,
				"dominant_signal": "own_work", "ingero.event.id": "8c9d0c2e-3f1b-4a43-9d13-1f4a7c0f2b11",
			}, values(p.Attributes)); d != "" || p.GetAsDouble() != 1 {
				t.Error(d, p)
			}
		}
	}
}

func values(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[a.Key] = v.DoubleValue
		}
	}
	return m
}

// Pushes of earlier agents, written with OpenTelemetry's own code.

func text(key, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}}
}

func integer(key string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}

func gauge(name string, v float64, attributes ...*commonpb.KeyValue) *metricspb.Metric {
	return &metricspb.Metric{Name: name, Unit: "1", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{
		DataPoints: []*metricspb.NumberDataPoint{{
			TimeUnixNano: 1, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: v}, Attributes: attributes,
		}},
	}}}
}

func earlier(resource []*commonpb.KeyValue, metrics ...*metricspb.Metric) *metricspb.ResourceMetrics {
	return &metricspb.ResourceMetrics{
		Resource: &resourcepb.Resource{Attributes: resource},
		ScopeMetrics: []*metricspb.ScopeMetrics{
			{Scope: &commonpb.InstrumentationScope{Name: "other"}, Metrics: []*metricspb.Metric{gauge("ingero.node.health_score", 7)}},
			{Scope: &commonpb.InstrumentationScope{Name: "ingero.health", Version: "0.9"}, Metrics: metrics},
		},
	}
}

func export(t testing.TB, r ...*metricspb.ResourceMetrics) []byte {
	t.Helper()
	b, err := proto.Marshal(&collectorpb.ExportMetricsServiceRequest{ResourceMetrics: r})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEarlierAgents(t *testing.T) {
	resource := []*commonpb.KeyValue{
		text("ingero.node.id", "old-1"), text("ingero.cluster.id", "c"), text("ingero.provider", "aws"),
		text("ingero.world_size", "16"), integer("ingero.node.rank", 5),
	}
	state := text("ingero.node.state", "calibrating")
	sum := &metricspb.Metric{Name: "ingero.node.cuda_kernel_launch_total", Data: &metricspb.Metric_Sum{Sum: &metricspb.Sum{
		DataPoints: []*metricspb.NumberDataPoint{{Value: &metricspb.NumberDataPoint_AsInt{AsInt: 3}}},
	}}}
	want := wire.NoGauges(5)
	want.State, want.Score.Health, want.Score.Throughput, want.Mode = "calibrating", 0.93, 0.5, "fleet-cached"
	no := false
	want.Reachable = &no
	for _, score := range []string{"ingero.node.health_score", "ingero.health.score"} {
		p := one(t, export(t, earlier(resource,
			gauge(score, 0.93, state, text("ingero.workload_type", "training")), gauge("ingero.node.throughput_ratio", 0.5, state),
			gauge("ingero.agent.detection_mode", 1, text("ingero.detection_mode", "fleet-cached")),
			gauge("ingero.agent.fleet_reachable", 0), gauge("ingero.node.unheard_of", 3), sum)))
		if d := cmp.Diff(wire.Push{Node: "old-1", Cluster: "c", WorldSize: 16, Gauges: []wire.Gauges{want}}, p, cmpopts.EquateNaNs()); d != "" {
			t.Error(score, d)
		}
	}
	// Scores by control group stay separate.
	groups := one(t, export(t, earlier(resource[:1],
		gauge("ingero.node.health_score", 0.1, text("ingero.cgroup_path_hash", "a")),
		gauge("ingero.node.health_score", 0.2, text("ingero.cgroup_path_hash", "b")))))
	if g := groups.Gauges; len(g) != 2 || g[0].Score.Health != 0.1 || g[1].Score.Health != 0.2 || g[1].Group != "b" || g[1].Rank != health.NoRank {
		t.Errorf("groups: %+v", g)
	}
	if len(groups.Health.Ranks) > 0 || groups.WorldSize != 0 || groups.Gauges[0].State != "" {
		t.Errorf("invented: %+v", groups)
	}
	if got, err := wire.ParseRequest(export(t, &metricspb.ResourceMetrics{})); err != nil || len(got) != 0 {
		t.Errorf("nothing of ours: %v %v", got, err)
	}
}

// TestOrderOfFields: fields of a message come in any order.
func TestOrderOfFields(t *testing.T) {
	p := usual()
	var r collectorpb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(request(t, p), &r); err != nil {
		t.Fatal(err)
	}
	part := func(number byte, m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		head := []byte{number<<3 | 2}
		for n := len(b); ; n >>= 7 {
			if n < 0x80 {
				return append(append(head, byte(n)), b...)
			}
			head = append(head, byte(n)|0x80)
		}
	}
	nest := func(number byte, parts ...[]byte) []byte {
		raw := slices.Concat(parts...)
		head := []byte{number<<3 | 2}
		n := len(raw)
		for ; n >= 0x80; n >>= 7 {
			head = append(head, byte(n)|0x80)
		}
		return append(append(head, byte(n)), raw...)
	}
	rm := r.ResourceMetrics[0]
	sm := rm.ScopeMetrics[0]
	m := sm.Metrics[0]
	metric := nest(2, part(5, m.GetGauge()), nest(1, []byte(m.Name)))
	backwards := nest(1, nest(2, metric, part(1, sm.Scope)), part(1, rm.Resource))
	if d := cmp.Diff(p, one(t, backwards), cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}

func TestSeveralPushes(t *testing.T) {
	good := request(t, usual())
	bad := export(t, earlier(nil, gauge("ingero.health.score", 0.5)), earlier([]*commonpb.KeyValue{text("ingero.node.id", "x")},
		gauge("ingero.health.score", 1.5)))
	got, err := wire.ParseRequest(slices.Concat(good, bad, good))
	var faults [wire.Faults]uint64
	wire.Count(err, &faults)
	if len(got) != 2 || faults != [wire.Faults]uint64{wire.Value: 2} {
		t.Errorf("%d pushes, %v, %v", len(got), faults, err)
	}
	want := "ingero.node.id: is missing\ningero.node.health_score: is 1.5; from 0 to 1"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	many := []byte{}
	for range wire.MaxPushes + 1 {
		many = append(many, good...)
	}
	got, err = wire.ParseRequest(many)
	if len(got) != wire.MaxPushes || fault(err) != wire.Limit {
		t.Errorf("%d pushes, %v", len(got), err)
	}
	if _, err := wire.ParseRequest(make([]byte, wire.MaxRequest+1)); fault(err) != wire.Limit {
		t.Error(err)
	}
}

// ParseDataRequest reads what ParseRequest reads, if the request has nothing else.
func TestDataRequest(t *testing.T) {
	usual, full := request(t, usual()), request(t, full())
	other := export(t, &metricspb.ResourceMetrics{ScopeMetrics: []*metricspb.ScopeMetrics{{
		Scope: &commonpb.InstrumentationScope{Name: "other"}, Metrics: []*metricspb.Metric{gauge("m", 1)},
	}}})
	for name, c := range map[string]struct {
		request []byte
		want    bool
	}{
		"usual": {usual, true}, "gauges": {full, false}, "two": {slices.Concat(usual, usual), false},
		"others beside it": {slices.Concat(usual, other), false}, "others": {other, false}, "nothing": {nil, false},
		"truncated": {usual[:len(usual)-1], false}, "one byte more": {append(slices.Clip(usual), 0), false},
		"other gauges": {export(t, earlier([]*commonpb.KeyValue{text("ingero.node.id", "x")}, gauge("ingero.health.score", 1))), false},
	} {
		got, ok := wire.ParseDataRequest(c.request)
		if ok != c.want {
			t.Errorf("%s: %t", name, ok)
		}
		if ok {
			if d := cmp.Diff(one(t, c.request), got, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
	// A scope that is not ours within the same resource.
	var r collectorpb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(usual, &r); err != nil {
		t.Fatal(err)
	}
	rm := r.ResourceMetrics[0]
	rm.ScopeMetrics = append(rm.ScopeMetrics, earlier(nil).ScopeMetrics[0])
	if _, ok := wire.ParseDataRequest(export(t, rm)); ok {
		t.Error("a scope that is not ours is read")
	}
}

func fault(err error) wire.Fault {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Fault
	}
	return wire.Faults
}

// TestUnacceptablePush changes a good push, and expects the same error from the writer and the parser.
func TestUnacceptablePush(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(p *wire.Push)
	}{
		{"ingero.node.id: is missing", func(p *wire.Push) { p.Node = "" }},
		{"ingero.node.id: has 300 bytes; 256 at most", func(p *wire.Push) { p.Node = strings.Repeat("n", 300) }},
		{"ingero.node.id: has the character U+000A, which is not printable", func(p *wire.Push) { p.Node = "a\nb" }},
		{"ingero.cluster.id: is not UTF-8", func(p *wire.Push) { p.Cluster = "\xff" }},
		{"ingero.world_size: is -1; from 0 to 1048576", func(p *wire.Push) { p.WorldSize = -1 }},
		{"ranks[6].rank: is 142 of a world of 142", func(p *wire.Push) { p.WorldSize = 142 }},
		{`node: is not the number of "gpu-node-0017.example"`, func(p *wire.Push) { p.Health.Node++ }},
		{"ingero.health.data.cohort: is 0, which is none", func(p *wire.Push) { p.Health.Cohort = 0 }},
		{"ingero.health.data.sent: is -5 ns; more than 0", func(p *wire.Push) { p.Health.Sent = -5 }},
		{"ingero.health.data.size: is -1; from 1 to 16384", func(p *wire.Push) { p.Health.Size = -1 }},
		{"ingero.health.data.size: is 16385; from 1 to 16384", func(p *wire.Push) { p.Health.Size = 16385 }},
		{"ingero.health.data.ranks: are 8 of a cohort of 7", func(p *wire.Push) { p.Health.Size = 7 }},
		{"ingero.health.data.width: is 513; 512 at most", func(p *wire.Push) { p.Health.Width = 513 }},
		{"ingero.health.data.merge: is 0 with a width of 3; from 1 to 64", func(p *wire.Push) { p.Health.Merge = 0 }},
		{"ingero.health.data.ranks: are 65; 64 at most", func(p *wire.Push) {
			p.Health.Size, p.Health.Ranks = 65, make([]health.RankPush, 65)
		}},
		{"ingero.health.data.ranks[1].rank: is -2; from 0 to 1048575", func(p *wire.Push) { p.Health.Ranks[1].Rank = -2 }},
		{"ingero.health.data.ranks[1].newest: is 4611686018427387905; 4611686018427387904 at most", func(p *wire.Push) {
			p.Health.Ranks[1].Newest = health.MaxPosition + 1
		}},
		{"ingero.health.data.ranks[1].state: is 5, which is none", func(p *wire.Push) { p.Health.Ranks[1].State = 5 }},
		{"ingero.health.data.ranks[1].mode: is 5, which is none", func(p *wire.Push) { p.Health.Ranks[1].Mode = 5 }},
		{"ingero.health.data.ranks[1].measured: is 3, which is none", func(p *wire.Push) { p.Health.Ranks[1].Measured = 3 }},
		{"ingero.node.cpu_availability: is 1.5; from 0 to 1", func(p *wire.Push) {
			p.Gauges = []wire.Gauges{wire.NoGauges(3)}
			p.Gauges[0].Score.CPU = 1.5
		}},
		{"gauges: are of 257 ranks and groups; 256 at most", func(p *wire.Push) { p.Gauges = make([]wire.Gauges, 257) }},
	} {
		p := usual()
		c.change(&p)
		if b, err := wire.AppendRequest([]byte("kept"), &p); err == nil || err.Error() != c.why || string(b) != "kept" {
			t.Errorf("%v\nwant %s", err, c.why)
		}
	}
}

// The parts of the smallest data: one rank.
const (
	head = "01" + "00" + "0500000000000000" + "0100000000000000" + "08" + "03" + "01" + "00000000" + "0a" + "01"
	rank = "03" + "00" + "49" + "0000" + "00"
)

func TestUnacceptableData(t *testing.T) {
	data := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good, err := wire.ParseData(data(head + rank))
	if err != nil || good.Size != 8 {
		t.Fatalf("%v %+v", err, good)
	}
	if r := good.Ranks[0]; r.Rank != 3 || r.Newest != 10 || r.Mode != health.ModeFleet {
		t.Fatalf("%+v", r)
	}
	for _, c := range []struct {
		data  string
		fault wire.Fault
		why   string
	}{
		{"", wire.Malformed, "version: is truncated"},
		{"02", wire.Version, "version: is 2, which is newer than 1, the only one known here"},
		{"00", wire.Version, "version: is 0; only 1 is known here"},
		{"01f0" + head[4:] + rank, wire.Value, "flags: has bits that are not known: 0xf0"},
		{"0100" + "0500000000000000" + "01000000000000ff" + "08" + "03" + "01" + "00000000" + "0a" + "01" + rank, wire.Value, "sent: is -72057594037927935 ns; more than 0"},
		{"0100" + "0500000000000000" + "0100000000000000" + "00", wire.Value, "size: is 0; from 1 to 16384"},
		{"0100" + "0500000000000000" + "0100000000000000" + "ffffffffffffffffff01", wire.Value, "size: is 18446744073709551615; from 1 to 16384"},
		{"0100" + "0500000000000000" + "0100000000000000" + "ffffffffffffffffffff01", wire.Malformed, "size: is a number of more than 64 bits"},
		{"0100" + "0500000000000000" + "0100000000000000" + "08" + "0301" + "0000c07f" + "0a01" + rank, wire.Value, "reference: is not finite"},
		{head[:len(head)-2] + "ff" + rank, wire.Limit, "ranks: are 255; 64 at most"},
		{head[:len(head)-2] + "00", wire.Value, "ranks: there are none"},
		{head[:len(head)-2] + "02" + rank, wire.Malformed, "ranks[1].rank: is truncated"},
		{head + "03" + "00" + "49" + "0000" + "01" + "ffffffffff0f", wire.Value, "ranks[0].x: is 549755813887; from 0 to 4294967295"},
		{head + rank + "00", wire.Malformed, "end: 1 bytes too many"},
		{head + "03" + "0b" + "490000" + "00", wire.Value, "ranks[0].newest: is 11; from 0 to 10"},
		{head + "8080808008" + "00490000" + "00", wire.Value, "ranks[0].rank: is 2147483648; from 0 to 1048575"},
		{head + "03" + "00" + "4e" + "0000" + "00", wire.Value, "ranks[0].state: is 6, which is none"},
		{head + "03" + "00" + "79" + "0000" + "00", wire.Value, "ranks[0].mode: is 7, which is none"},
		{head + "03" + "00" + "c9" + "0000" + "00", wire.Value, "ranks[0].measured: is 3, which is none"},
		{head + "03" + "00" + "49" + "0010" + "00", wire.Value, "ranks[0].says: has bits that are not known: 0x1000"},
		{head + "03" + "00" + "49" + "0100" + "00" + "0000807f", wire.Value, "ranks[0].sigma: is not finite"},
		{head + "03" + "00" + "49" + "0000" + "01" + "808080fc0f", wire.Value, "ranks[0].x: is not finite"},
		{head + "03" + "00" + "49" + "0008" + "00" + "00000000" + "00000000" + "0000", wire.Value, "ranks[0].comm: is 0, which is none"},
		{head + "03" + "00" + "49" + "0008" + "00" + "01000000" + "00000000" + "00" + "ffffffffffffffffff01", wire.Value, "ranks[0].open: is 18446744073709551615; from 0 to 9223372036854775807"},
		{"0102" + head[4:] + rank + "05" + "01" + "0000803f" + "00000000" + "00000000" + "00000000", wire.Value, "echo.middle: is not in order"},
		{"0102" + head[4:] + rank + "05" + "00", wire.Value, "echo.n: is 0; from 1 to 16384"},
	} {
		_, err := wire.ParseData(data(c.data))
		if err == nil || err.Error() != c.why || fault(err) != c.fault {
			t.Errorf("%s:\n got %v\nwant %s", c.data, err, c.why)
		}
	}
}

func TestTruncatedPushIsRefused(t *testing.T) {
	b := request(t, full())
	for n := 1; n < len(b); n += 1 + n%7 {
		if got, err := wire.ParseRequest(b[:n]); err == nil || len(got) > 0 {
			t.Fatalf("%d of %d bytes: %v", n, len(b), got)
		}
	}
	p := usual()
	b, err := wire.AppendData(nil, &p.Health)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := wire.ParseData(b[:n]); fault(err) != wire.Malformed {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// TestUnacceptableOTLP has requests that AppendRequest cannot write.
func TestUnacceptableOTLP(t *testing.T) {
	node := []*commonpb.KeyValue{text("ingero.node.id", "n")}
	data := func(v *commonpb.AnyValue, n int) *metricspb.ResourceMetrics {
		a := []*commonpb.KeyValue{}
		for range n {
			a = append(a, &commonpb.KeyValue{Key: "ingero.health.data", Value: v})
		}
		return earlier(node, gauge("ingero.health.push", 1, a...))
	}
	bytes := func(b string) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte(b)}}
	}
	many := []*metricspb.Metric{}
	for i := range 300 {
		many = append(many, gauge("ingero.health.score", 1, integer("ingero.node.rank", int64(i))))
	}
	for _, c := range []struct {
		r   *metricspb.ResourceMetrics
		why string
	}{
		{data(text("", "x").Value, 1), "ingero.health.data: is not of bytes"},
		{data(bytes("x"), 2), "ingero.health.data: is there twice"},
		{data(bytes(""), 1), "ingero.health.data.version: is truncated"},
		{data(bytes("\x09"), 1), "ingero.health.data.version: is 9, which is newer than 1, the only one known here"},
		{earlier([]*commonpb.KeyValue{integer("ingero.node.id", 3)}), "ingero.node.id: is not a string"},
		{
			earlier([]*commonpb.KeyValue{text("ingero.world_size", "many")}),
			"ingero.world_size: is not a whole number of 32 bits",
		},
		{earlier([]*commonpb.KeyValue{integer("ingero.world_size", 1<<40)}), "ingero.world_size: is 1099511627776; it must fit in 32 bits"},
		{earlier([]*commonpb.KeyValue{integer("ingero.node.rank", -1)}), "ingero.node.rank: is -1"},
		{earlier(node, gauge("ingero.node.health_score", math.NaN())), "ingero.node.health_score: is not finite"},
		{earlier(node, gauge("ingero.node.world_size", 1e30)), "ingero.node.world_size: is 1e+30; a whole number from 0 to 1048576"},
		{earlier(node, gauge("ingero.health.score", 1, text("ingero.cgroup_path_hash", strings.Repeat("a", 999)))), "ingero.cgroup_path_hash: has 999 bytes; 256 at most"},
		{earlier(node, many...), "gauges: are of more than 256 ranks and groups"},
	} {
		if _, err := wire.ParseRequest(export(t, c.r)); err == nil || err.Error() != c.why {
			t.Errorf("got %v\nwant %s", err, c.why)
		}
	}
}

func TestNumbers(t *testing.T) {
	if wire.Cohort("a", "b", "c", "d") == wire.Cohort("a", "bc", "", "d") || wire.Node("a") == wire.Node("b") {
		t.Error("different names, same number")
	}
	// The first 16 digits of: printf a | sha256sum
	if got := wire.Node("a"); got != 0xca978112ca1bbdca {
		t.Errorf("%x", got)
	}
}

// TestForm: agents and fleets of different versions meet.
func TestForm(t *testing.T) {
	b := request(t, usual())
	golden(t, "push.hex", []byte(hex.Dump(b)))
	p := usual()
	d, err := wire.AppendData(nil, &p.Health)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "data.hex", []byte(hex.Dump(d)))
}

// BenchmarkPush writes and parses a push of 8 ranks.
func BenchmarkPush(b *testing.B) {
	p := usual()
	body := request(b, p)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 2048)
		for b.Loop() {
			out, err := wire.AppendRequest(buf, &p)
			if err != nil || len(out) != len(body) {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := wire.ParseRequest(body); err != nil || len(got) != 1 {
				b.Fatal(err)
			}
		}
	})
	reply := sound()
	for len(reply.Buckets) < health.Kept {
		next := reply.Buckets[len(reply.Buckets)-1]
		next.Position++
		reply.Buckets = append(reply.Buckets, next)
	}
	b.Run("answer", func(b *testing.B) {
		b.ReportAllocs()
		h := map[string][]string{}
		for b.Loop() {
			if err := wire.AnswerTo(reply).SetHTTP(h); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestAnOrderThatIsWrong(t *testing.T) {
	for why, b := range map[string][]byte{
		"has 3 bytes; 16": make([]byte, 3), "has 0 bytes; 16": nil, "is of no run": make([]byte, 16),
	} {
		p := usual()
		if err := p.SetOrder(b); err == nil || err.Error() != "ingero.health.order: "+why {
			t.Errorf("%v: %v", b, err)
		}
	}
}
