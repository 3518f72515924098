package health

import "time"

// sweep judges the cohort as a whole, once per push interval, and appends verdicts to out.
func (c *Cohort) sweep(now time.Duration, s *scratch, out []Verdict) []Verdict {
	c.survey(now, s)
	live := c.live
	out = c.silent(now, live, out)
	out = c.hangs(now, out)
	out = c.degrade(now, live, out)
	out = c.slower(now, out)
	c.answered = false
	return out
}

func (c *Cohort) verdict(k Kind, rank int32, now, since time.Duration, n int) Verdict {
	v := Verdict{Kind: k, Cohort: c.id, Rank: rank, At: now, Since: since, N: n, Mode: ModeFleet}
	if i, ok := c.index.get(rank); ok {
		v.Node = c.members[i].node
	}
	return v
}

// silent reports missing ranks, unless more than half are silent: then the job has ended, or the network has failed.
// With two nodes, half may be one of them. After such a silence, all ranks get time to push again.
func (c *Cohort) silent(now time.Duration, live int, out []Verdict) []Verdict {
	lost, lately, patience := 0, 0, missingAfter
	for i := range c.members {
		m := &c.members[i]
		patience = max(patience, m.patience())
		switch age := now - m.seen; {
		case age >= m.patience():
			lost++
		case age < missingAfter-PushEvery:
			lately++
		}
	}
	if lately == 0 || lately*2 < max(c.size, len(c.members)) {
		c.heard = now + patience
	}
	report := now >= c.heard
	folded := many(lost, len(c.members))
	for i := 0; i < len(c.members); i++ {
		m := &c.members[i]
		age := now - m.seen
		switch {
		case age < missingAfter && m.missing:
			m.missing = false
			v := c.verdict(KindMissing, m.rank, now, m.seen, live)
			v.Resolved = true
			out = append(out, v)
		case age >= m.patience() && report && !m.missing:
			m.missing = true
			v := c.verdict(KindMissing, m.rank, now, m.seen, live)
			v.Folded = folded
			out = append(out, v)
		case age >= forgetAfter:
			c.remove(m.rank)
			i--
		}
	}
	return out
}

// patience returns the silence after which a member is missing.
func (m *member) patience() time.Duration {
	if m.others {
		return missingAfter + elsewhereFor
	}
	return missingAfter
}

// away reports whether a member may be pushing to another fleet now, so that its place is unknown.
func (m *member) away(now time.Duration) bool {
	return m.others && !m.missing && now-m.seen >= missingAfter-PushEvery
}

// many reports whether n ranks of a cohort are enough to be one condition of the cohort.
func many(n, cohort int) bool {
	return n >= degradedLeast && float64(n) > degradedShare*float64(cohort)
}

// hangs reports the ranks that others wait for in collectives that do not end.
func (c *Cohort) hangs(now time.Duration, out []Verdict) []Verdict {
	limit := float32(max(hangLeast.Seconds(), hangSteps*c.interval))
	var comms map[uint32]*front
	for i := range c.members {
		m := &c.members[i]
		if m.place.comm == 0 || m.place.open <= limit || now-m.seen >= missingAfter {
			continue
		}
		if comms == nil {
			comms = map[uint32]*front{}
		}
		if comms[m.place.comm] == nil {
			comms[m.place.comm] = &front{enqueued: m.place.enqueued, completed: m.place.completed}
		}
	}
	for i := range c.members {
		m := &c.members[i]
		if f := comms[m.place.comm]; f != nil && !m.away(now) {
			f.add(m)
		}
	}
	for i := range c.members {
		m := &c.members[i]
		if m.away(now) {
			continue // its state stays until something is known again
		}
		f := comms[m.place.comm]
		hung := f != nil && f.behind(m)
		if hung == m.hung {
			continue
		}
		m.hung = hung
		v := c.verdict(KindHang, m.rank, now, now, 1)
		if f != nil {
			v.N, v.Since = f.members, now-time.Duration(float64(f.open)*float64(time.Second))
		}
		v.Resolved = !hung
		out = append(out, v)
	}
	return out
}

