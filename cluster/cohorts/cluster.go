package cohorts

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event/stats"
)

// Cluster is what the metrics publish about a cluster. A rank's score is its peers' own work over its own, at most 1.
type Cluster struct {
	Name string
	// Nodes and Ranks count those that pushed lately.
	Nodes, Ranks int
	// Stragglers are slower than their peers, Suspects may be.
	Stragglers, Suspects int
	Scored               int     // ranks that have a score; 0: Median and MAD mean nothing
	Median, MAD          float64 // of the scores: the median, and the median absolute deviation
	// Low: a cohort has too few live ranks to be judged.
	Low bool
}

// Clusters adds up a list of cohorts, by the names of clusters.
func Clusters(l *wire.CohortList) []Cluster {
	by := map[string]*adding{}
	for i := range l.Cohorts {
		c := &l.Cohorts[i]
		a := by[c.Cluster]
		if a == nil {
			a = &adding{Cluster: Cluster{Name: c.Cluster}, nodes: map[string]bool{}}
			by[c.Cluster] = a
		}
		a.addCohorts(c)
	}
	out := make([]Cluster, 0, len(by))
	for _, a := range by {
		out = append(out, a.done())
	}
	slices.SortFunc(out, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// adding is a cluster while its cohorts are added up.
type adding struct {
	Cluster
	nodes  map[string]bool
	scores []float64
}

func (a *adding) addCohorts(c *wire.Cohorts) {
	if c.Live < health.Quorum(c.Ranks) {
		a.Low = true
	}
	for k := range c.Members {
		m := &c.Members[k]
		switch m.State {
		case health.Straggler.String():
			a.Stragglers++
		case health.Suspect.String():
			a.Suspects++
		}
		if !m.Missing {
			a.nodes[m.Node] = true
			a.Ranks++
		}
		if m.OwnMS > 0 && m.PeerMS > 0 {
			a.scores = append(a.scores, min(1, m.PeerMS/m.OwnMS))
		}
	}
}

func (a *adding) done() Cluster {
	a.Nodes, a.Scored = len(a.nodes), len(a.scores)
	if a.Scored > 0 {
		a.Median = stats.Middle(a.scores)
		for i, v := range a.scores {
			a.scores[i] = max(v-a.Median, a.Median-v)
		}
		a.MAD = stats.Middle(a.scores)
	}
	return a.Cluster
}
