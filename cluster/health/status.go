package health

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// CohortStatus is the state of a cohort, as a fleet knows it.
type CohortStatus struct {
	Cohort uint64
	// Size is the cohort's size, Live how many of its ranks pushed lately.
	Size, Live int
	Interval   float64 // seconds between steps, the median; 0: not known
	Degraded   bool    // many ranks turned suspect at once
	Slow       bool    // most ranks are slower than they were
	// Middle is the newest bucket with a middle. N is 0 if there is none.
	Middle Summary
	Ranks  []MemberStatus
}

// MemberStatus is the state of a rank, as a fleet knows it.
type MemberStatus struct {
	Rank  int32
	Node  uint64
	State State
	// Own is the seconds of own work per step in the newest bucket with a middle, Peer the median of the other ranks in
	// it; 0: not known.
	Own, Peer     float64
	Seen          time.Duration // time of the last push
	Missing, Hung bool
}

// Status returns what the fleet knows, ordered by the numbers of cohorts and ranks. It lists at most most ranks, 0:
// all.
func (f *Fleet) Status(now time.Duration, most int) (list []CohortStatus, whole bool) {
	ids := make([]uint64, 0, len(f.cohorts))
	for id := range f.cohorts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	n := 0
	for _, id := range ids {
		c := f.cohorts[id]
		if n += len(c.members); most > 0 && n > most {
			return list, false
		}
		list = append(list, c.status(now))
	}
	return list, true
}

func (c *Cohort) status(now time.Duration) CohortStatus {
	s := CohortStatus{
		Cohort: c.id, Size: c.size, Interval: c.interval, Degraded: c.degraded, Slow: c.slow,
		Ranks: make([]MemberStatus, 0, len(c.members)),
	}
	var newest *slot
	for i := range c.slots {
		if b := &c.slots[i]; b.summary.N > 0 && (newest == nil || b.position > newest.position) {
			newest = b
		}
	}
	if newest != nil {
		s.Middle = newest.summary
	}
	for i := range c.members {
		m := &c.members[i]
		if now-m.seen < missingAfter {
			s.Live++
		}
		r := MemberStatus{Rank: m.rank, Node: m.node, State: m.state, Seen: m.seen, Missing: m.missing, Hung: m.hung}
		if newest != nil {
			if x := m.x[newest.position%Kept]; usable(x) && m.newest >= newest.position {
				r.Own, r.Peer = math.Exp(float64(x)), math.Exp(newest.summary.others(x))
			}
		}
		s.Ranks = append(s.Ranks, r)
	}
	slices.SortFunc(s.Ranks, func(a, b MemberStatus) int { return cmp.Compare(a.Rank, b.Rank) })
	return s
}
