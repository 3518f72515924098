// Package simulate runs jobs in virtual time through the real code of cluster/health, and scores the verdicts. Jobs,
// their noise and the network are modelled; the detection is not. The same seed gives the same result.
package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// Job is a cohort of ranks, with its disturbances and faults. Times are in seconds, spreads in logs: 0.03 is about 3
// %.
type Job struct {
	Ranks  int
	Length float64 // of the run

	Step   float64 // median own work per synchronisation
	Noise  float64 // of a rank's step
	Lag    float64 // correlation of that noise from step to step
	Offset float64 // lasting differences between ranks
	Common float64 // noise that all ranks share
	Send   float64 // transfer time as a share of Step
	Leak   float64 // share of the wait for others that is counted as own work

	Bursts      float64 // per rank-hour: 0.5 to 2.9 s at 1.2 to 3 times the work
	Stalls      float64 // per rank-hour: one step longer by 0.1 to 1 s
	Phases      bool    // the whole cohort's work changes by 0.6 to 1.6, about every 2 minutes
	Checkpoints bool    // 3 to 30 s, half of them of rank 0 only
	Stages      int     // pipeline stages; the last one takes StageMore (log) longer
	StageMore   float64

	Free bool    // ranks do not wait for each other
	Skew float64 // largest difference of a node's clock

	// Variable amounts of work: the amount of each rank's step has this spread, and own work is the amount to the power
	// of WorkPower. Known: the agent knows the amount.
	Work, WorkPower float64
	Known           bool

	Faults []Fault
	Change float64 // factor on the work of all ranks from ChangeAt on, 0: none
	// ChangeAt is when Change begins.
	ChangeAt float64
	// Leaves is when ranks stop for good, by rank: if Exit, their process ends, otherwise their node is silent. The others
	// go on without them. Joins is when a rank starts.
	Leaves, Joins map[int]float64
	Exit          bool

	Net Net
}

// Fault is a fault of a rank.
type Fault struct {
	Rank   int
	Factor float64 // on own work: 1.2 takes 20 % longer
	From   float64
	For    float64 // 0: until the end
	Rise   float64 // seconds until the factor is reached, 0: at once
	Share  float64 // part of each 10 s in which the fault is active, 0: all
}

// Net is the network between agents and fleets.
type Net struct {
	NodeRanks int           // ranks a node, 0: 8
	Every     time.Duration // 0: health.PushEvery
	Unaligned bool          // each agent pushes at its own time
	NoPoll    bool          // suspects do not poll
	Lost      float64       // share of pushes that are lost
	Moves     []float64     // when the cohort moves to the other of two fleets
	Restarts  []float64     // when all fleets lose their state
	Down      [2]float64    // begin and end of the time when no fleet answers
	// Fleets is how many fleets agents choose from. 0: they do not choose, and Moves says where they push. Otherwise
	// Restarts and Down are not used.
	Fleets  int
	Outages []Outage
}

// ordinary returns a job with the disturbances that every run has.
func ordinary(ranks int, step, noise float64) Job {
	return Job{
		Ranks: ranks, Step: step, Noise: noise, Lag: 0.15, Offset: 0.004, Common: 0.02, Send: 0.1,
		Bursts: 1, Stalls: 6,
	}
}

// source generates the own work of a job's steps.
type source struct {
	job    *Job
	random *rand.Rand
	offset []float64
	noise  []float64
	burst  []burst
	fault  [][]*Fault
	phase  float64
	next   struct{ phase, checkpoint float64 }
	stall  int // rank with a checkpoint in this step, everyone or nobody
	length float64
	common float64
}

type burst struct{ until, factor float64 }

const everyone, nobody = -2, -1

