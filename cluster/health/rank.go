package health

import (
	"math"
	"slices"
	"time"
)

// Step is what a rank did between two synchronisations with the others: a training step, or one
// collective of a communicator.
type Step struct {
	// Seq is the number of the synchronisation in the communicator. It is not used if ranks are free.
	Seq  uint64
	End  time.Duration
	Own  time.Duration // own work: the step without Wait
	Wait time.Duration // in collectives
	// Work is how much was done, in any unit (tokens, bytes, blocks of kernels); 0: not known.
	Work float64
	// Clock is the GPU's clock as a share of its highest one; 0: not known. It is used if steps are
	// measured by the host only.
	Clock    float64
	Measured Measured
}

// Rank judges one rank. It is the agent's half.
type Rank struct {
	options RankOptions
	now     time.Duration // of the last step or call

	// The bucket that is being filled.
	width, merge   uint32
	position       uint64
	filling        bool
	samples        []float32 // logs
	start, last    time.Duration
	parts          []float64 // seconds: means of the buckets that are being merged
	interval       float64   // seconds between steps
	own, wait      float64   // seconds a step
	work           work
	reference      float64 // amount of work
	measured       Measured
	place          Place
	exited         bool
	exitSeen       time.Duration // of the first answer after the exit with live peers
	goneTold, idle bool
	told           bool // the fleet knows that it is a suspect

	// Buckets that ended, by position.
	buckets  [Kept]bucket
	newest   uint64 // position
	ended    int    // buckets
	next     uint64 // position of the next that peers decide
	selfNext uint64 // position of the next that its own past decides

	peers, self cusum
	peer        float64 // seconds of the last median
	n           int
	echo        Summary
	mode        Mode
	quorumAt    time.Duration
	hadQuorum   bool
	answerAt    time.Duration
	began       time.Duration
}

type bucket struct {
	position   uint64
	x          float32
	start, end time.Duration
	samples    int
}

// RankOptions say what a rank is.
type RankOptions struct {
	Cohort uint64
	Rank   int32
	// Hetero: the cohort's ranks are of different stages or GPU models. Lasting differences are normal.
	Hetero bool
	// Free: ranks do not wait for each other. Buckets are of time.
	Free bool
}

// NewRank returns a rank of which nothing is known.
func NewRank(o RankOptions) *Rank {
	return &Rank{options: o, peers: cusum{whole: o.Hetero}, self: cusum{whole: true}, merge: 1}
}

// Step adds a step. It must not end before the one before it. Steps without own work are left out.
func (r *Rank) Step(s Step) {
	if s.Own <= 0 || s.End < r.now {
		return
	}
	first := r.now == 0
	if first {
		r.last, r.began = s.End-s.Own-s.Wait, s.End
		r.interval, r.own, r.wait = (s.Own + s.Wait).Seconds(), s.Own.Seconds(), s.Wait.Seconds()
	}
	r.now, r.idle = s.End, false
	took := (s.Own + s.Wait).Seconds()
	r.interval += 0.05 * min(max(took-r.interval, -r.interval), r.interval)
	r.own += 0.05 * (s.Own.Seconds() - r.own)
	r.wait += 0.05 * (s.Wait.Seconds() - r.wait)
	r.measured = s.Measured
	if r.width == 0 {
		r.last = s.End
		return
	}
	x := r.work.even(math.Log(s.Own.Seconds()), s.Work, r.reference)
	if r.work.pending(r.reference) { // what these steps look like is not how later ones will
		r.last = s.End
		return
	}
	if s.Measured == MeasuredHost && s.Clock > 0 && s.Clock <= 1 {
		x -= math.Log(s.Clock)
	}
	at := s.Seq
	if r.options.Free {
		at = uint64(max(s.End, 0) / time.Second)
	}
	if p := at / uint64(r.width); p != r.position || !r.filling {
		r.close(r.last)
		r.position, r.filling, r.start = p, true, r.last
		if !r.options.Free && at%uint64(r.width) != 0 { // joined within a bucket: the rest of it does not count
			r.filling = false
			r.last = s.End
			return
		}
	}
	r.samples = append(r.samples, float32(x))
	r.last = s.End
	if !r.options.Free && (at+1)%uint64(r.width) == 0 {
		r.close(s.End)
	}
}

