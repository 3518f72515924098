package health

import (
	"math"
	"time"
)

// judge returns the test that applies now.
func (r *Rank) judge() *cusum {
	if r.mode == ModeFleet || r.mode == ModeNone {
		return &r.peers
	}
	return &r.self
}

// Take judges the buckets in the answer, each only once, and appends the verdicts to out.
func (r *Rank) Take(now time.Duration, a *Reply, out []Verdict) []Verdict {
	r.answerAt = now
	if a.Width != r.width || a.Merge != r.merge {
		r.resize(a.Width, a.Merge)
	}
	if a.Reference > 0 && finite(a.Reference) {
		r.reference = float64(a.Reference)
	}
	out = r.gone(now, a, out)
	if k := len(a.Buckets); k > 0 && r.ended > 0 && a.Buckets[k-1].Position+Repeated >= r.newest {
		r.hadQuorum, r.quorumAt = true, now
		out = r.enter(now, ModeFleet, out)
	}
	for i := range a.Buckets {
		s := &a.Buckets[i]
		b := &r.buckets[s.Position%Kept]
		if b.position != s.Position || b.end == 0 || s.Position < r.next {
			continue
		}
		if s.Position > r.newest || s.N < 2 || !usable(s.Lo) || !usable(s.Mid) || !usable(s.Hi) {
			continue
		}
		r.next, r.echo, r.n = s.Position+1, *s, int(s.N)
		middle := s.others(b.x)
		r.peer = math.Exp(middle)
		noise := float64(s.Sigma)
		if !finite(s.Sigma) || noise < 0 {
			noise = 0
		}
		switch r.peers.add(point{
			y: float64(b.x) - middle, start: b.start, end: b.end, noise: noise, n: r.n,
			sparse: b.samples < trimFrom,
		}) {
		case raised:
			out = append(out, r.verdict(KindStraggler, now, false, a.Degraded, b))
		case cleared:
			out = append(out, r.verdict(KindStraggler, now, true, false, b))
		}
	}
	return r.Tick(now, out)
}

// Tick is called at every push, also without an answer. It appends verdicts to out.
func (r *Rank) Tick(now time.Duration, out []Verdict) []Verdict {
	r.idle = r.now > 0 && now-r.now > idleAfter
	if r.width == 0 && r.interval > 0 && now-r.began > freshFor { // the fleet never answered
		r.resize(width(r.interval, r.options.Free), 1)
		r.reference = r.work.amount
	}
	reached := r.answerAt > 0 && now-r.answerAt <= 3*PushEvery
	mode := currentMode(reached, r.hadQuorum, now-r.quorumAt, r.self.seen)
	if mode != r.mode {
		out = r.enter(now, mode, out)
	}
	if mode == ModeFleet || mode == ModeNone {
		return out
	}
	return r.alone(now, out)
}

// currentMode returns what a rank can be compared with. age is the age of the last answer with a quorum, own the
// number of buckets in its own history.
func currentMode(reached, hadQuorum bool, age time.Duration, own int) Mode {
	switch {
	case hadQuorum && age <= freshFor:
		return ModeFleet
	case own < selfBuckets:
		return ModeNone
	case hadQuorum && age <= cachedFor && reached:
		return ModeFleetCached
	case hadQuorum && age <= cachedFor:
		return ModeLocalCached
	}
	return ModeLocalBaseline
}

// enter changes the mode. It resolves what was reported on other grounds.
func (r *Rank) enter(now time.Duration, mode Mode, out []Verdict) []Verdict {
	local := func(m Mode) bool { return m != ModeFleet && m != ModeNone }
	if local(mode) == local(r.mode) {
		r.mode = mode
		return out
	}
	b := &r.buckets[r.newest%Kept]
	switch {
	case local(r.mode) && r.self.alarmed:
		out = append(out, r.verdict(KindSlowVsSelf, now, true, false, b))
	case local(mode) && r.peers.alarmed:
		out = append(out, r.verdict(KindStraggler, now, true, false, b))
	}
	r.mode = mode
	r.peers.forget()
	r.self.forget()
	r.selfNext = r.newest + 1
	return out
}

// alone judges new buckets by the rank's own past.
func (r *Rank) alone(now time.Duration, out []Verdict) []Verdict {
	for at := max(r.selfNext, r.newest-min(r.newest, Kept-1)); at <= r.newest; at++ {
		b := &r.buckets[at%Kept]
		if b.position != at || b.end == 0 {
			continue
		}
		r.selfNext = at + 1
		p := point{y: float64(b.x), start: b.start, end: b.end, n: 1, sparse: b.samples < trimFrom}
		switch r.self.add(p) {
		case raised:
			out = append(out, r.verdict(KindSlowVsSelf, now, false, false, b))
		case cleared:
			out = append(out, r.verdict(KindSlowVsSelf, now, true, false, b))
		}
	}
	return out
}

func (r *Rank) verdict(k Kind, now time.Duration, resolved, folded bool, b *bucket) Verdict {
	v := Verdict{
		Kind: k, Cohort: r.options.Cohort, Rank: r.options.Rank, Resolved: resolved, Folded: folded,
		At: now, Mode: r.mode, Own: math.Exp(float64(b.x)), N: r.n, Measured: r.measured,
	}
	c := &r.peers
	v.Peer = r.peer
	if k == KindSlowVsSelf {
		c, v.N = &r.self, 1
		v.Peer = math.Exp(c.offset)
	}
	v.Since, v.Excess, v.Sigma, v.G, v.H = c.since, math.Expm1(c.excess), c.sigma, c.g, c.h
	return v
}

// gone reports a process that ended while its peers run. It needs two answers, since at the end of a job all
// processes end at about the same time.
func (r *Rank) gone(now time.Duration, a *Reply, out []Verdict) []Verdict {
	if !r.exited || r.goneReported || int(a.Live) < Quorum(int(a.Size))-1 || a.Live == 0 {
		return out
	}
	if r.exitSeen == 0 {
		r.exitSeen = now
	}
	if now-r.exitSeen < goneAfter {
		return out
	}
	r.goneReported = true
	return append(out, Verdict{
		Kind: KindGone, Cohort: r.options.Cohort, Rank: r.options.Rank, At: now, Since: r.now,
		Mode: r.mode, N: int(a.Live), Measured: r.measured,
	})
}
