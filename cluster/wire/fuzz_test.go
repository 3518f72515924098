package wire_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Whatever is accepted can be written again, and is the same then.

func FuzzRequest(f *testing.F) {
	f.Add(request(f, usual()))
	f.Add(request(f, full()))
	f.Add(export(f, earlier([]*commonpb.KeyValue{text("ingero.node.id", "n"), integer("ingero.node.rank", 3)},
		gauge("ingero.health.score", 0.5, text("ingero.node.state", "idle")))))
	f.Fuzz(func(t *testing.T, b []byte) {
		pushes, err := wire.ParseRequest(b)
		if err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
		if len(b) > 4<<10 { // comparing would take most of the time
			return
		}
		for _, p := range pushes {
			if p.Health.Sent == 0 {
				p.Health.Sent = 1 // the time of points is not read
			}
			got := one(t, request(t, p))
			if len(p.Health.Ranks) == 0 {
				p.Health, got.Health = health.Push{}, health.Push{}
			}
			dropEmpty(&p)
			less := cmpopts.SortSlices(func(a, b wire.Gauges) bool {
				return a.Rank < b.Rank || a.Rank == b.Rank && a.Group < b.Group
			})
			if d := cmp.Diff(p, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), less); d != "" {
				t.Error(d)
			}
		}
	})
}

// dropEmpty removes gauges without values: no point is written for them.
func dropEmpty(p *wire.Push) {
	all := p.Gauges[:0]
	for _, g := range p.Gauges {
		s := g.Score
		said := false
		for _, v := range []float64{s.Health, s.Throughput, s.Compute, s.Memory, s.CPU} {
			said = said || !math.IsNaN(v)
		}
		if said || g.Warning != nil || g.Reachable != nil || g.Alarm != nil || g.Mode != "" || g.GPU != "" || g.GPUs != 0 {
			all = append(all, g)
		}
	}
	p.Gauges = all
}

func FuzzData(f *testing.F) {
	p := usual()
	b, err := wire.AppendData(nil, &p.Health)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := wire.ParseData(b)
		if err != nil {
			return
		}
		again, err := wire.AppendData(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.ParseData(again)
		if d := cmp.Diff(p, got, cmpopts.EquateNaNs()); err != nil || d != "" {
			t.Error(err, d)
		}
		fleet := health.NewFleet()
		p.Node = 1
		fleet.Push(1, &p)
		fleet.Sweep(2, nil)
	})
}

func FuzzReply(f *testing.F) {
	text, err := wire.FormatReply(sound())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, "0.9", "true")
	f.Add("Ag", "NaN", "false")
	f.Fuzz(func(t *testing.T, text, threshold, quorum string) {
		a, _ := wire.AnswerOfHTTP(map[string][]string{
			"X-Ingero-Reply": {text}, "X-Ingero-Threshold": {threshold}, "X-Ingero-Quorum-Met": {quorum},
		})
		for name, there := range forms {
			got, err := there(a)
			if d := cmp.Diff(a, got, cmpopts.EquateNaNs()); err != nil || d != "" {
				t.Error(name, err, d)
			}
		}
		if a.Reply != nil {
			health.NewRank(health.RankOptions{}).Take(1, a.Reply, nil)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(wire.AppendResponse(nil, 3, "why"))
	f.Add(wire.AppendStatus(nil, "why\n\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if why := wire.ParseStatus(b); why != wire.ParseStatus(wire.AppendStatus(nil, why)) {
			t.Errorf("%q", why)
		}
		rejected, why, err := wire.ParseResponse(b)
		if err != nil {
			return
		}
		again, said, err := wire.ParseResponse(wire.AppendResponse(nil, rejected, why))
		if err != nil || again != rejected || said != why || len(why) > 1<<10 {
			t.Errorf("%d %q, %d %q, %v", rejected, why, again, said, err)
		}
	})
}

func FuzzPoll(f *testing.F) {
	f.Add("cluster_id=c")
	f.Add("cluster_id=c&cohort=00000000000000ff&node=n&rank=3&state=suspect")
	f.Fuzz(func(t *testing.T, query string) {
		p, err := wire.ParsePoll(query)
		if err != nil {
			return
		}
		if got, err := wire.ParsePoll(p.Query()); err != nil || got != p {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	b, err := wire.FormatAnswer(wire.AnswerTo(sound()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"threshold":0.88,"quorum_met":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := wire.ParseAnswer(b)
		if err != nil {
			return
		}
		got, err := forms["JSON"](a)
		if d := cmp.Diff(a, got, cmpopts.EquateNaNs()); err != nil || d != "" {
			t.Error(err, d)
		}
	})
}

func FuzzEvent(f *testing.F) {
	for _, e := range verdicts() {
		f.Add(event(f, e))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := wire.ParseEvent(line)
		if err != nil {
			return
		}
		b, err := wire.AppendEvent(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(b, '\n') != len(b)-1 {
			t.Errorf("not a line: %q", b)
		}
		got, err := wire.ParseEvent(b)
		if d := cmp.Diff(e, got); err != nil || d != "" {
			t.Error(err, d)
		}
	})
}