// front is the position of the foremost rank of a communicator. Numbers wrap.
type front struct {
	enqueued, completed uint32
	apart               bool    // not all have entered the same collective
	behindDone          bool    // not all have ended the same one
	open                float32 // seconds
	members             int
}

func (f *front) add(m *member) {
	p := &m.place
	f.members++
	f.open = max(f.open, p.open)
	f.apart = f.apart || p.enqueued != f.enqueued
	f.behindDone = f.behindDone || p.completed != f.completed
	if int32(p.enqueued-f.enqueued) > 0 {
		f.enqueued = p.enqueued
	}
	if int32(p.completed-f.completed) > 0 {
		f.completed = p.completed
	}
}

// behind reports whether the others wait for m: it has not entered the collective that they have, or, if all have
// entered it, has not ended it.
func (f *front) behind(m *member) bool {
	if f.apart {
		return m.place.enqueued != f.enqueued
	}
	return f.behindDone && m.place.completed != f.completed
}

// state notes a member's state, and whether many turned bad at about the same time.
func (c *Cohort) state(now time.Duration, m *member, is State) {
	was := m.state
	m.state = is
	if was == is {
		return
	}
	if is.bad() && !was.bad() {
		m.changed = interval(now)
	}
	n, _, _ := c.turned(now)
	if is := many(n, c.judged(c.live)); is != c.many {
		c.many, c.answered = is, false
	}
}

// judged returns the number of ranks that many takes its share of: the live ranks, but at least a quorum. If few
// ranks of a cohort push here, the fleet does not know the state of most.
func (c *Cohort) judged(live int) int { return max(live, Quorum(c.size)) }

func (s State) bad() bool { return s == Suspect || s == Straggler }

// interval returns the number of the push interval that a time is in.
func interval(now time.Duration) uint32 { return uint32(now / PushEvery) }

// turned counts the members that turned suspect lately, the stragglers among these, and all suspects and stragglers.
func (c *Cohort) turned(now time.Duration) (lately, stragglers, bad int) {
	for i := range c.members {
		m := &c.members[i]
		if !m.state.bad() {
			continue
		}
		bad++
		if interval(now)-m.changed <= interval(degradedWithin+missingAfter) {
			lately++
			if m.state == Straggler {
				stragglers++
			}
		}
	}
	return lately, stragglers, bad
}

// degrade reports that many ranks turned bad at about the same time.
func (c *Cohort) degrade(now time.Duration, live int, out []Verdict) []Verdict {
	live = c.judged(live)
	lately, stragglers, bad := c.turned(now)
	c.many = many(lately, live)
	switch {
	case !c.degraded && many(stragglers, live):
		c.degraded = true
		out = append(out, c.verdict(KindCohortDegraded, NoRank, now, now-degradedWithin, stragglers))
	case c.degraded && !many(bad, live):
		c.degraded = false
		v := c.verdict(KindCohortDegraded, NoRank, now, now, bad)
		v.Resolved = true
		out = append(out, v)
	}
	return out
}

// slower reports that the median rank's own work takes longer than it used to.
func (c *Cohort) slower(now time.Duration, out []Verdict) []Verdict {
	is := float64(c.shift) > slower && c.live >= min(c.size, Quorum(c.size)) // otherwise most are elsewhere
	if !is {
		c.slowFrom = 0
	} else if c.slowFrom == 0 {
		c.slowFrom = now
	}
	is = is && now-c.slowFrom >= cohortSlowHeld
	ended := c.slow && float64(c.shift) < slower/2
	if is == c.slow || c.slow && !ended {
		return out
	}
	c.slow = is
	v := c.verdict(KindCohortSlow, NoRank, now, c.slowFrom, len(c.members))
	v.Excess, v.Resolved = float64(c.shift), !is
	return append(out, v)
}
