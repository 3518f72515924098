// Package health finds the rank that the others of its job wait for, by comparing peers.
//
// In a synchronous job all ranks have the same step time. They differ in own work: the step without the waits in
// collectives. The agent's half, Rank, makes buckets of own work. With the answer of the fleet's half, Cohort, it
// decides whether its rank is a straggler. The fleet's half only knows the middle of each bucket and decides nothing
// about a rank's speed. The halves exchange Push and Reply.
//
// The package has no clock, no I/O and no goroutines. Times are durations since any moment that is the same for all,
// such as the Unix epoch. The package does not measure: see Measured.
package health

import "time"

// Measured says how the wait in collectives of a step, and so its own work, was measured.
type Measured uint8

// The ways of measuring a step, from the best to the worst.
const (
	MeasuredUnknown Measured = iota
	// MeasuredDevice: times of collectives on the GPU.
	MeasuredDevice
	// MeasuredHost: times of the host's synchronisations with collectives. A rank with a slow GPU looks like its peers,
	// so the GPU's clock is used too (Step.Clock).
	MeasuredHost
)

var measuredNames = [...]string{"", "device", "host"}

// String returns the published name, empty if not known.
func (m Measured) String() string { return name(measuredNames[:], int(m)) }

// State is the state of a rank.
type State uint8

// The states of a rank.
const (
	Calibrating State = iota // its offset and noise are being learned
	Active
	Idle // no step for 30 s
	Suspect
	Straggler
)

var stateNames = [...]string{"calibrating", "active", "idle", "suspect", "straggler"}

func (s State) String() string { return name(stateNames[:], int(s)) }

// Mode is what a rank is compared with. Only ModeFleet can find a straggler. The other modes only know the rank's own
// past, which changes with every change of the job.
type Mode uint8

// The modes, named as published for earlier agents.
const (
	ModeNone          Mode = iota // nothing to compare with yet
	ModeFleet                     // a quorum of peers, at most 20 s ago
	ModeFleetCached               // the fleet answers without a quorum; the last one was at most 5 min ago
	ModeLocalCached               // the fleet does not answer; the last quorum was at most 5 min ago
	ModeLocalBaseline             // own history of 30 buckets
)

var modeNames = [...]string{"none", "fleet", "fleet-cached", "local-cached", "local-baseline"}

func (m Mode) String() string { return name(modeNames[:], int(m)) }

type Kind uint8

// The kinds of verdicts.
const (
	// KindStraggler: a rank's own work takes about 10 % longer than its peers' or more.
	KindStraggler Kind = iota
	// KindSlowVsSelf: it takes longer than it used to; whether peers changed too is not known.
	KindSlowVsSelf
	// KindGone: the rank's process ended while peers run.
	KindGone
	// KindMissing: the rank's node is silent while peers push.
	KindMissing
	// KindHang: others wait for the rank in a collective that does not end.
	KindHang
	// KindCohortSlow: most ranks are slower than they were. Information only.
	KindCohortSlow
	// KindCohortDegraded: more than a quarter of the cohort changed for the worse within 10 s.
	KindCohortDegraded
)

var kindNames = [...]string{
	"straggler", "slow_vs_self", "gone", "missing", "hang", "cohort_slow", "cohort_degraded",
}

func (k Kind) String() string { return name(kindNames[:], int(k)) }

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// NoRank is the rank of a verdict on a whole cohort.
const NoRank int32 = -1

// Verdict reports that a condition of a rank or a cohort began or ended.
type Verdict struct {
	Kind   Kind
	Cohort uint64
	Rank   int32 // NoRank: the whole cohort
	// Node is the node that pushed the rank. 0: the agent's own, or the verdict is on the whole cohort.
	Node     uint64
	Resolved bool // the condition ended
	// Folded: the verdict is part of a cohort_degraded, which is reported once instead. The first ones are reported
	// before it is known that there are more.
	Folded bool
	At     time.Duration // when it was decided
	Since  time.Duration // when the condition began
	Mode   Mode
	// Excess is own work beyond the peers', as a share: 0.2 is 20 % longer. For slow_vs_self it is beyond the rank's
	// past, for cohort_slow the median rank's beyond its past.
	Excess    float64
	Own, Peer float64 // seconds of own work per step: the rank's, and what it is compared with
	Sigma     float64 // noise assumed (log)
	G, H      float64 // evidence, and the evidence needed
	N         int     // ranks compared, or affected
	Measured  Measured
}

