package cohorts

import (
	"fmt"
	"math"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// List returns what the fleet knows; if cluster is not empty, of that cluster only.
func (s *State) List(now time.Duration, cluster string) wire.CohortList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, whole := s.fleet.Status(now, wire.MaxListed)
	l := wire.CohortList{Cohorts: []wire.Cohorts{}, Whole: whole}
	for i := range list {
		c := &list[i]
		name := s.clusters[c.Cohort].name
		if cluster != "" && cluster != name {
			continue
		}
		out := wire.Cohorts{
			Cluster: name, Cohort: number(c.Cohort), Ranks: c.Size, Live: c.Live, StepMS: milli(c.Interval),
			Degraded: c.Degraded, Slow: c.Slow, Members: make([]wire.CohortRank, 0, len(c.Ranks)),
		}
		for k := range c.Ranks {
			out.Members = append(out.Members, s.member(&c.Ranks[k], now))
		}
		l.Cohorts = append(l.Cohorts, out)
	}
	return l
}

func (s *State) member(m *health.MemberStatus, now time.Duration) wire.CohortRank {
	return wire.CohortRank{
		Rank: m.Rank, Node: s.nodes[m.Node].name, State: m.State.String(), OwnMS: milli(m.Own), PeerMS: milli(m.Peer),
		AgeS: max(0, now-m.Seen).Round(time.Millisecond).Seconds(), Missing: m.Missing, Hung: m.Hung,
	}
}

// Middle is the newest bucket of a cohort that has a quorum.
type Middle struct {
	Cluster string
	Cohort  string // 16 hexadecimal digits
	// Ranks is the cohort's size, Live how many of its ranks pushed lately.
	Ranks, Live int
	// Quorum is how many ranks a bucket needs.
	Quorum   int
	Interval float64 // seconds between steps; 0: not known
	Degraded bool    // many ranks turned suspect at once
	Slow     bool    // most ranks are slower than they were
	// Known is how many ranks the bucket has. 0: there is no such bucket, and what follows is 0.
	Known int
	// Lo, Mid and Hi are the order statistics around the middle, in seconds of own work a step.
	Lo, Mid, Hi float64
	Sigma       float64 // median of the ranks' noise (log)
}

// Middles returns the middles of all cohorts, by their numbers. whole is false if there are more than most, or more
// ranks than are listed.
func (s *State) Middles(now time.Duration, most int) (list []Middle, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, whole := s.fleet.Status(now, wire.MaxListed)
	if len(all) > most {
		all, whole = all[:most], false
	}
	for i := range all {
		c := &all[i]
		m := Middle{
			Cluster: s.clusters[c.Cohort].name, Cohort: number(c.Cohort), Ranks: c.Size, Live: c.Live,
			Quorum: health.Quorum(c.Size), Interval: c.Interval, Degraded: c.Degraded, Slow: c.Slow,
		}
		if b := &c.Middle; b.N > 0 {
			m.Known, m.Sigma = int(b.N), micro(float64(b.Sigma))
			m.Lo, m.Mid, m.Hi = seconds(b.Lo), seconds(b.Mid), seconds(b.Hi)
		}
		list = append(list, m)
	}
	return list, whole
}

func number(cohort uint64) string { return fmt.Sprintf("%016x", cohort) }

// seconds returns e to the x, rounded to a millionth.
func seconds(x float32) float64 { return micro(math.Exp(float64(x))) }

// micro rounds v to six decimals.
func micro(v float64) float64 { return math.Round(1e6*v) / 1e6 }

// milli converts seconds to milliseconds, rounded to the microsecond.
func milli(seconds float64) float64 { return math.Round(1e6*seconds) / 1e3 }