func newSource(j *Job, random *rand.Rand) *source {
	s := &source{job: j, random: random, stall: nobody}
	s.offset, s.noise = make([]float64, j.Ranks), make([]float64, j.Ranks)
	s.burst, s.fault = make([]burst, j.Ranks), make([][]*Fault, j.Ranks)
	for i := range s.offset {
		s.offset[i] = j.Offset * random.NormFloat64()
		if j.Stages > 1 && i%j.Stages == j.Stages-1 {
			s.offset[i] += j.StageMore
		}
		s.noise[i] = random.NormFloat64()
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		s.fault[f.Rank] = append(s.fault[f.Rank], f)
	}
	s.next.phase, s.next.checkpoint = math.Inf(1), math.Inf(1)
	if j.Phases {
		s.next.phase = 30 + 120*random.Float64()
	}
	if j.Checkpoints {
		s.next.checkpoint = 60 + 240*random.Float64()
	}
	return s
}

// begin draws what all ranks have in common in the step that begins at t.
func (s *source) begin(t float64) {
	if t >= s.next.phase {
		s.phase = math.Log(0.6 + s.random.Float64())
		s.next.phase = t + 30 + 200*s.random.Float64()
	}
	s.stall = nobody
	if t >= s.next.checkpoint {
		s.next.checkpoint = t + 200 + 400*s.random.Float64()
		s.length = 3 + 27*s.random.Float64()
		if s.stall = everyone; s.random.Float64() < 0.5 {
			s.stall = 0
		}
	}
	s.common = s.phase + s.job.Common*s.random.NormFloat64()
	if s.job.Change > 0 && t >= s.job.ChangeAt {
		s.common += math.Log(s.job.Change)
	}
}

// own returns a rank's own work in the step that begins at t, and the amount of work in it.
func (s *source) own(i int, t float64) (seconds, amount float64) {
	j, random := s.job, s.random
	s.noise[i] = j.Lag*s.noise[i] + math.Sqrt(1-j.Lag*j.Lag)*random.NormFloat64()
	log := s.common + s.offset[i] + j.Noise*s.noise[i]
	amount = 1
	if j.Work > 0 {
		a := j.Work * random.NormFloat64()
		amount = math.Exp(a)
		log += j.WorkPower * a
	}
	v := math.Exp(log) * j.Step
	for _, f := range s.fault[i] {
		v = f.slow(t, v)
	}
	perStep := j.Step / 3600
	if j.Bursts > 0 && t >= s.burst[i].until && random.Float64() < j.Bursts*perStep {
		s.burst[i] = burst{until: t + 0.5 + 2.4*random.Float64(), factor: 1.2 + 1.8*random.Float64()}
	}
	if t < s.burst[i].until {
		v = stretch(t, v, t, s.burst[i].until, s.burst[i].factor)
	}
	if j.Stalls > 0 && random.Float64() < j.Stalls*perStep {
		v += 0.1 + 0.9*random.Float64()
	}
	if s.stall == i || s.stall == everyone {
		v += s.length
	}
	return v, amount
}

// slow returns how long work of v seconds that begins at t takes with the fault.
func (f *Fault) slow(t, v float64) float64 {
	factor := f.Factor
	switch {
	case t < f.From && (f.Rise > 0 || f.Share > 0):
		return v
	case f.Rise > 0:
		return v * (1 + (factor-1)*min(1, (t-f.From)/f.Rise))
	case f.Share > 0:
		if math.Mod(t-f.From, 10) < 10*f.Share {
			return v * factor
		}
		return v
	}
	until := math.Inf(1)
	if f.For > 0 {
		until = f.From + f.For
	}
	return stretch(t, v, f.From, until, factor)
}

// stretch returns how long work of w seconds takes from t on, if it takes factor times as long between from and
// until.
func stretch(t, w, from, until, factor float64) float64 {
	took := 0.0
	if t < from {
		if w <= from-t {
			return w
		}
		took = from - t
		w -= took
		t = from
	}
	if t < until {
		if w*factor <= until-t {
			return took + w*factor
		}
		took += until - t
		w -= (until - t) / factor
	}
	return took + w
}

func (s *source) took(longest float64) float64 {
	return longest + s.job.Send*s.job.Step*math.Exp(0.05*s.random.NormFloat64())
}
