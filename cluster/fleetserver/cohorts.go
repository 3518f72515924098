package fleetserver

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// cohorts answers what the fleet knows, of one cluster if the query names it.
func (s *Server) cohorts(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(s.Cohorts(r.URL.Query().Get("cluster_id")))
	if err != nil {
		s.options.Logger.Error("the list of cohorts cannot be written", "err", err)
		http.Error(w, "the list cannot be written", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", wire.TypeJSON)
	_, _ = w.Write(body) // the peer has gone
}

// Cohorts is what the fleet knows, of one cluster if it has a name.
func (s *Server) Cohorts(cluster string) wire.CohortList {
	now := s.options.Now()
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
			Cluster: name, Cohort: fmt.Sprintf("%016x", c.Cohort), Ranks: c.Size, Live: c.Live, StepMS: milli(c.Interval),
			Degraded: c.Degraded, Slow: c.Slow, Members: make([]wire.CohortRank, 0, len(c.Ranks)),
		}
		for k := range c.Ranks {
			out.Members = append(out.Members, s.member(&c.Ranks[k], now))
		}
		l.Cohorts = append(l.Cohorts, out)
	}
	return l
}

func (s *Server) member(m *health.MemberStatus, now time.Duration) wire.CohortRank {
	return wire.CohortRank{
		Rank: m.Rank, Node: s.nodes[m.Node].name, State: m.State.String(), OwnMS: milli(m.Own), PeerMS: milli(m.Peer),
		AgeS: max(0, now-m.Seen).Round(time.Millisecond).Seconds(), Missing: m.Missing, Hung: m.Hung,
	}
}

// milli is seconds in milliseconds, to the microsecond.
func milli(seconds float64) float64 { return math.Round(1e6*seconds) / 1e3 }
