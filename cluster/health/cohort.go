package health

import (
	"math"
	"time"
)

// Cohort is the fleet's half: it keeps the last buckets of ranks that should be alike, and answers with their middle.
// Agents keep all state that must not be lost, so a cohort is useful from the first push on.
type Cohort struct {
	id      uint64
	free    bool
	index   index // of members, by rank
	members []member
	slots   [Kept]slot

	width, merge uint32
	size         int     // number of ranks, the median of what members report
	live         int     // members that pushed lately
	anchor       uint64  // newest position, the median of members
	interval     float64 // seconds between steps, the median of members
	reference    float32 // amount of work that buckets are scaled to
	sigma        float32
	shift        float32
	surveyIn     int // pushes of ranks until the fields above are computed again
	resized      time.Duration
	pushed       time.Duration
	heard        time.Duration // silence is judged from then on

	slow, degraded bool
	slowFrom       time.Duration
	many           bool // many turned suspect lately

	answer   Reply
	kept     [Kept]Summary // backs answer.Buckets
	answered bool
}

// member is a rank of the cohort, with all that is kept of it.
type member struct {
	x          [Kept]float32 // by position modulo Kept; NaN: none
	node       uint64
	run, order uint64        // of its last push, see late
	seen       time.Duration // when that came
	newest     uint64
	place      place
	changed    uint32 // push interval in which it turned suspect
	rank, size int32
	sigma      float32
	spread     float32
	shift      float32
	interval   float32
	amount     float32
	state      State
	missing    bool
	hung       bool
	others     bool // its agent knows other fleets too
}

// place is a Place in less memory.
type place struct {
	comm, enqueued, completed uint32
	open                      float32 // seconds
}

// slot is a bucket.
type slot struct {
	position uint64
	n        int // ranks with a value
	due      int // number of ranks at which the summary is computed again
	summary  Summary
	echoed   bool
}

func newCohort(p *Push, now time.Duration) *Cohort {
	c := &Cohort{id: p.Cohort, free: p.Free, resized: now, size: int(p.Size)}
	c.width, c.merge = p.Width, p.Merge
	if c.width == 0 {
		c.width, c.merge = width(float64(p.Ranks[0].Interval), p.Free), 1
	}
	c.anchor = p.Ranks[0].Newest
	if p.Reference > 0 && finite(p.Reference) {
		c.reference = p.Reference
	}
	return c
}

// push takes in a valid push, and counts what it refuses of it.
func (c *Cohort) push(now time.Duration, p *Push, scratch *scratch, refused *refusals) {
	c.pushed = now
	for i := range p.Ranks {
		c.rank(now, p, &p.Ranks[i], scratch, refused)
	}
	c.seed(p)
}

func (c *Cohort) rank(now time.Duration, p *Push, r *RankPush, s *scratch, refused *refusals) {
	if _, known := c.index.get(r.Rank); r.Exited && !known {
		return // it was forgotten, or pushes to another fleet now
	}
	m, why, ok := c.member(now, p, r)
	if r.Newest > MaxPosition {
		why, ok = RefusedPosition, false
	}
	if !ok {
		refused.rank(why, r.Rank, why == RefusedReplay && p.expected(m))
		return
	}
	m.run, m.order = p.order()
	m.seen = now
	at, _ := c.index.get(m.rank)
	if r.Exited {
		c.remove(m.rank)
		c.live = max(0, c.live-1)
		c.answered = false
		return
	}
	m.newest, m.size, m.others = r.Newest, p.Size, p.Others
	m.place = place{r.Place.Comm, r.Place.Enqueued, r.Place.Completed, float32(r.Place.Open.Seconds())}
	m.sigma, m.spread = positive(r.Sigma), positive(r.Spread)
	m.interval, m.amount, m.shift = positive(r.Interval), 0, 0
	if r.Amount > 0 && finite(r.Amount) {
		m.amount = r.Amount
	}
	if usable(r.Shift) {
		m.shift = r.Shift
	}
	state := r.State
	if r.Mode != ModeFleet && state.bad() { // judged by its own past, which says nothing about the cohort
		state = Active
	}
	c.state(now, m, state)
	if c.surveyIn--; c.surveyIn <= 0 || m.newest > c.anchor+Kept/2 {
		c.survey(now, s)
	}
	if p.Width != c.width || p.Merge != c.merge {
		refused.total[RefusedWidth]++
		return
	}
	for j, x := range r.X {
		if math.IsNaN(float64(x)) || uint64(j) > r.Newest {
			continue
		}
		if !usable(x) {
			refused.total[RefusedValue]++
			continue
		}
		if !c.put(at, r.Newest-uint64(j), x, s) {
			refused.total[RefusedPosition]++
		}
	}
}

