package health

import (
	"slices"
	"time"
)

// Fleet keeps cohorts, up to maxCohorts and maxRanks. It is not safe for concurrent use.
type Fleet struct {
	cohorts map[uint64]*Cohort
	ranks   int
	order   []uint64 // scratch of Sweep
	scratch scratch
	none    Reply
	refused refusals
}

// NewFleet returns a fleet without cohorts.
func NewFleet() *Fleet { return &Fleet{cohorts: map[uint64]*Cohort{}} }

// Push takes in a push and returns the answer, nil if it is refused. The answer is valid until the next call. The
// push is not kept.
func (f *Fleet) Push(now time.Duration, p *Push) *Reply {
	clear(f.refused.last[:])
	if p.Cohort == 0 || p.Node == 0 || len(p.Ranks) == 0 || len(p.Ranks) > MaxNodeRanks ||
		p.Size < 1 || p.Size > MaxCohortRanks || p.Width > MaxWidth || p.Merge > MaxMerge || p.Width > 0 && p.Merge == 0 ||
		p.Ranks[0].Newest > MaxPosition || !(p.Ranks[0].Interval >= 1e-5 && p.Ranks[0].Interval < 1e5) {
		f.refused.total[RefusedPush]++
		return nil
	}
	c := f.cohorts[p.Cohort]
	if c == nil {
		if ended(p) {
			return f.nobody(p)
		}
		if len(f.cohorts) >= maxCohorts || f.ranks >= maxRanks {
			f.refused.total[RefusedCohorts]++
			return nil
		}
		c = newCohort(p, now)
		f.cohorts[p.Cohort] = c
	}
	if f.ranks+len(p.Ranks) > maxRanks && len(c.members) < c.size {
		f.refused.total[RefusedCohorts]++
		return nil
	}
	before := len(c.members)
	c.push(now, p, &f.scratch, &f.refused)
	f.ranks += len(c.members) - before
	return c.reply()
}

// ended reports whether a push only says that its ranks are no longer here.
func ended(p *Push) bool {
	for i := range p.Ranks {
		if !p.Ranks[i].Exited {
			return false
		}
	}
	return true
}

// nobody returns the answer for a cohort without ranks.
func (f *Fleet) nobody(p *Push) *Reply {
	f.none = Reply{Width: max(p.Width, 1), Merge: max(p.Merge, 1), Size: uint32(p.Size)}
	return &f.none
}

// Poll answers a suspect that asks again, nil if its cohort is not known. It notes the rank's state, so that many
// ranks that turn suspect at once are seen before any of them is reported.
func (f *Fleet) Poll(now time.Duration, p Poll) *Reply {
	c := f.cohorts[p.Cohort]
	if c == nil {
		return nil
	}
	if i, ok := c.index.get(p.Rank); ok && c.members[i].node == p.Node {
		c.state(now, &c.members[i], p.State)
	}
	return c.reply()
}

// Sweep is called every PushEvery. It appends verdicts to out, in the order of the cohorts' numbers, and drops
// cohorts that nothing is pushed to any more.
func (f *Fleet) Sweep(now time.Duration, out []Verdict) []Verdict {
	f.order = f.order[:0]
	for id := range f.cohorts {
		f.order = append(f.order, id)
	}
	slices.Sort(f.order)
	for _, id := range f.order {
		c := f.cohorts[id]
		before := len(c.members)
		out = c.sweep(now, &f.scratch, out)
		f.ranks += len(c.members) - before
		if now-c.pushed >= forgetAfter {
			f.ranks -= len(c.members)
			delete(f.cohorts, id)
		}
	}
	return out
}

// Refused counts by reason what was pushed and not used.
func (f *Fleet) Refused() [Reasons]uint64 { return f.refused.total }

// Sizes returns how many cohorts and ranks the fleet has.
func (f *Fleet) Sizes() (cohorts, ranks int) { return len(f.cohorts), f.ranks }
