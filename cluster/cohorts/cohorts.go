// Package cohorts is the state of a fleet: the cohorts that agents push to, the names of clusters and nodes, and
// counts of what came in. The HTTP server, the gRPC server and the collector hand it what they have parsed.
//
// It has no clock, no I/O and no goroutines. Times count from any moment that is the same for all calls; they must
// never go back.
package cohorts

import (
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Told is a verdict with the names of its node and cluster. A name is empty if it is not known.
type Told struct {
	health.Verdict
	NodeName, ClusterName string
}

// Counts are totals since the state was made.
type Counts struct {
	Pushes uint64 // answered, with ranks in them
	// Earlier counts pushes of earlier agents, which have the published gauges only.
	Earlier uint64
	Polls   uint64
	// Foreign counts pushes of clusters that are not accepted.
	Foreign uint64
	Faults  [wire.Faults]uint64    // errors in what came in
	Refused [health.Reasons]uint64 // by the fleet
	// Cohorts and Ranks are the present numbers.
	Cohorts, Ranks int
}

// State is the state of a fleet. Its methods may be called by several goroutines.
type State struct {
	accepted map[string]bool // clusters; nil: all

	mu       sync.Mutex // guards the rest
	fleet    *health.Fleet
	nodes    names
	clusters names // by cohort
	counts   Counts
	full     uint64           // pushes that were refused because the fleet is full
	refusals []health.Refusal // scratch
}

// New returns a state without cohorts. It accepts only pushes of the given clusters; without any, those of all.
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

// Taken is the outcome of a request's pushes.
type Taken struct {
	// Rejected counts pushes that were not accepted, with those that could not be parsed; Why is the last reason.
	Rejected int
	Why      string
	// Refused are the indices of pushes that were parsed but not accepted.
	Refused []int
	// Failed is set if an answer cannot be written.
	Failed error
}

// Request is a request with pushes.
type Request struct {
	Now time.Duration
	// Wall is the time since the Unix epoch by the clock, which may be set; 0: not known, and no push is of the future.
	Wall time.Duration
	// Cluster is the cluster of pushes that name none; it may be empty.
	Cluster string
	Pushes  []wire.Push
	// Err is what was wrong with other pushes of the request.
	Err error
}

// Take hands the pushes of a request to the fleet. It calls set with the answer if exactly one push has ranks; a
// gateway that joins the pushes of several nodes gets no answer. The answer is valid until set returns.
func (s *State) Take(r Request, set func(wire.Answer) error) (t Taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Err != nil {
		before := sum(s.counts.Faults)
		wire.Count(r.Err, &s.counts.Faults)
		t.Rejected, t.Why = int(sum(s.counts.Faults)-before), wire.First(r.Err)
	}
	ours := 0
	for i := range r.Pushes {
		if len(r.Pushes[i].Health.Ranks) > 0 {
			ours++
		}
	}
	for i := range r.Pushes {
		p := &r.Pushes[i]
		reply, err := s.push(&r, p)
		switch {
		case err != nil:
			wire.Count(err, &s.counts.Faults)
			t.Rejected++
			t.Why = err.Error()
			t.Refused = append(t.Refused, i)
		case reply != nil && ours == 1:
			a := wire.AnswerTo(reply)
			a.Refused = s.refused()
			if err := set(a); err != nil {
				t.Failed = err
			}
		}
	}
	return t
}

func sum(faults [wire.Faults]uint64) (n uint64) {
	for _, f := range faults {
		n += f
	}
	return n
}

// Fault counts the errors of something that came in.
func (s *State) Fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wire.Count(err, &s.counts.Faults)
}

// Poll calls write with the answer to a poll, and returns its error. The answer is valid until write returns.
func (s *State) Poll(now time.Duration, p wire.Poll, write func(wire.Answer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Polls++
	return write(wire.AnswerTo(s.fleet.Poll(now, p.Health)))
}

// Sweep is called every health.PushEvery. It returns the verdicts that are new.
func (s *State) Sweep(now time.Duration) (out []Told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.fleet.Sweep(now, nil) {
		out = append(out, Told{v, s.nodes[v.Node].name, s.clusters[v.Cohort].name})
	}
	s.nodes.forgetOld(now)
	s.clusters.forgetOld(now)
	return out
}

// Counts returns totals since the state was made.
func (s *State) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Refused = s.fleet.Refused()
	c.Cohorts, c.Ranks = s.fleet.Sizes()
	return c
}
