package stragglerprocessor

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// usual returns a typical push: two ranks, without gauges.
func usual() wire.Push {
	p := wire.Push{Node: "n", Cluster: "c", WorldSize: 8, Health: health.Push{
		Cohort: 7, Node: wire.Node("n"), Sent: time.Second, Size: 8, Width: 1, Merge: 1,
	}}
	for rank := range int32(2) {
		r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.5, Sigma: 0.01, State: health.Active}
		for i := range r.X {
			r.X[i] = float32(math.Log(0.1))
		}
		p.Health.Ranks = append(p.Health.Ranks, r)
	}
	return p
}

func resourceOf(t *testing.T, p wire.Push) pmetric.ResourceMetrics {
	t.Helper()
	b, err := wire.AppendRequest(nil, &p)
	require.NoError(t, err)
	var u pmetric.ProtoUnmarshaler
	md, err := u.UnmarshalMetrics(b)
	require.NoError(t, err)
	return md.ResourceMetrics().At(0)
}

// direct reads the same as package wire, and finds the same faults.
func TestWhatIsReadDirectly(t *testing.T) {
	gauges := usual()
	gauges.Gauges = []wire.Gauges{wire.NoGauges(0)}
	gauges.Gauges[0].Score.Health = 0.5
	noWorld := usual()
	noWorld.WorldSize = 0
	data := func(rm pmetric.ResourceMetrics) pcommon.Map {
		return rm.ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(0).Attributes()
	}
	for name, c := range map[string]struct {
		push   wire.Push
		change func(rm pmetric.ResourceMetrics)
		direct bool
	}{
		"usual":         {usual(), nil, true},
		"no world size": {noWorld, nil, true},
		"gauges":        {gauges, nil, false},
		"no node":       {usual(), func(rm pmetric.ResourceMetrics) { rm.Resource().Attributes().Remove(wire.NodeAttribute) }, true},
		"long name": {usual(), func(rm pmetric.ResourceMetrics) {
			rm.Resource().Attributes().PutStr(wire.ClusterAttribute, strings.Repeat("c", 300))
		}, true},
		"a node that is a number": {usual(), func(rm pmetric.ResourceMetrics) {
			rm.Resource().Attributes().PutInt(wire.NodeAttribute, 1)
		}, false},
		"a world of 2^40":   {usual(), func(rm pmetric.ResourceMetrics) { rm.Resource().Attributes().PutInt(wire.WorldAttribute, 1<<40) }, false},
		"another attribute": {usual(), func(rm pmetric.ResourceMetrics) { rm.Resource().Attributes().PutStr("k", "v") }, false},
		"truncated": {usual(), func(rm pmetric.ResourceMetrics) {
			v, _ := data(rm).Get(wire.DataAttribute)
			v.Bytes().FromRaw(v.Bytes().AsRaw()[:20])
		}, true},
		"data that is a text": {usual(), func(rm pmetric.ResourceMetrics) { data(rm).PutStr(wire.DataAttribute, "x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			rm := resourceOf(t, c.push)
			if c.change != nil {
				c.change(rm)
			}
			md := pmetric.NewMetrics()
			rm.CopyTo(md.ResourceMetrics().AppendEmpty())
			var m pmetric.ProtoMarshaler
			body, err := m.MarshalMetrics(md)
			require.NoError(t, err)
			want, wantErr := wire.ParseRequest(body)
			_, ok, _ := direct(rm)
			assert.Equal(t, c.direct, ok)
			got, err := parse(rm)
			assert.Equal(t, wantErr, err)
			if wantErr == nil {
				assert.Equal(t, printable(want), printable(got))
			}
		})
	}
}

// printable writes NaN as text, so that pushes can be compared.
func printable(pushes []wire.Push) (out []string) {
	for i := range pushes {
		b, err := wire.AppendRequest(nil, &pushes[i])
		if err != nil {
			return []string{err.Error()}
		}
		out = append(out, string(b))
	}
	return out
}
