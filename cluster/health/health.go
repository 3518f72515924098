// Package health finds the rank that the others of its job wait for, by peers.
//
// In a synchronous job all ranks have the same step time. What differs is their own work: the step
// without the time in which they wait in collectives. The agent's half, Rank, makes buckets of own
// work and, with the answer of the fleet's half, Cohort, decides whether its rank is a straggler.
// The fleet's half knows only the middle of each bucket; it decides nothing about a rank's speed.
// The halves exchange Push and Reply.
//
// The package has no clock, no I/O and no goroutines. Times are durations since any moment that is
// the same for all, such as the Unix epoch. It does not measure: see Measured.
package health

import "time"

// Measured says how the wait in collectives, and so the own work, of a step was measured.
type Measured uint8

// How a step was measured, from the best to the worst.
const (
	MeasuredUnknown Measured = iota
	// MeasuredDevice: when collectives ran on the GPU.
	MeasuredDevice
	// MeasuredHost: synchronisations of the host with collectives. A rank whose GPU is slow looks
	// like its peers, so that its clock is used too (Step.Clock).
	MeasuredHost
)

var measuredNames = [...]string{"", "device", "host"}

// String is how, as published; empty if it is not known.
func (m Measured) String() string { return name(measuredNames[:], int(m)) }

// State is what a rank is.
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

// Mode is what a rank is compared with. Only ModeFleet can find a straggler; the others know
// the rank's own past only, and that changes with every change of the job.
type Mode uint8

// The modes, as published for earlier agents.
const (
	ModeNone          Mode = iota // nothing to compare with yet
	ModeFleet                     // a quorum of peers, at most 20 s ago
	ModeFleetCached               // the fleet answers without a quorum; the last one was at most 5 min ago
	ModeLocalCached               // the fleet does not answer; the last quorum was at most 5 min ago
	ModeLocalBaseline             // own history of 30 buckets
)

var modeNames = [...]string{"none", "fleet", "fleet-cached", "local-cached", "local-baseline"}

func (m Mode) String() string { return name(modeNames[:], int(m)) }

// Kind is the kind of a verdict.
type Kind uint8

// The kinds of verdicts.
const (
	// KindStraggler: a rank's own work takes 10 % longer than its peers', or about so.
	KindStraggler Kind = iota
	// KindSlowVsSelf: it takes longer than it used to; whether peers changed too is not known.
	KindSlowVsSelf
	// KindGone: its process ended while peers run.
	KindGone
	// KindMissing: its node is silent while peers are not.
	KindMissing
	// KindHang: others wait for it in a collective that does not end.
	KindHang
	// KindCohortSlow: most ranks are slower than they were. Only information.
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

// Verdict is what is reported when a rank's or a cohort's condition begins or ends.
type Verdict struct {
	Kind   Kind
	Cohort uint64
	Rank   int32 // NoRank: the whole cohort
	// Node is which node pushed the rank, 0: the agent's own, or the whole cohort.
	Node     uint64
	Resolved bool // it ended
	// Folded: part of a cohort_degraded, which is reported once instead. The first ones are told before
	// it is known that there are more.
	Folded bool
	At     time.Duration // when it was decided
	Since  time.Duration // when it began
	Mode   Mode
	// Excess is own work beyond the peers' (of slow_vs_self: beyond its past), as a share: 0.2 is
	// 20 % longer. Of cohort_slow: the median rank's beyond its past.
	Excess    float64
	Own, Peer float64 // seconds of own work a step: the rank's, and what it is compared with
	Sigma     float64 // noise assumed (log)
	G, H      float64 // evidence, and how much was needed
	N         int     // ranks compared, or concerned
	Measured  Measured
}

// Place is how far a rank is in its innermost communicator.
type Place struct {
	Comm      uint32 // the communicator's id, 0: unknown
	Enqueued  uint32 // low half of the number of the last collective that it entered
	Completed uint32 // low half of that of the last one that ended
	Open      time.Duration
}

// RankPush is what an agent pushes of a rank.
type RankPush struct {
	Rank   int32
	Newest uint64 // position of the newest bucket
	// X is log of seconds of own work, of the positions Newest, Newest-1 and so on; NaN is none.
	X        [Repeated]float32
	Sigma    float32 // noise of a bucket by mean deviation (log), 0: not yet known
	Spread   float32 // the same by mean square
	Offset   float32 // learned offset from peers (log)
	G        float32
	Excess   float32 // of the newest decided bucket (log)
	Shift    float32 // newest bucket against its own past (log)
	Interval float32 // seconds between synchronisations
	Own      float32 // seconds of own work a step
	Wait     float32 // seconds in collectives a step
	Amount   float32 // mean amount of work a step, 0: not known
	State    State
	Mode     Mode
	Measured Measured
	// Exited: its process ended, or it is pushed to another fleet from now on.
	Exited bool
	Place  Place
}

// Push is what an agent sends of its node's ranks in one cohort. A rank without a step yet is left out.
type Push struct {
	Cohort uint64        // hash of job, pipeline stage and GPU model
	Node   uint64        // hash of the node's name; not 0
	Sent   time.Duration // by the agent's clock: rises from push to push
	Size   int32         // ranks that the cohort has by what the agent knows
	Width  uint32        // of its buckets, 0: none yet
	Merge  uint32
	// Reference is the amount of work that buckets are of, 0: none.
	Reference float32
	Free      bool // ranks do not wait for each other: buckets are of time
	// Others: the agent knows other fleets. If it falls silent here, it may push there.
	Others bool
	Ranks  []RankPush
	// Echo is the newest summary that the agent was given. A fleet that has just started knows the
	// cohort's widths and middle by it.
	Echo Summary
}

// Poll is what a suspect asks with between two pushes.
type Poll struct {
	Cohort, Node uint64
	Rank         int32
	State        State
}

// Summary is the middle of a bucket: all that is needed for the median of the others of any rank.
type Summary struct {
	Position uint64
	N        uint32 // ranks that it is of, 0: no summary
	// Lo, Mid and Hi are the order statistics around the middle; of an even number Lo and Mid are the
	// middle two.
	Lo, Mid, Hi float32
	Sigma       float32 // median of the ranks' noise
}

// Reply is the fleet's answer to a push.
type Reply struct {
	Width uint32 // synchronisations a bucket has; if Free, seconds
	Merge uint32 // how many buckets make one
	// Reference is the amount of work that buckets are to be of, 0: not known.
	Reference float32
	// Size is how many ranks there are, Live of how many a push came lately.
	Size, Live uint32
	Degraded   bool // many ranks turned suspect at once
	Buckets    []Summary
}

// Quorum reports whether a bucket of the answer is of enough ranks.
func (r *Reply) Quorum() bool { return len(r.Buckets) > 0 }

// NextPush is the next moment after now at which an agent of a cohort pushes. All agents of a cohort
// push at about the same time, and cohorts at different times. spread, in [0, 1), is the agent's own.
func NextPush(cohort uint64, now time.Duration, spread float64) time.Duration {
	phase := time.Duration(cohort%uint64(PushEvery)) + time.Duration(spread*float64(PushSpread))
	k := (now-phase)/PushEvery + 1
	if now < phase {
		k = 0
	}
	return k*PushEvery + phase
}