// close ends the bucket that is being filled.
func (r *Rank) close(end time.Duration) {
	if !r.filling || len(r.samples) == 0 {
		r.filling = false
		return
	}
	r.filling = false
	x, n := 0.0, len(r.samples)
	if r.merge > 1 {
		x = mean(r.samples)
	} else {
		x = typical(r.samples)
	}
	r.samples = r.samples[:0]
	if r.merge > 1 {
		r.part(x, end)
		return
	}
	r.end(bucket{position: r.position, x: float32(x), start: r.start, end: end, samples: n})
}

// part adds a bucket to the merged one.
func (r *Rank) part(x float64, end time.Duration) {
	m := uint64(r.merge)
	if r.position%m == 0 {
		r.parts = r.parts[:0]
	}
	if uint64(len(r.parts)) != r.position%m { // one of them is not known
		return
	}
	r.parts = append(r.parts, math.Exp(x))
	if uint64(len(r.parts)) < m {
		return
	}
	sorted := slices.Clone(r.parts)
	most := mergeStall * pick(sorted, (len(sorted)-1)/2)
	sum := 0.0
	for _, v := range r.parts {
		sum += min(v, most)
	}
	x = math.Log(sum / float64(m))
	start := end - time.Duration(float64(end-r.start)*float64(m))
	if b := &r.buckets[r.newest%Kept]; r.ended > 0 && b.position == r.newest && r.newest+1 == r.position/m {
		start = b.end
	}
	r.end(bucket{position: r.position / m, x: float32(x), start: start, end: end})
}

func (r *Rank) end(b bucket) {
	if !usable(b.x) {
		return
	}
	r.buckets[b.position%Kept] = b
	r.newest = b.position
	r.ended++
	p := point{y: float64(b.x), start: b.start, end: b.end}
	if r.mode == ModeFleet || r.mode == ModeNone {
		if !r.peers.suspect() {
			r.self.follow(p)
		}
	}
}

// typical is a bucket's value: logs of own work in, log of what is usual out.
func typical(samples []float32) float64 {
	n := len(samples)
	switch {
	case n >= medianFrom:
		m := pick(samples, n/2)
		if n%2 == 1 {
			return float64(m)
		}
		return float64(slices.Max(samples[:n/2])+m) / 2
	case n >= trimFrom:
		sum := float32(0)
		for _, v := range samples {
			sum += v
		}
		return float64(sum-slices.Max(samples)) / float64(n-1)
	}
	return mean(samples)
}

// mean is the log of the mean.
func mean(samples []float32) float64 {
	if len(samples) == 1 {
		return float64(samples[0])
	}
	sum := 0.0
	for _, v := range samples {
		sum += math.Exp(float64(v))
	}
	return math.Log(sum / float64(len(samples)))
}

// Place says how far the rank is in its innermost communicator.
func (r *Rank) Place(p Place) { r.place = p }

// Exit says that the rank's process has ended.
func (r *Rank) Exit() { r.exited = true }

// State is what the rank is.
func (r *Rank) State() State {
	c := r.judge()
	switch {
	case r.idle:
		return Idle
	case c.alarmed:
		return Straggler
	case !c.calibrated():
		return Calibrating
	case c.suspect():
		return Suspect
	}
	return Active
}

// judge is the test that counts now.
func (r *Rank) judge() *cusum {
	if r.mode == ModeFleet || r.mode == ModeNone {
		return &r.peers
	}
	return &r.self
}

// Mode is what the rank is compared with.
func (r *Rank) Mode() Mode { return r.mode }

// Polls reports whether the agent should poll before its next push: the rank is a suspect, and the
// fleet does not know it, or peers of its newest bucket are not known yet.
func (r *Rank) Polls() bool {
	c := &r.peers
	return c.suspect() && !c.alarmed && (!r.told || r.next <= r.newest && r.ended > 0)
}

// Poll is what to poll with. Answers are taken with Take.
func (r *Rank) Poll(node uint64) Poll {
	r.told = r.peers.suspect()
	return Poll{Cohort: r.options.Cohort, Node: node, Rank: r.options.Rank, State: r.State()}
}

