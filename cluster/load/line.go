package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// line is a connection and the nodes that push over it.
type line struct {
	connection connection
	nodes      []int
	phase      float64 // offset of its pushes, as a share of the time between two
	random     *rand.Rand
	ranks      []health.RankPush
	buffer     []byte
}

func newLine(c connection, i uint64) *line {
	random := rand.New(rand.NewPCG(1, i))
	return &line{connection: c, phase: random.Float64(), random: random}
}

// What nodes push: steps of 0.2 s in buckets of half a second, with noise of 3 %.
const (
	own   = 0.2 // seconds
	noise = 0.03
	// bucketsKnown is how many buckets the echoed middle is behind the newest one.
	bucketsKnown = 2
	cluster      = "load"
)

func name(node int) string { return fmt.Sprintf("node-%06d.load.example", node) }

func cohortOf(o *Options, node int) uint64 { return uint64(node/o.Cohort) + 1 }

// body returns the request with a push of a node. It is valid until the next call.
func (l *line) body(o *Options, node int, now time.Duration) ([]byte, error) {
	in := min(o.Cohort, o.Nodes-node/o.Cohort*o.Cohort) // nodes in its cohort
	newest := uint64(now / health.BucketTime)
	l.ranks = l.ranks[:0]
	middle := float32(math.Log(own))
	for i := range o.Ranks {
		r := health.RankPush{
			Rank: int32(node%o.Cohort*o.Ranks + i), Newest: newest, Sigma: noise, Spread: noise, Offset: 0.001, Interval: own,
			Own: own, Wait: own / 10, State: health.Active, Mode: health.ModeFleet, Measured: health.MeasuredHost,
		}
		for k := range r.X {
			r.X[k] = middle + noise*float32(l.random.Float64()-0.5)
		}
		l.ranks = append(l.ranks, r)
	}
	n := name(node)
	p := wire.Push{Node: n, Cluster: cluster, WorldSize: int32(in * o.Ranks), Health: health.Push{
		Cohort: cohortOf(o, node), Node: wire.Node(n), Sent: now, Size: int32(in * o.Ranks), Width: 2, Merge: 1,
		Ranks: l.ranks, Echo: health.Summary{
			Position: newest - bucketsKnown, N: uint32(in * o.Ranks), Lo: middle, Mid: middle, Hi: middle, Sigma: noise,
		},
	}}
	var err error
	l.buffer, err = wire.AppendRequest(l.buffer[:0], &p)
	return l.buffer, err
}
