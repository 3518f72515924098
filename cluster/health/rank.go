package health

import (
	"math"
	"time"
)

// Step is what a rank did between two synchronisations with the others: a training step, or one collective of a
// communicator.
type Step struct {
	// Seq is the number of the synchronisation in the communicator. It is not used for free ranks.
	Seq  uint64
	End  time.Duration
	Own  time.Duration // own work: the step without Wait
	Wait time.Duration // in collectives
	// Work is the amount of work done, in any unit (tokens, bytes, blocks of kernels); 0: not known.
	Work float64
	// Clock is the GPU's clock as a share of its maximum; 0: not known. It is used if steps are measured by the host
	// only.
	Clock    float64
	Measured Measured
}

// Rank judges one rank. It is the agent's half.
type Rank struct {
	options RankOptions
	now     time.Duration // of the last step or call

	// The bucket that is being filled.
	width, merge uint32
	position     uint64
	filling      bool
	samples      []float32 // logs
	start, last  time.Duration
	parts        []float64 // seconds: means of the buckets to be merged
	interval     float64   // seconds between steps
	own, wait    float64   // seconds per step
	work         work
	reference    float64 // amount of work
	measured     Measured
	place        Place
	exited       bool
	exitSeen     time.Duration // time of the first answer after the exit that had live peers
	goneReported bool
	idle         bool
	reported     bool // the fleet knows that the rank is a suspect

	// Finished buckets, by position.
	buckets  [Kept]bucket
	newest   uint64 // position
	ended    int    // number of buckets
	next     uint64 // position of the next bucket to be judged against peers
	selfNext uint64 // position of the next bucket to be judged against its own past

	peers, self cusum
	peer        float64 // seconds, the peers' median in the last bucket
	n           int
	echo        Summary
	mode        Mode
	quorumAt    time.Duration
	hadQuorum   bool
	answerAt    time.Duration
	began       time.Duration
}

// RankOptions describe a rank.
type RankOptions struct {
	Cohort uint64
	Rank   int32
	// Hetero: the cohort's ranks are of different stages or GPU models. Lasting differences are normal.
	Hetero bool
	// Free: ranks do not wait for each other. Buckets are made by time.
	Free bool
}

// NewRank returns a rank without any steps.
func NewRank(o RankOptions) *Rank {
	return &Rank{options: o, peers: cusum{whole: o.Hetero}, self: cusum{whole: true}, merge: 1}
}

// Step adds a step. It must not end before the last one. Steps without own work are ignored.
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
	if r.work.pending(r.reference) { // own work cannot be scaled yet, as that of later steps will be
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
		if !r.options.Free && at%uint64(r.width) != 0 { // joined within a bucket: skip the rest of it
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

// Place sets the rank's position in its innermost communicator.
func (r *Rank) Place(p Place) { r.place = p }

// Exit notes that the rank's process has ended.
func (r *Rank) Exit() { r.exited = true }

// State returns the rank's state.
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

// Mode returns what the rank is compared with.
func (r *Rank) Mode() Mode { return r.mode }

// Evidence returns the evidence that the rank is slow, by the test that applies now, and the evidence that makes it a
// straggler.
func (r *Rank) Evidence() (g, h float64) {
	c := r.judge()
	if c.h > 0 {
		return c.g, c.h
	}
	return c.g, threshold(max(r.n, 1))
}

// Polls reports whether the agent should poll before its next push: the rank is a suspect, and the fleet does not
// know that yet or does not know the peers' newest bucket yet.
func (r *Rank) Polls() bool {
	c := &r.peers
	return c.suspect() && !c.alarmed && (!r.reported || r.next <= r.newest && r.ended > 0)
}

// Poll returns the poll to send. Pass the answer to Take.
func (r *Rank) Poll(node uint64) Poll {
	r.reported = r.peers.suspect()
	return Poll{Cohort: r.options.Cohort, Node: node, Rank: r.options.Rank, State: r.State()}
}

// Push fills in what to push about the rank.
func (r *Rank) Push(p *RankPush) {
	r.reported = r.peers.suspect()
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

// Width returns how many synchronisations a bucket of the rank has, 0: not yet known.
func (r *Rank) Width() uint32 { return r.width }

// Merge returns how many buckets are merged into one.
func (r *Rank) Merge() uint32 { return r.merge }

// Reference returns the amount of work that the rank's buckets are scaled to, 0: none.
func (r *Rank) Reference() float32 { return float32(r.reference) }

// Echo returns the newest summary that the rank got.
func (r *Rank) Echo() Summary { return r.echo }
