package stragglerprocessor

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

var threshold = component.MustNewID("threshold")

// push returns a push of a node with one rank and the published score.
func push(node string) wire.Push {
	g := wire.NoGauges(0)
	g.Score.Health = 0.9
	return wire.Push{Node: node, Cluster: "c", Gauges: []wire.Gauges{g}, Health: health.Push{
		Cohort: 7, Node: wire.Node(node), Sent: time.Hour, Size: 4, Width: 1, Merge: 1,
		Ranks: []health.RankPush{{Rank: 0, Newest: 5, Interval: 0.5}},
	}}
}

// metrics returns the metrics of a request with pushes.
func metrics(t *testing.T, pushes ...wire.Push) pmetric.Metrics {
	t.Helper()
	var b []byte
	for i := range pushes {
		var err error
		if b, err = wire.AppendRequest(b, &pushes[i]); err != nil {
			t.Fatal(err)
		}
	}
	md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
	if err != nil {
		t.Fatal(err)
	}
	return md
}

// started returns a started processor in front of a fleet and next.
func started(t *testing.T, f *fakeFleet, next consumer.Metrics) processor.Metrics {
	t.Helper()
	p, err := NewFactory().CreateMetrics(t.Context(), processortest.NewNopSettings(component.MustNewType("straggler")),
		defaultConfig(), next)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), host{threshold: f}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// names returns the names of all metrics, by resource.
func names(md pmetric.Metrics) (names [][]string) {
	for _, rm := range md.ResourceMetrics().All() {
		var of []string
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				of = append(of, m.Name())
			}
		}
		names = append(names, of)
	}
	return names
}

func TestPushesGoToTheFleetAndGaugesOn(t *testing.T) {
	f, sink := &fakeFleet{}, &consumertest.MetricsSink{}
	p := started(t, f, sink)
	silent := push("b") // without gauges
	silent.Gauges = nil
	if err := p.ConsumeMetrics(t.Context(), metrics(t, push("a"), silent)); err != nil {
		t.Fatal(err)
	}
	if len(f.pushes) != 2 || f.pushes[0].Node != "a" || f.pushes[1].Health.Cohort != 7 || f.err != nil {
		t.Errorf("%+v %v", f.pushes, f.err)
	}
	all := sink.AllMetrics()
	if len(all) != 1 || !slices.EqualFunc(names(all[0]), [][]string{{"ingero.node.health_score"}}, slices.Equal) {
		t.Errorf("%q", names(all[0]))
	}
	sink.Reset()
	if err := p.ConsumeMetrics(t.Context(), metrics(t, silent)); err != nil || len(sink.AllMetrics()) != 0 {
		t.Errorf("nothing is left: %v, %d", err, len(sink.AllMetrics()))
	}
}

func TestOtherMetricsPass(t *testing.T) {
	f, sink := &fakeFleet{}, &consumertest.MetricsSink{}
	p := started(t, f, sink)
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetName("cpu")
	if err := p.ConsumeMetrics(t.Context(), md); err != nil || len(f.pushes) != 0 || len(sink.AllMetrics()) != 1 {
		t.Errorf("%v, %d pushes, %d", err, len(f.pushes), len(sink.AllMetrics()))
	}
	busy := errors.New("busy")
	if err := started(t, f, consumertest.NewErr(busy)).ConsumeMetrics(t.Context(), md); !errors.Is(err, busy) {
		t.Errorf("%v", err)
	}
}

func TestRefusedPushes(t *testing.T) {
	f, sink := &fakeFleet{refuse: []int{0}, why: "full"}, &consumertest.MetricsSink{}
	p := started(t, f, sink)
	err := p.ConsumeMetrics(t.Context(), metrics(t, push("a")))
	if s, ok := status.FromError(err); !ok || s.Code() != codes.InvalidArgument || s.Message() != "full" || len(sink.AllMetrics()) != 0 {
		t.Errorf("all of a request: %v, %d", err, len(sink.AllMetrics()))
	}
	bad := metrics(t, push("a"), push("b"), push("c"))
	bad.ResourceMetrics().At(1).Resource().Attributes().Remove("ingero.node.id")
	if err := p.ConsumeMetrics(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	e, ok := errors.AsType[*wire.Error](f.err)
	if !ok || e.Fault != wire.Value || e.Field != "ingero.node.id" || len(f.pushes) != 2 {
		t.Errorf("%v, %d pushes", f.err, len(f.pushes))
	}
	md := sink.AllMetrics()[0]
	node, _ := md.ResourceMetrics().At(0).Resource().Attributes().Get("ingero.node.id")
	if md.ResourceMetrics().Len() != 1 || node.Str() != "c" {
		t.Errorf("%d resources, %q", md.ResourceMetrics().Len(), node.Str())
	}
}

func TestTooManyPushes(t *testing.T) {
	f := &fakeFleet{}
	p := started(t, f, consumertest.NewNop())
	md := metrics(t, slices.Repeat([]wire.Push{push("a")}, wire.MaxPushes+2)...)
	if err := p.ConsumeMetrics(t.Context(), md); err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*wire.Error](f.err); !ok || e.Fault != wire.Limit || len(f.pushes) != wire.MaxPushes {
		t.Errorf("%v, %d pushes", f.err, len(f.pushes))
	}
}

