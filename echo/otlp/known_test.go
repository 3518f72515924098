package otlp_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/echo/otlp"
	"github.com/ingero-io/ingero/echo/row"
)

// known returns options with a cache of series.
func known(bytes int) otlp.Options {
	o := options
	o.Known = otlp.NewKnown(bytes)
	return o
}

// ordered returns a node's resource, with its attributes always in the same order.
func ordered(t *testing.T) (pmetric.Metrics, pmetric.MetricSlice) {
	t.Helper()
	m, list := node(t)
	attrs := m.ResourceMetrics().At(0).Resource().Attributes()
	attrs.Clear()
	attrs.PutStr("ingero.cluster.id", "east")
	attrs.PutStr("ingero.node.id", "gpu-05")
	return m, list
}

// Any difference in what is sent makes another series, with the cache as without.
func TestKnownSeriesAreNotTakenForOthers(t *testing.T) {
	of := func(change func(pmetric.ResourceMetrics, pmetric.Metric, pcommon.Map)) pmetric.Metrics {
		m, list := node(t)
		p := gauge(t, list, map[string]any{"a": 1})
		p.SetIntValue(1)
		change(m.ResourceMetrics().At(0), list.At(0), p.Attributes())
		return m
	}
	attrs := func(set func(pcommon.Map)) pmetric.Metrics {
		return of(func(_ pmetric.ResourceMetrics, _ pmetric.Metric, a pcommon.Map) { set(a) })
	}
	metric := func(set func(pmetric.Metric)) pmetric.Metrics {
		return of(func(_ pmetric.ResourceMetrics, m pmetric.Metric, _ pcommon.Map) { set(m) })
	}
	list := []pmetric.Metrics{
		attrs(func(pcommon.Map) {}),
		attrs(func(a pcommon.Map) { a.PutStr("a", "1") }),
		attrs(func(a pcommon.Map) { a.PutInt("a", 2) }),
		attrs(func(a pcommon.Map) { a.PutDouble("a", 1) }),
		attrs(func(a pcommon.Map) { a.PutBool("a", true) }),
		attrs(func(a pcommon.Map) { a.PutBool("a", false) }),
		attrs(func(a pcommon.Map) { a.PutEmpty("a") }),
		attrs(func(a pcommon.Map) { a.PutEmptyBytes("a").FromRaw([]byte("1")) }),
		attrs(func(a pcommon.Map) { a.PutEmptyBytes("a") }),
		attrs(func(a pcommon.Map) { a.PutEmptyMap("a") }),
		attrs(func(a pcommon.Map) { a.PutEmptyMap("a").PutEmptyMap("b") }),
		attrs(func(a pcommon.Map) { a.PutEmptySlice("a") }),
		attrs(func(a pcommon.Map) { a.PutEmptySlice("a").AppendEmpty().SetInt(1) }),
		attrs(func(a pcommon.Map) { a.PutInt("b", 1) }),
		attrs(func(a pcommon.Map) { a.Clear() }),
		metric(func(m pmetric.Metric) { m.SetUnit("s") }),
		metric(func(m pmetric.Metric) { m.SetName("other") }),
		metric(func(m pmetric.Metric) {
			points := pmetric.NewNumberDataPointSlice()
			m.Gauge().DataPoints().MoveAndAppendTo(points)
			points.MoveAndAppendTo(m.SetEmptySum().DataPoints())
		}),
		of(func(r pmetric.ResourceMetrics, _ pmetric.Metric, _ pcommon.Map) {
			r.Resource().Attributes().PutInt("b", 1)
		}),
		of(func(r pmetric.ResourceMetrics, _ pmetric.Metric, _ pcommon.Map) { r.Resource().Attributes().Clear() }),
		of(func(r pmetric.ResourceMetrics, _ pmetric.Metric, _ pcommon.Map) {
			r.ScopeMetrics().At(0).Scope().SetName("s")
		}),
	}
	o := known(1 << 20)
	ids := map[row.ID]int{}
	for round := range 3 {
		for i, m := range list {
			got, want := otlp.Metrics(m, o), otlp.Metrics(m, options)
			if diff := cmp.Diff(want.Rows, got.Rows, cmpopts.IgnoreUnexported(row.Series{})); diff != "" || len(got.Rows) != 1 {
				t.Errorf("round %d, %d (-without +with what is known):\n%s", round, i, diff)
				continue
			}
			id := got.Rows[0].ID()
			if other, ok := ids[id]; ok && other != i {
				t.Errorf("%d and %d are one series", i, other)
			}
			ids[id] = i
		}
	}
	other := o
	other.Cluster = "another"
	if got := otlp.Metrics(list[19], other); got.Rows[0].Cluster != "another" {
		t.Errorf("the cluster of another request: %q", got.Rows[0].Cluster)
	}
}

// Repeated points share their series; with attributes in another order it has the same ID.
func TestPointsShareTheirSeries(t *testing.T) {
	o := known(1 << 20)
	make := func(names ...string) *row.Series {
		m, list := ordered(t)
		p := gauge(t, list, nil)
		for _, n := range names {
			p.Attributes().PutStr(n, n)
		}
		return otlp.Metrics(m, o).Rows[0].Series
	}
	a := make("a", "b")
	if b := make("a", "b"); a != b {
		t.Error("what came again has a series of its own")
	}
	if c := make("b", "a"); a.ID() != c.ID() {
		t.Error("another order is another series")
	}
}

// What is refused is refused again, with the same text.
func TestWhatIsRefusedIsNotKnown(t *testing.T) {
	o := known(1 << 20)
	m, list := node(t)
	gauge(t, list, map[string]any{"a": strings.Repeat("x", otlp.MaxText)})
	deep := map[string]any{}
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	gauge(t, list, deep)
	gauge(t, list, map[string]any{"node_id": strings.Repeat("x", otlp.MaxName+1)})
	first := otlp.Metrics(m, o)
	if again := otlp.Metrics(m, o); first.Refused != 3 || again.Refused != 3 || first.Why != again.Why {
		t.Errorf("%d, %s; again: %d, %s", first.Refused, first.Why, again.Refused, again.Why)
	}
}

// The cache is bounded. What it drops is made again, equal to before.
func TestKnownForgets(t *testing.T) {
	o := known(64 << 10)
	request := func(i int) pmetric.Metrics {
		m, list := ordered(t)
		gauge(t, list, map[string]any{"i": i}).SetIntValue(1)
		return m
	}
	first := otlp.Metrics(request(0), o).Rows[0].Series
	for i := range 1000 {
		otlp.Metrics(request(i+1), o)
		otlp.Metrics(request(1), o)
	}
	if again := otlp.Metrics(request(0), o).Rows[0].Series; again == first || again.ID() != first.ID() {
		t.Errorf("it is still known: %v; the same ID: %v", again == first, again.ID() == first.ID())
	}
	used := otlp.Metrics(request(1), o).Rows[0].Series
	if used != otlp.Metrics(request(1), o).Rows[0].Series {
		t.Error("what is used all the time is forgotten")
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	o := known(32 << 10)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				m, list := node(t)
				for rank := range 8 {
					gauge(t, list, map[string]any{"rank": rank, "i": i % 50})
				}
				for rank, r := range otlp.Metrics(m, o).Rows {
					if want := fmt.Sprintf(`{"i":%d,"rank":%d}`, i%50, rank); r.Attrs != want || r.Rank != int32(rank) {
						t.Errorf("%s of rank %d; want %s", r.Attrs, r.Rank, want)
					}
				}
			}
		})
	}
	all.Wait()
}
