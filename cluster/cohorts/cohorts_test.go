package cohorts_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// push returns a push of a node with one of four ranks. own is its own work per step in every bucket, in seconds.
func push(cluster string, rank int32, own float64) wire.Push {
	name := "node-" + string('a'+rank)
	r := health.RankPush{Rank: rank, Newest: 9, Interval: 0.5, Sigma: 0.01, Mode: health.ModeFleet, State: health.Active}
	for i := range r.X {
		r.X[i] = float32(math.Log(own))
	}
	return wire.Push{Node: name, Cluster: cluster, Health: health.Push{
		Cohort: 7, Node: wire.Node(name), Sent: time.Second, Size: 4, Width: 1, Merge: 1, Ranks: []health.RankPush{r},
	}}
}

// take passes pushes one by one and returns the last answer.
func take(t *testing.T, s *cohorts.State, pushes ...wire.Push) (a wire.Answer) {
	t.Helper()
	for _, p := range pushes {
		a = wire.Answer{}
		taken := s.Take(cohorts.Request{Now: time.Hour, Pushes: []wire.Push{p}}, func(got wire.Answer) error {
			a = got
			return nil
		})
		if taken.Failed != nil {
			t.Error(taken.Failed)
		}
	}
	return a
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestMiddleOfThreeOfFour(t *testing.T) {
	s := cohorts.New()
	take(t, s, push("c", 0, 0.1), push("c", 1, 0.2))
	list, whole := s.Middles(time.Hour, 10)
	if len(list) != 1 || !whole || list[0].Known != 0 || list[0].Quorum != 3 || list[0].Live != 2 {
		t.Errorf("without a quorum: %+v %t", list, whole)
	}
	a := take(t, s, push("c", 2, 0.4))
	if !a.Quorum || !near(a.Threshold, 1/1.1) {
		t.Errorf("%+v", a)
	}
	list, _ = s.Middles(time.Hour, 10)
	m := list[0]
	if m.Cluster != "c" || m.Cohort != "0000000000000007" || m.Ranks != 4 || m.Known != 3 || !near(m.Lo, 0.1) ||
		!near(m.Mid, 0.2) || !near(m.Hi, 0.4) || !near(m.Sigma, 0.01) {
		t.Errorf("%+v", m)
	}
	if list, whole := s.Middles(time.Hour, 0); len(list) != 0 || whole {
		t.Errorf("of none at most: %+v %t", list, whole)
	}
}

func TestOtherClustersAreRefused(t *testing.T) {
	s := cohorts.New("east", "west")
	p, none := push("north", 0, 0.1), func(wire.Answer) error { t.Error("an answer"); return nil }
	if got := s.Take(cohorts.Request{Now: time.Hour, Pushes: []wire.Push{p}}, none); got.Rejected != 1 || !slices.Equal(got.Refused, []int{0}) || got.Why != "pushes of this cluster are not accepted" {
		t.Errorf("%+v", got)
	}
	if a := take(t, s, push("west", 0, 0.1)); a.Reply == nil {
		t.Errorf("%+v", a)
	}
	if c := s.Counts(); c.Foreign != 1 || c.Pushes != 1 || c.Cohorts != 1 {
		t.Errorf("%+v", c)
	}
}

func TestClusters(t *testing.T) {
	rank := func(node, state string, own, peer float64) wire.CohortRank {
		return wire.CohortRank{Node: node, State: state, OwnMS: own, PeerMS: peer}
	}
	silent := rank("n3", "active", 10, 10)
	silent.Missing = true
	l := wire.CohortList{Cohorts: []wire.Cohorts{
		{Cluster: "west", Ranks: 4, Live: 3, Members: []wire.CohortRank{
			rank("n1", "straggler", 20, 10), rank("n1", "active", 10, 20), rank("n2", "suspect", 10, 8), silent,
		}},
		{Cluster: "east", Ranks: 4, Live: 2, Members: []wire.CohortRank{rank("n1", "active", 0, 0)}},
		{Cluster: "east", Ranks: 4, Live: 4},
	}}
	// The scores are 0.5, 1, 0.8 and 1.
	want := []cohorts.Cluster{
		{Name: "east", Nodes: 1, Ranks: 1, Low: true},
		{Name: "west", Nodes: 2, Ranks: 3, Stragglers: 1, Suspects: 1, Scored: 4, Median: 0.9, MAD: 0.1},
	}
	got := cohorts.Clusters(&l)
	for i := range got {
		got[i].Median, got[i].MAD = math.Round(1e9*got[i].Median)/1e9, math.Round(1e9*got[i].MAD)/1e9
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