func TestNaNIsRefused(t *testing.T) {
	f := &fakeFleet{}
	p := started(t, f, consumertest.NewNop())
	md := metrics(t, push("a"))
	for _, m := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		if m.Name() == "ingero.node.health_score" {
			m.Gauge().DataPoints().At(0).SetDoubleValue(math.NaN())
		}
	}
	err := p.ConsumeMetrics(t.Context(), md)
	e, ok := errors.AsType[*wire.Error](f.err)
	if status.Code(err) != codes.InvalidArgument || !ok || e.Fault != wire.Value {
		t.Errorf("%v, %v", err, f.err)
	}
}

func TestAnOutageBehindDoesNotConcernAgents(t *testing.T) {
	f := &fakeFleet{}
	p := started(t, f, consumertest.NewErr(errors.New("down")))
	if err := p.ConsumeMetrics(t.Context(), metrics(t, push("a"))); err != nil || len(f.pushes) != 1 {
		t.Errorf("%v, %d", err, len(f.pushes))
	}
}

func TestMetricsOfCohorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFleet{middles: []cohorts.Middle{
			{Cluster: "c", Cohort: "07", Ranks: 4, Live: 4, Quorum: 3, Known: 3, Lo: 0.1, Mid: 0.2, Hi: 0.4, Sigma: 0.01, Interval: 0.5},
			{Cluster: "c", Cohort: "08", Ranks: 4, Live: 1, Quorum: 3},
		}}
		sink := &consumertest.MetricsSink{}
		p, err := NewFactory().CreateMetrics(t.Context(), processortest.NewNopSettings(component.MustNewType("straggler")),
			defaultConfig(), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(t.Context(), host{threshold: f}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := sink.AllMetrics()
		if len(all) != 1 || all[0].ResourceMetrics().Len() != 1 {
			t.Fatalf("%d", len(all))
		}
		got := map[string]float64{}
		for _, m := range all[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			for _, d := range m.Gauge().DataPoints().All() {
				cohort, _ := d.Attributes().Get("ingero.cohort")
				got[m.Name()+" "+cohort.Str()] = d.DoubleValue()
			}
		}
		want := map[string]float64{
			"ranks 07": 4, "live 07": 4, "quorum 07": 3, "quorum_met 07": 1, "degraded 07": 0, "slow 07": 0, "step 07": 0.5,
			"known 07": 3, "lower 07": 0.1, "median 07": 0.2, "upper 07": 0.4, "sigma 07": 0.01, "threshold 07": health.SlowScore(),
			"ranks 08": 4, "live 08": 1, "quorum 08": 3, "quorum_met 08": 0, "degraded 08": 0, "slow 08": 0,
		}
		for name, v := range want {
			if have, ok := got["ingero.fleet.cohort."+name]; !ok || have != v {
				t.Errorf("%s: %v, %t; want %v", name, have, ok, v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v", got)
		}
	})
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                               "",
		"interval: 0":                      "",
		"{extension: threshold/b}":         "",
		"interval: 10ms":                   "interval: is 10ms; 1s at least, or 0 for no metrics of cohorts",
		"max_cohorts: 0":                   "max_cohorts: is 0; from 1 to 10000",
		"max_cohorts: 1000000":             "max_cohorts: is 1000000; from 1 to 10000",
		"{extension: threshold, other: 1}": "has invalid keys: other",
	} {
		r, err := confmap.NewRetrievedFromYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		conf, err := r.AsConf()
		if err != nil {
			t.Fatal(err)
		}
		c := defaultConfig()
		if err = conf.Unmarshal(c); err == nil {
			err = confmap.Validate(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if err := confmap.Validate(&Config{MaxCohorts: 1}); err == nil || !strings.Contains(err.Error(), "extension: is missing") {
		t.Errorf("%v", err)
	}
}

func TestStartNeedsTheExtension(t *testing.T) {
	for want, h := range map[string]component.Host{
		`there is no extension "threshold"`:          componenttest.NewNopHost(),
		`the extension "threshold" keeps no cohorts`: host{threshold: struct{ component.Component }{}},
	} {
		p, err := NewFactory().CreateMetrics(t.Context(), processortest.NewNopSettings(component.MustNewType("straggler")),
			defaultConfig(), consumertest.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// However many requests are refused or cannot be passed on, the log says it once in a while.
func TestFewLinesAboutManyRequests(t *testing.T) {
	core, logged := observer.New(zap.DebugLevel)
	set := processortest.NewNopSettings(component.MustNewType("straggler"))
	set.Logger = zap.New(core)
	p, err := NewFactory().CreateMetrics(t.Context(), set, defaultConfig(), consumertest.NewErr(errors.New("away")))
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeFleet{}
	if err := p.Start(t.Context(), host{threshold: f}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Shutdown(context.Background()) }()
	for range 1000 {
		f.refuse, f.why = []int{0}, "full"
		_ = p.ConsumeMetrics(t.Context(), metrics(t, push("a")))
		f.refuse, f.why = nil, ""
		_ = p.ConsumeMetrics(t.Context(), metrics(t, push("a")))
	}
	for _, kind := range []string{"pushes are not accepted", "metrics are not forwarded"} {
		// One line in 10 s; a machine under load may take longer.
		if n := logged.FilterMessage(kind).Len(); n < 1 || n > 10 {
			t.Errorf("%q is there %d times", kind, n)
		}
	}
}
