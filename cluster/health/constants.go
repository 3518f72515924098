package health

import (
	"math"
	"time"
)

// The constants of the judgement. "Simulated" means: chosen with simulated jobs, whose seeds are not those of the
// published tables (docs/fleet-measured.md). Times are wall-clock times.
const (
	// PushEvery is the time between two pushes of an agent. Simulated: 5 s costs 1.3 s of delay.
	PushEvery = 2 * time.Second
	// PushSpread is the time after the common tick within which the agents of a cohort push.
	PushSpread = 500 * time.Millisecond
	// PollEvery is how often a suspect asks again until its newest bucket has a quorum.
	PollEvery = 500 * time.Millisecond

	// BucketTime is the intended length of a bucket.
	BucketTime = 500 * time.Millisecond
	// FreeBucket is the least length of a bucket if ranks do not wait for each other. A bucket also lasts at least 3
	// steps.
	FreeBucket = time.Second
	// MaxWidth is how many synchronisations a bucket may have: half a second at 1 ms each.
	MaxWidth = 512
	// From medianFrom samples on, a bucket's value is their median; from trimFrom on, their mean without the largest;
	// with fewer, their mean.
	medianFrom, trimFrom = 8, 3

	// Repeated is how many of its last buckets a push repeats, so that a lost push does no harm.
	Repeated = 8
	// Kept is how many buckets of a cohort the fleet keeps.
	Kept = 16
	// quorumShare and quorumLeast define how many ranks a bucket needs.
	quorumShare, quorumLeast = 0.6, 3

	// mergeNoise is the noise of a bucket (log) above which buckets are merged, as many as bring it below. Tuned on a
	// real job with variable sequence lengths.
	mergeNoise = 0.06
	// MaxMerge is how many buckets may be merged.
	MaxMerge = 64
	// mergeEvery is the time between two changes of how many are merged, or of a bucket's width.
	mergeEvery = 30 * time.Second
	// mergeStall bounds the share of one stalled bucket in a merged one, in medians of the merged buckets.
	mergeStall = 4
	// rescaled is the factor by which noise is assumed to rise when buckets change their size.
	rescaled = 1.15

	// warmBuckets is how many buckets a rank's offset and noise are learned from before it is judged.
	warmBuckets = 20
	// offsetSpread is how much ranks of one kind differ permanently (log). Real jobs: up to 0.5 %.
	offsetSpread = 0.005
	// offsetMost bounds a learned offset (log): a larger one is a fault.
	offsetMost = 0.03
	// offsetLeak is the time constant of learning the offset.
	offsetLeak = 600 * time.Second
	// selfLeak is the time constant of a rank's own baseline while it is like its peers.
	selfLeak = 120 * time.Second

	// referenceRange is the factor by which the usual amount of work may differ from the cohort's reference.
	referenceRange = 1.5

	// noiseLeast is the least noise of a bucket that is assumed (log), noiseFactor the factor on measured noise.
	noiseLeast, noiseFactor = 0.008, 1.2
	// evidence is the least h, see threshold; simulated for few false alarms.
	evidence = 16.0
	// suspectShare is the share of h from which on a rank is a suspect, and nothing is learned from its buckets.
	suspectShare = 0.25
	// fewestBuckets is the fewest buckets in which g can reach h.
	fewestBuckets = 3
	// hiccupLongest and fillLeast bound how fast g rises: a slow stretch of 3 s cannot bring it to h.
	hiccupLongest, fillLeast = 3100 * time.Millisecond, 4 * time.Second
	// stallFrom is the excess (log) from which a single bucket after a normal one counts as a stall: it adds at most
	// stallCredit. This does not apply to buckets of stallBucket or longer.
	stallFrom, stallCredit, stallBucket = 0.2, 1.0, 2 * time.Second
	// resolveAfter is how long g must be 0 until a straggler is resolved.
	resolveAfter = 5 * time.Second

	// The slow lane finds ranks that are slow only now and then. It uses means over laneTime, with each excess clipped
	// to ±laneClip and noise of at least laneNoise times laneFactor. It learns from the first laneWarm means.
	laneTime                        = 10 * time.Second
	laneClip, laneNoise, laneFactor = 0.3, 0.012, 1.3
	laneWarm, laneFewest            = 4, 4

	// missingAfter is the silence after which a rank is missing: three pushes.
	missingAfter = 3 * PushEvery
	// setBackAfter is the silence after which a push is accepted although it comes before the last one in the agent's
	// order: an earlier agent's clock was set back, or somebody pushed in the node's name. It is longer than a request
	// of an agent is under way (2 s), and ends before the rank is missing.
	setBackAfter = 3 * PushEvery / 2
	// elsewhereFor is added to missingAfter if the rank's agent knows other fleets. By then the ranks that can still
	// reach this fleet have followed it to the other one, and this fleet has no peers to compare with.
	elsewhereFor = 5 * PushEvery
	// forgetAfter is the silence after which a missing rank, or a cohort, is dropped.
	forgetAfter = 60 * time.Second
	// idleAfter is the time without a step after which a rank is idle.
	idleAfter = 30 * time.Second
	// hangLeast and hangSteps: a collective that is open for longer than both counts as hung.
	hangLeast, hangSteps = 3 * time.Second, 5
	// If degradedShare of a cohort, and at least degradedLeast ranks, become stragglers within degradedWithin, that is
	// one verdict on the cohort.
	degradedShare, degradedLeast, degradedWithin = 0.25, 3, 10 * time.Second
	// cohortSlowHeld is how long a cohort must be slower than its own past.
	cohortSlowHeld = 5 * time.Second

	// freshFor is the age up to which an answer with a quorum is current, cachedFor the age up to which it is used as
	// cached. Both are as published for earlier agents.
	freshFor, cachedFor = 20 * time.Second, 5 * time.Minute
	// selfBuckets is how many buckets a rank needs for a baseline of its own.
	selfBuckets = 30
	// goneAfter is the time between the two answers that must show peers running after a process ended.
	goneAfter = time.Second

	// Limits of one fleet.
	maxCohorts, maxRanks = 1 << 16, 1 << 20
	// MaxCohortRanks is how many ranks a cohort may have, MaxNodeRanks how many a push.
	MaxCohortRanks, MaxNodeRanks = 1 << 14, 64
	// valueMost bounds a bucket's value, the log of seconds: e^20 s is 15 years.
	valueMost = 20
	// MaxPosition bounds a bucket's position.
	MaxPosition = 1 << 62
)

// slower is the slowdown (log) that the test is designed for: 10 %. It can find half of that, no less.
var slower = math.Log(1.10)

// threshold returns h: the evidence (log of the likelihood ratio) that makes one of n ranks a straggler. It grows
// with n, so that large cohorts give no more false alarms than small ones.
func threshold(n int) float64 {
	return evidence + math.Log(max(1, float64(n)/8))
}

// Quorum returns how many of size ranks a bucket needs.
func Quorum(size int) int {
	return max(quorumLeast, int(math.Ceil(quorumShare*float64(size))))
}