// Place is a rank's position in its innermost communicator.
type Place struct {
	Comm      uint32 // id of the communicator, 0: not known
	Enqueued  uint32 // low half of the number of the last collective that the rank entered
	Completed uint32 // low half of the number of the last collective that ended
	Open      time.Duration
}

// RankPush is what an agent pushes about a rank.
type RankPush struct {
	Rank   int32
	Newest uint64 // position of the newest bucket
	// X is the log of seconds of own work, at the positions Newest, Newest-1 and so on; NaN: no bucket.
	X        [Repeated]float32
	Sigma    float32 // noise of a bucket from the mean deviation (log), 0: not yet known
	Spread   float32 // the same from the mean square
	Offset   float32 // learned offset from peers (log)
	G        float32
	Excess   float32 // of the newest decided bucket (log)
	Shift    float32 // newest bucket against its own past (log)
	Interval float32 // seconds between synchronisations
	Own      float32 // seconds of own work per step
	Wait     float32 // seconds in collectives per step
	Amount   float32 // mean amount of work per step, 0: not known
	State    State
	Mode     Mode
	Measured Measured
	// Exited: the process ended, or the rank is pushed to another fleet from now on.
	Exited bool
	Place  Place
}

// Push is what an agent sends about its node's ranks in one cohort. It leaves out ranks without a step.
type Push struct {
	Cohort uint64        // hash of job, pipeline stage and GPU model
	Node   uint64        // hash of the node's name; not 0
	Sent   time.Duration // by the agent's clock, which may be set back
	// Run is a random number of the agent's connection to this fleet, and Number counts its pushes: they are in order
	// whatever the clock does. A Run of 0 is that of earlier agents, whose pushes are in the order of Sent.
	Run, Number uint64
	Size        int32  // ranks of the cohort, as far as the agent knows
	Width       uint32 // of the agent's buckets, 0: none yet
	Merge       uint32
	// Reference is the amount of work that buckets are scaled to, 0: none.
	Reference float32
	Free      bool // ranks do not wait for each other: buckets are made by time
	// Others: the agent knows other fleets. If it is silent here, it may push there.
	Others bool
	Ranks  []RankPush
	// Echo is the newest summary that the agent got. A fleet that has just started learns the cohort's widths and middle
	// from it.
	Echo Summary
}

// Poll is what a suspect sends to ask between two pushes.
type Poll struct {
	Cohort, Node uint64
	Rank         int32
	State        State
}

// Summary is the middle of a bucket. It suffices to compute, for any rank, the median of the others.
type Summary struct {
	Position uint64
	N        uint32 // number of ranks, 0: no summary
	// Lo, Mid and Hi are the order statistics around the middle. If N is even, Lo and Mid are the middle two.
	Lo, Mid, Hi float32
	Sigma       float32 // median of the ranks' noise
}

// Reply is the fleet's answer to a push.
type Reply struct {
	Width uint32 // synchronisations per bucket; if Free, seconds
	Merge uint32 // how many buckets are merged into one
	// Reference is the amount of work that buckets are to be scaled to, 0: not known.
	Reference float32
	// Size is the cohort's size, Live how many of its ranks pushed lately.
	Size, Live uint32
	Degraded   bool // many ranks turned suspect at once
	Buckets    []Summary
}

// Quorum reports whether the answer has a bucket with enough ranks.
func (r *Reply) Quorum() bool { return len(r.Buckets) > 0 }

// NextPush returns when an agent of a cohort pushes next, after now. All agents of a cohort push at about the same
// time, different cohorts at different times. spread, in [0, 1), is the agent's own.
func NextPush(cohort uint64, now time.Duration, spread float64) time.Duration {
	phase := time.Duration(cohort%uint64(PushEvery)) + time.Duration(spread*float64(PushSpread))
	k := (now-phase)/PushEvery + 1
	if now < phase {
		k = 0
	}
	return k*PushEvery + phase
}