func positive(v float32) float32 {
	if v > 0 && v < 1e6 {
		return v
	}
	return 0
}

// member returns a rank's member, and admits new ranks. Before its members agree on a new size, a cohort grows by at
// most a quarter, so that one node cannot outvote it.
func (c *Cohort) member(now time.Duration, p *Push, r *RankPush) (m *member, why Reason, ok bool) {
	i, known := c.index.get(r.Rank)
	if !known {
		switch {
		case r.Rank < 0:
			return nil, RefusedRank, false
		case len(c.members) >= min(MaxCohortRanks, max(c.size, min(int(p.Size), c.size+max(2, c.size/4)))):
			return nil, RefusedFull, false
		}
		i = c.add(member{rank: r.Rank, node: p.Node})
		return &c.members[i], 0, true
	}
	m = &c.members[i]
	switch {
	case m.node != p.Node && now-m.seen < missingAfter:
		return nil, RefusedRank, false
	case m.node == p.Node && m.late(now, p):
		return m, RefusedReplay, false
	}
	m.node = p.Node
	return m, 0, true
}

func (c *Cohort) add(m member) int32 {
	for i := range m.x {
		m.x[i] = float32(math.NaN())
	}
	if len(c.members) == cap(c.members) { // grow by a sixteenth: append would double
		grown := make([]member, len(c.members), len(c.members)+max(1, len(c.members)/16))
		copy(grown, c.members)
		c.members = grown
	}
	i := int32(len(c.members))
	c.members = append(c.members, m)
	c.index.put(m.rank, i, c.members)
	return i
}

func (c *Cohort) remove(rank int32) {
	i, _ := c.index.get(rank)
	last := int32(len(c.members) - 1)
	for k := range c.slots {
		if s := &c.slots[k]; s.n > 0 && !math.IsNaN(float64(c.members[i].x[k])) {
			s.n--
		}
	}
	moved := c.members[last]
	c.members[i] = moved
	c.members = c.members[:last]
	c.index.put(moved.rank, i, c.members)
	c.index.drop(rank)
	c.surveyIn = 0
}

// near reports whether a position is near those of most members. A minority cannot move the window.
func (c *Cohort) near(position uint64) bool {
	return position+Kept > c.anchor && position <= c.anchor+Kept
}

// put keeps a value. It returns false if the position is far from those of the others.
func (c *Cohort) put(member int32, position uint64, x float32, s *scratch) bool {
	if !c.near(position) {
		return false
	}
	k := position % Kept
	b := &c.slots[k]
	if b.position != position || b.n == 0 && !b.echoed {
		if b.n > 0 && b.position > position && c.near(b.position) {
			return true // late: the window has moved on
		}
		*b = slot{position: position}
		for i := range c.members {
			c.members[i].x[k] = float32(math.NaN())
		}
		c.answered = false
	}
	at := &c.members[member].x[k]
	if !math.IsNaN(float64(*at)) {
		return true // repeated
	}
	*at = x
	b.n++
	if b.n >= max(b.due, Quorum(c.size)) {
		c.summarize(b, k, s)
	}
	return true
}

// summarize computes the middle of a bucket: when it has a quorum, and again for each further eighth of the cohort.
func (c *Cohort) summarize(b *slot, k uint64, s *scratch) {
	x := s.values[:0]
	for i := range c.members {
		if v := c.members[i].x[k]; !math.IsNaN(float64(v)) {
			x = append(x, v)
		}
	}
	s.values = x
	b.n = len(x)
	b.due = b.n + max(1, c.size/8)
	b.summary = middle(x)
	b.summary.Position, b.summary.Sigma = b.position, c.sigma
	b.echoed, c.answered = false, false
}

