package wire_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

var update = flag.Bool("update", false, "write the files that outputs are compared with")

// golden compares got with a file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

const sent = 1_790_000_000_123_456_789 * time.Nanosecond

// usual returns an agent's push of 8 ranks in the middle of a training job of 512.
func usual() wire.Push {
	p := wire.Push{Node: "gpu-node-0017.example", Cluster: "research-east-1", WorldSize: 512, Health: health.Push{
		Cohort: wire.Cohort("research-east-1", "llama-70b", "3", "NVIDIA H100 80GB HBM3"), Node: wire.Node("gpu-node-0017.example"),
		Sent: sent, Size: 64, Width: 3, Merge: 1, Reference: 8192,
		Echo: health.Summary{Position: 123_456, N: 64, Lo: -1.61, Mid: -1.609, Hi: -1.608, Sigma: 0.011},
	}}
	random := rand.New(rand.NewPCG(1, 2))
	some := func(v, spread float64) float32 { return float32(v + spread*random.NormFloat64()) }
	for i := range 8 {
		r := health.RankPush{
			Rank: int32(136 + i), Newest: 123_458 - uint64(i%3), Sigma: some(0.011, 0.001), Spread: some(0.012, 0.001),
			Offset: some(0, 0.005), G: some(2, 0.5), Excess: some(0, 0.01), Shift: some(0, 0.01), Interval: some(0.2, 0.01),
			Own: some(0.15, 0.01), Wait: some(0.05, 0.01), Amount: some(8192, 100),
			State: health.Active, Mode: health.ModeFleet, Measured: health.MeasuredDevice,
			Place: health.Place{Comm: 0xfeedbeef, Enqueued: 4_000_123, Completed: 4_000_121, Open: 12 * time.Millisecond},
		}
		for k := range r.X {
			r.X[k] = some(-1.609, 0.01)
		}
		p.Health.Ranks = append(p.Health.Ranks, r)
	}
	return p
}

// full returns the same with the published numbers.
func full() wire.Push {
	p := usual()
	yes, no := true, false
	node := wire.NoGauges(health.NoRank)
	node.Reachable, node.GPU, node.GPUs = &yes, "NVIDIA H100 80GB HBM3", 8
	for i, r := range p.Health.Ranks {
		g := wire.NoGauges(r.Rank)
		g.State, g.Mode, g.Warning = wire.PublishedState(r.State), r.Mode.String(), &no
		g.Score = health.Score{Health: 0.99, Throughput: 0.98, Compute: 0.75, Memory: 0.1, CPU: 0.5}
		g.Alarm = &wire.Alarm{Threshold: math.NaN(), Score: math.NaN()}
		if i == 3 {
			g.Score.Health, g.Warning = 0.83, &yes
			g.Alarm = &wire.Alarm{Active: true, Threshold: 0.9, Score: 0.83, Signal: "own_work", ID: "8c9d0c2e-3f1b-4a43-9d13-1f4a7c0f2b11"}
		}
		p.Gauges = append(p.Gauges, g)
	}
	p.Gauges = append(p.Gauges, node)
	return p
}

// anyPush returns a push with numbers of all kinds that an agent may send.
func anyPush(random *rand.Rand) health.Push {
	node := wire.Node("n")
	p := health.Push{
		Cohort: 1 + random.Uint64()/2, Node: node, Sent: 1 + time.Duration(random.Int64N(math.MaxInt64)),
		Size: 1 + random.Int32N(health.MaxCohortRanks), Width: random.Uint32N(health.MaxWidth + 1),
		Merge: 1 + random.Uint32N(health.MaxMerge), Reference: anyFloat(random), Free: random.IntN(2) == 0,
	}
	for range 1 + random.IntN(min(int(p.Size), health.MaxNodeRanks)) {
		r := health.RankPush{
			Rank: random.Int32N(1 << 20), Newest: random.Uint64N(health.MaxPosition),
			Sigma: anyFloat(random), Spread: anyFloat(random), Offset: anyFloat(random), G: anyFloat(random),
			Excess: anyFloat(random), Shift: anyFloat(random), Interval: anyFloat(random), Own: anyFloat(random),
			Wait: anyFloat(random), Amount: anyFloat(random), Exited: random.IntN(4) == 0,
			State: health.State(random.IntN(5)), Mode: health.Mode(random.IntN(5)), Measured: health.Measured(random.IntN(3)),
		}
		for i := range r.X {
			r.X[i] = anyFloat(random)
			if random.IntN(3) == 0 {
				r.X[i] = float32(math.NaN())
			}
		}
		if random.IntN(2) == 0 {
			r.Place = health.Place{
				Comm: 1 + random.Uint32()/2, Enqueued: random.Uint32(), Completed: random.Uint32(),
				Open: time.Duration(random.Int64N(math.MaxInt64)),
			}
		}
		p.Ranks = append(p.Ranks, r)
	}
	if random.IntN(2) == 0 {
		p.Echo = anySummary(random, random.Uint64N(health.MaxPosition))
	}
	return p
}

// anyFloat returns any finite number, often none.
func anyFloat(random *rand.Rand) float32 {
	for random.IntN(3) > 0 {
		if v := math.Float32frombits(random.Uint32()); v-v == 0 {
			return v
		}
	}
	return 0
}

func anySummary(random *rand.Rand, position uint64) health.Summary {
	lo := anyFloat(random)
	mid := max(lo, anyFloat(random))
	return health.Summary{
		Position: position, N: 1 + random.Uint32N(health.MaxCohortRanks),
		Lo: lo, Mid: mid, Hi: max(mid, anyFloat(random)), Sigma: anyFloat(random),
	}
}

func anyReply(random *rand.Rand) *health.Reply {
	r := &health.Reply{
		Width: 1 + random.Uint32N(health.MaxWidth), Merge: 1 + random.Uint32N(health.MaxMerge), Reference: anyFloat(random),
		Size: random.Uint32N(health.MaxCohortRanks + 1), Live: random.Uint32N(health.MaxCohortRanks + 1),
		Degraded: random.IntN(2) == 0,
	}
	at := random.Uint64N(1 << 61)
	for range random.IntN(health.Kept + 1) {
		at += 1 + random.Uint64N(1<<50)
		r.Buckets = append(r.Buckets, anySummary(random, at))
	}
	return r
}

// sound returns a reply as a fleet gives it.
func sound() *health.Reply {
	r := &health.Reply{Width: 3, Merge: 1, Reference: 8192, Size: 64, Live: 63}
	for i := range 3 {
		r.Buckets = append(r.Buckets, health.Summary{
			Position: 123_454 + uint64(i), N: 60 + uint32(i), Lo: -1.61, Mid: -1.609, Hi: -1.608, Sigma: 0.011,
		})
	}
	return r
}
