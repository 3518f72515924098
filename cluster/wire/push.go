package wire

import (
	"math"

	"github.com/ingero-io/ingero/cluster/health"
)

// Push is what a node says at once, of its ranks in one cohort.
type Push struct {
	// Node and Cluster are names. A push without a node is refused; the cluster may be empty.
	Node, Cluster string
	// WorldSize is how many ranks the job has, 0: not said.
	WorldSize int32
	// Health is what is decided by. Without ranks there is none: it is a push of an earlier agent.
	Health health.Push
	// Gauges are what dashboards show, of some ranks, or of the whole node. Most pushes have none.
	Gauges []Gauges
}

// Gauges are the published numbers, of a rank or of a node. Nothing is decided by them.
type Gauges struct {
	Rank  int32  // health.NoRank: of the node
	Group string // of a control group: the first 16 hex digits of the SHA-256 of its path. Earlier agents
	State string // "active", "calibrating" or "idle"; empty: not said
	Mode  string // of detection, see health.Mode; empty: not said
	Score health.Score
	// Warning: it may become a straggler. Reachable: the agent reaches its fleet. Nil: not said.
	Warning, Reachable *bool
	Alarm              *Alarm // nil: not said
	// GPU is the model, GPUs how many there are; empty and 0: not said.
	GPU  string
	GPUs int32
}

// Alarm is the published event of a straggler.
type Alarm struct {
	Active           bool
	Threshold, Score float64 // NaN: not said
	Signal           string  // what it was found by
	ID               string  // a UUID, the same until it ends
}

// NoGauges are gauges of which nothing is said.
func NoGauges(rank int32) Gauges {
	nan := math.NaN()
	return Gauges{Rank: rank, Score: health.Score{Health: nan, Throughput: nan, Compute: nan, Memory: nan, CPU: nan}}
}

// PublishedState is what earlier agents call a state: a suspect or straggler is active.
func PublishedState(s health.State) string {
	switch s {
	case health.Calibrating, health.Idle:
		return s.String()
	}
	return health.Active.String()
}

// check checks all but Health's own.
func (p *Push) check() error {
	if p.Node == "" {
		return wrong(Value, attrNode, "is missing")
	}
	if err := checkName(attrNode, p.Node); err != nil {
		return err
	}
	if err := checkName(attrCluster, p.Cluster); err != nil {
		return err
	}
	if p.WorldSize < 0 || p.WorldSize > maxWorld {
		return wrong(Value, attrWorld, "is %d; from 0 to %d", p.WorldSize, maxWorld)
	}
	if len(p.Gauges) > maxGauges {
		return wrong(Limit, "gauges", "are of %d ranks and groups; %d at most", len(p.Gauges), maxGauges)
	}
	for i := range p.Gauges {
		if err := p.Gauges[i].check(); err != nil {
			return err
		}
	}
	if p.WorldSize == 0 {
		return nil
	}
	s := scanner{list: "ranks"}
	for i := range p.Health.Ranks {
		if s.index = i; p.Health.Ranks[i].Rank >= p.WorldSize {
			s.fail(Value, "rank", "is %d of a world of %d", p.Health.Ranks[i].Rank, p.WorldSize)
		}
	}
	return s.err
}

func (g *Gauges) check() error {
	if g.Rank < health.NoRank || g.Rank >= maxWorld {
		return wrong(Value, attrRank, "is %d; from 0 to %d", g.Rank, maxWorld-1)
	}
	for i, v := range ratios(&g.Score) {
		if !math.IsNaN(*v) && !(*v >= 0 && *v <= 1) {
			return wrong(Value, ratioMetrics[i], "is %v; from 0 to 1", *v)
		}
	}
	if g.GPUs < 0 || g.GPUs > 1024 {
		return wrong(Value, attrGPUs, "is %d; from 0 to 1024", g.GPUs)
	}
	names := [...][2]string{{attrGroup, g.Group}, {attrState, g.State}, {attrMode, g.Mode}, {attrGPU, g.GPU}}
	for _, n := range names {
		if err := checkName(n[0], n[1]); err != nil {
			return err
		}
	}
	if a := g.Alarm; a != nil {
		if err := checkName(attrSignal, a.Signal); err != nil {
			return err
		}
		return checkName(attrEvent, a.ID)
	}
	return nil
}
