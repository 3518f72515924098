package cohorts

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// MaxAhead is how far in the future a push may have been sent, by the fleet's clock. It is longer than what a clock
// is off if its time zone is wrong.
const MaxAhead = 24 * time.Hour

// Why a push is not taken, besides faults of its fields.
var (
	errForeign  = errors.New("pushes of this cluster are not accepted")
	errFull     = errors.New("the fleet has as many cohorts or ranks as it keeps")
	errInterval = errors.New("ranks[0].interval: is not a valid time between two steps")
)

// push takes in a push. The reply is nil if the push has no ranks, or is not accepted.
func (s *State) push(r *Request, p *wire.Push) (*health.Reply, error) {
	if p.Cluster == "" {
		p.Cluster = r.Cluster
	}
	if s.accepted != nil && !s.accepted[p.Cluster] {
		s.counts.Foreign++
		return nil, errForeign
	}
	if len(p.Health.Ranks) == 0 {
		s.counts.Earlier++
		return nil, nil
	}
	if err := ahead(r.Wall, p.Health.Sent); err != nil {
		return nil, err
	}
	reply := s.fleet.Push(r.Now, &p.Health)
	if reply == nil {
		return nil, s.whyRefused()
	}
	s.counts.Pushes++
	s.nodes.see(p.Health.Node, p.Node, r.Now)
	s.clusters.see(p.Health.Cohort, p.Cluster, r.Now)
	return reply, nil
}

// ahead returns an error if a push was sent in the far future: its node's clock is wrong, or it is forged.
func ahead(wall, sent time.Duration) error {
	if wall <= 0 || sent-wall <= MaxAhead {
		return nil
	}
	text := func(d time.Duration) string { return time.Unix(0, int64(d)).UTC().Format(time.RFC3339) }
	return &wire.Error{Fault: wire.Value, Field: wire.DataAttribute + ".sent", Why: fmt.Sprintf(
		"is %s, more than %s after the fleet's clock, %s: one of the two clocks is wrong", text(sent), MaxAhead, text(wall))}
}

// whyRefused says why the fleet has just refused a push.
func (s *State) whyRefused() error {
	full := s.fleet.Refused()[health.RefusedCohorts]
	defer func() { s.full = full }()
	if full > s.full {
		return errFull
	}
	return errInterval
}

// whyRank says why a rank is refused as a whole.
var whyRank = map[health.Reason]string{
	health.RefusedRank:     "another node pushes this rank",
	health.RefusedReplay:   "this was sent before what the rank has pushed already",
	health.RefusedFull:     "the cohort has as many ranks as its nodes report",
	health.RefusedPosition: "its steps are counted higher than can be",
}

// refused says which ranks of the last push were not taken, and why; empty: all were.
func (s *State) refused() string {
	s.refusals = s.fleet.Refusals(s.refusals[:0])
	var b strings.Builder
	for _, r := range s.refusals {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "rank %d", r.First)
		if r.Ranks > 1 {
			fmt.Fprintf(&b, " and %d more", r.Ranks-1)
		}
		fmt.Fprintf(&b, ": %s", whyRank[r.Reason])
	}
	return b.String()
}
