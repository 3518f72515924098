// Package cohorts is what a fleet keeps: the cohorts that agents push to, with the names of clusters and nodes,
// and counts of what came in. Servers of HTTP and gRPC and the collector hand it what they have read.
//
// It has no clock, no I/O and no goroutines. Times are since any moment that is the same for all calls; they
// must never go back.
package cohorts

import (
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Told is a verdict with the names that its numbers stand for. They are empty if they are not known.
type Told struct {
	health.Verdict
	NodeName, ClusterName string
}

// Counts are what happened since the state was made.
type Counts struct {
	Pushes uint64 // with something of ours, answered
	// Earlier is how many pushes had the published gauges only.
	Earlier uint64
	Polls   uint64
	// Foreign is how many pushes were of a cluster that is not accepted.
	Foreign uint64
	Faults  [wire.Faults]uint64    // of what came in
	Refused [health.Reasons]uint64 // by the fleet
	// Cohorts and Ranks are how many there are now.
	Cohorts, Ranks int
}

// State is all that a fleet keeps. Its methods may be called by several goroutines.
type State struct {
	accepted map[string]bool // clusters; nil: all

	mu       sync.Mutex // guards the rest
	fleet    *health.Fleet
	nodes    names
	clusters names // by cohort
	counts   Counts
	full     uint64 // pushes that were refused because the fleet is full
}

// New returns a state without cohorts. Only pushes of the given clusters are accepted, without any those of all.
func New(clusters ...string) *State {
	s := &State{fleet: health.NewFleet(), nodes: names{}, clusters: names{}}
	if len(clusters) > 0 {
		s.accepted = map[string]bool{}
		for _, c := range clusters {
			s.accepted[c] = true
		}
	}
	return s
}

// Taken is what came of the pushes of a request.
type Taken struct {
	// Rejected is how many were not accepted, with those that could not be read, and Why the last reason.
	Rejected int
	Why      string
	// Refused are the indices of pushes that were read and not accepted.
	Refused []int
	// Failed is an answer that cannot be written.
	Failed error
}

// Take hands the pushes of a request to the fleet, and gives the answer to set: it is to the one push of ours
// among them; a gateway that puts together those of several nodes gets none. err says what was wrong with
// others of the same request. The answer is valid until set returns.
func (s *State) Take(now time.Duration, pushes []wire.Push, err error, set func(wire.Answer) error) (t Taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		before := sum(s.counts.Faults)
		wire.Count(err, &s.counts.Faults)
		t.Rejected, t.Why = int(sum(s.counts.Faults)-before), err.Error()
	}
	ours := 0
	for i := range pushes {
		if len(pushes[i].Health.Ranks) > 0 {
			ours++
		}
	}
	for i := range pushes {
		p := &pushes[i]
		reply, why := s.push(now, p)
		switch {
		case why != "":
			t.Rejected++
			t.Why = why
			t.Refused = append(t.Refused, i)
		case reply != nil && ours == 1:
			if err := set(wire.AnswerTo(reply)); err != nil {
				t.Failed = err
			}
		}
	}
	return t
}

// push takes a push. Its reply is nil if there is none of ours in it, or if it is not accepted.
func (s *State) push(now time.Duration, p *wire.Push) (reply *health.Reply, why string) {
	if s.accepted != nil && !s.accepted[p.Cluster] {
		s.counts.Foreign++
		return nil, "pushes of this cluster are not accepted"
	}
	if len(p.Health.Ranks) == 0 {
		s.counts.Earlier++
		return nil, ""
	}
	if reply = s.fleet.Push(now, &p.Health); reply == nil {
		return nil, s.whyRefused()
	}
	s.counts.Pushes++
	s.nodes.see(p.Health.Node, p.Node, now)
	s.clusters.see(p.Health.Cohort, p.Cluster, now)
	return reply, ""
}

// whyRefused is why the fleet has just refused a push.
func (s *State) whyRefused() string {
	full := s.fleet.Refused()[health.RefusedCohorts]
	defer func() { s.full = full }()
	if full > s.full {
		return "the fleet has as many cohorts or ranks as it keeps"
	}
	return "ranks[0].interval: is no time between two steps"
}

func sum(faults [wire.Faults]uint64) (n uint64) {
	for _, f := range faults {
		n += f
	}
	return n
}

// Fault counts what was wrong with something that came in.
func (s *State) Fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wire.Count(err, &s.counts.Faults)
}

// Poll gives the answer to a poll to write, whose error it returns. The answer is valid until write returns.
func (s *State) Poll(now time.Duration, p wire.Poll, write func(wire.Answer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Polls++
	return write(wire.AnswerTo(s.fleet.Poll(now, p.Health)))
}

// Sweep is called every health.PushEvery. It returns what changed.
func (s *State) Sweep(now time.Duration) (out []Told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.fleet.Sweep(now, nil) {
		out = append(out, Told{v, s.nodes[v.Node].name, s.clusters[v.Cohort].name})
	}
	s.nodes.forget(now)
	s.clusters.forget(now)
	return out
}

// Counts returns what happened since the state was made.
func (s *State) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Refused = s.fleet.Refused()
	c.Cohorts, c.Ranks = s.fleet.Sizes()
	return c
}
