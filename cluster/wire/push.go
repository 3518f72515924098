package wire

import (
	"math"

	"github.com/ingero-io/ingero/cluster/health"
)

// Push is what a node sends at once about its ranks in one cohort.
type Push struct {
	// Node and Cluster are names. A push without a node is refused; the cluster may be empty.
	Node, Cluster string
	// WorldSize is how many ranks the job has, 0: not known.
	WorldSize int32
	// Health is the data that the fleet uses for decisions. It has no ranks in a push of an earlier agent.
	Health health.Push
	// Gauges are for dashboards, of some ranks or of the whole node. Most pushes have none.
	Gauges []Gauges
}

// Gauges are the published numbers of a rank or a node. Nothing is decided by them.
type Gauges struct {
	Rank  int32  // health.NoRank: of the node
	Group string // of earlier agents: first 16 hex digits of the SHA-256 of a control group's path
	State string // "active", "calibrating" or "idle"; empty: not known
	Mode  string // detection mode, see health.Mode; empty: not known
	Score health.Score
	// Warning: the rank may become a straggler. Reachable: the agent reaches its fleet. nil: not known.
	Warning, Reachable *bool
	Alarm              *Alarm // nil: none
	// GPU is the model, GPUs their number; empty and 0: not known.
	GPU  string
	GPUs int32
}

// Alarm is the published form of a straggler event.
type Alarm struct {
	Active           bool
	Threshold, Score float64 // NaN: not known
	Signal           string  // what the straggler was found by
	ID               string  // a UUID, the same until it ends
}

// NoGauges returns gauges without values.
func NoGauges(rank int32) Gauges {
	nan := math.NaN()
	return Gauges{Rank: rank, Score: health.Score{Health: nan, Throughput: nan, Compute: nan, Memory: nan, CPU: nan}}
}

// PublishedState returns earlier agents' name of a state: suspects and stragglers are active.
func PublishedState(s health.State) string {
	switch s {
	case health.Calibrating, health.Idle:
		return s.String()
	}
	return health.Active.String()
}

// check checks everything but Health itself.
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