// seed takes the middle from an agent's echo if this fleet has none, as after its start.
func (c *Cohort) seed(p *Push) {
	e := &p.Echo
	if e.N < quorumLeast || p.Width != c.width || p.Merge != c.merge || !c.near(e.Position) ||
		!usable(e.Lo) || !usable(e.Mid) || !usable(e.Hi) || e.Lo > e.Mid || e.Mid > e.Hi {
		return
	}
	for i := range c.slots {
		if c.slots[i].summary.N > 0 {
			return
		}
	}
	b := &c.slots[e.Position%Kept]
	if b.n > 0 && b.position != e.Position {
		return
	}
	b.position, b.summary, b.echoed = e.Position, *e, true
	b.summary.Sigma = positive(e.Sigma)
	c.answered = false
}

// survey computes what the members agree on: medians, so that no minority decides.
func (c *Cohort) survey(now time.Duration, s *scratch) {
	n := len(c.members)
	c.surveyIn = max(1, n/2)
	if n == 0 {
		return
	}
	c.live = 0
	for i := range c.members {
		if now-c.members[i].seen < missingAfter {
			c.live++
		}
	}
	of := func(f func(m *member) float32) float32 {
		v := s.values[:0]
		for i := range c.members {
			if x := f(&c.members[i]); x != 0 {
				v = append(v, x)
			}
		}
		s.values = v
		if len(v) == 0 {
			return 0
		}
		return pick(v, len(v)/2)
	}
	c.size = max(int(of(func(m *member) float32 { return float32(m.size) })), 1)
	a := of(func(m *member) float32 { return m.amount })
	if a > referenceRange*c.reference || a > 0 && a*referenceRange < c.reference {
		c.reference = a // there was none, or it is far from what most have
		c.answered = false
	}
	c.interval = float64(of(func(m *member) float32 { return m.interval }))
	c.sigma = of(func(m *member) float32 { return m.sigma })
	spread := of(func(m *member) float32 { return m.spread })
	c.shift = of(func(m *member) float32 { return m.shift })
	p := s.positions[:0]
	for i := range c.members {
		p = append(p, c.members[i].newest)
	}
	s.positions = p
	c.anchor = pick(p, n/2)
	if now-c.resized >= mergeEvery {
		c.resize(now, float64(max(c.sigma, spread)))
	}
}

// resize changes how many steps a bucket has, if buckets last too short or too long, or are too noisy.
func (c *Cohort) resize(now time.Duration, noise float64) {
	w, m := c.width, c.merge
	best := width(c.interval, c.free)
	if c.interval > 0 && (best > 2*w || 2*best < w) {
		w = best
	}
	noise *= math.Sqrt(float64(c.merge)) // noise of a bucket before merging
	want := uint32(1)
	for want < MaxMerge && noise/math.Sqrt(float64(want)) > mergeNoise {
		want *= 2
	}
	if want > m || 2*want < m {
		m = want
	}
	if w == c.width && m == c.merge {
		return
	}
	c.width, c.merge, c.resized = w, m, now
	c.slots = [Kept]slot{}
	c.answered = false
}

// reply returns the answer to members. It is valid until the next call.
func (c *Cohort) reply() *Reply {
	if c.answered {
		return &c.answer
	}
	n := 0
	for i := range c.slots {
		if b := &c.slots[i]; b.summary.N > 0 && c.near(b.position) {
			k := n
			for ; k > 0 && c.kept[k-1].Position > b.position; k-- {
				c.kept[k] = c.kept[k-1]
			}
			c.kept[k] = b.summary
			n++
		}
	}
	c.answer = Reply{
		Width: c.width, Merge: c.merge, Reference: c.reference, Size: uint32(c.size), Live: uint32(c.live), Degraded: c.many,
		Buckets: c.kept[:n],
	}
	c.answered = true
	return &c.answer
}

// scratch is memory that cohorts share.
type scratch struct {
	values    []float32
	positions []uint64
}
