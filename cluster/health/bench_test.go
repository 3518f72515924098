package health_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// BenchmarkPush measures a push of a node of 8 ranks with 4 new buckets each, in a cohort of 1,000 ranks.
func BenchmarkPush(b *testing.B) {
	const nodes = 125
	f := health.NewFleet()
	p := &health.Push{Cohort: 1, Size: nodes * 8, Width: 3, Merge: 1, Ranks: make([]health.RankPush, 8)}
	b.ReportAllocs()
	quorum := false
	i := 0
	for b.Loop() {
		tick, node := i/nodes, i%nodes
		now := time.Duration(tick+1) * health.PushEvery
		p.Node, p.Sent = uint64(node+1), now
		for k := range p.Ranks {
			p.Ranks[k] = health.RankPush{
				Rank: int32(node*8 + k), Newest: uint64(100 + 4*tick), Interval: 0.2, Sigma: 0.01,
				Mode: health.ModeFleet, State: health.Active,
			}
			for x := range p.Ranks[k].X {
				p.Ranks[k].X[x] = float32((node*31+k*7+x)%100) / 1000
			}
		}
		quorum = f.Push(now, p).Quorum()
		i++
	}
	if i > 2*nodes && !quorum {
		b.Error("no quorum")
	}
}