// Push writes what is to be pushed of the rank.
func (r *Rank) Push(p *RankPush) {
	r.told = r.peers.suspect()
	*p = RankPush{
		Rank: r.options.Rank, Newest: r.newest,
		Interval: float32(r.interval), Own: float32(r.own), Wait: float32(r.wait),
		Amount: float32(r.work.amount),
		State:  r.State(), Mode: r.mode, Measured: r.measured, Exited: r.exited, Place: r.place,
	}
	for i := range p.X {
		p.X[i] = float32(math.NaN())
		at := r.newest - uint64(i)
		if b := &r.buckets[at%Kept]; at <= r.newest && b.position == at && b.end > 0 {
			p.X[i] = b.x
		}
	}
	if c := &r.peers; c.calibrated() {
		p.Sigma, p.Spread = float32(c.dev), float32(math.Sqrt(c.square))
		if r.now-r.began < cachedFor { // few buckets yet: heavy tails are underestimated
			p.Spread *= noiseFactor
		}
		p.Offset, p.G, p.Excess = float32(c.offset), float32(c.g), float32(c.excess)
	}
	if r.self.calibrated() {
		p.Shift = float32(r.self.excess)
	}
}

// Width is how many synchronisations a bucket of the rank has, 0: not yet known.
func (r *Rank) Width() uint32 { return r.width }

// Merge is how many buckets make one.
func (r *Rank) Merge() uint32 { return r.merge }

// Reference is the amount of work that the rank's buckets are of, 0: none.
func (r *Rank) Reference() float32 { return float32(r.reference) }

// Echo is the newest summary that the rank was given.
func (r *Rank) Echo() Summary { return r.echo }

// Take judges the buckets that the answer is of and appends what changed to out. Each bucket is
// judged once.
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

// Tick is called at every push, also if no answer came, and appends what changed to out.
func (r *Rank) Tick(now time.Duration, out []Verdict) []Verdict {
	r.idle = r.now > 0 && now-r.now > idleAfter
	if r.width == 0 && r.interval > 0 && now-r.began > freshFor { // the fleet was never heard of
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

// currentMode is what a rank can be compared with. age is that of the last answer with a quorum, own
// how many buckets its own history has.
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

// enter changes the mode. What was said on other grounds is taken back.
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

// gone reports a process that ended while its peers run: by two answers, because at the end of a job
// all end at about the same time.
func (r *Rank) gone(now time.Duration, a *Reply, out []Verdict) []Verdict {
	if !r.exited || r.goneTold || int(a.Live) < quorum(int(a.Size))-1 || a.Live == 0 {
		return out
	}
	if r.exitSeen == 0 {
		r.exitSeen = now
	}
	if now-r.exitSeen < goneAfter {
		return out
	}
	r.goneTold = true
	return append(out, Verdict{
		Kind: KindGone, Cohort: r.options.Cohort, Rank: r.options.Rank, At: now, Since: r.now,
		Mode: r.mode, N: int(a.Live), Measured: r.measured,
	})
}

// resize changes how buckets are made. What is known of the rank stays.
func (r *Rank) resize(width, merge uint32) {
	if width == 0 || width > MaxWidth || merge == 0 || merge > maxMerge {
		return
	}
	if r.width > 0 {
		ratio := float64(width) * float64(merge) / (float64(r.width) * float64(r.merge))
		r.peers.resize(ratio)
		r.self.resize(ratio)
	}
	r.width, r.merge = width, merge
	r.filling, r.samples, r.parts = false, r.samples[:0], r.parts[:0]
	r.buckets = [Kept]bucket{}
	r.next, r.selfNext, r.newest, r.ended = 0, 0, 0, 0
}

// width is how many steps of a length in seconds make a bucket; if free, how many seconds.
func width(interval float64, free bool) uint32 {
	if free {
		w := FreeBucket.Seconds()
		for w < 3*interval && w < MaxWidth {
			w *= 2
		}
		return uint32(w)
	}
	return uint32(min(max(math.Round(BucketTime.Seconds()/interval), 1), MaxWidth))
}
