package health

import (
	"math"
	"time"
)

// The numbers by which ranks are judged. "Simulated" means: chosen by simulated jobs whose seeds
// are not those of the published tables (docs/fleet-measured.md); times are of the wall clock.
const (
	// PushEvery is the time between two pushes of an agent. Simulated: 5 s costs 1.3 s of delay.
	PushEvery = 2 * time.Second
	// PushSpread is within what agents of a cohort push after their common tick.
	PushSpread = 500 * time.Millisecond
	// PollEvery is how often a suspect asks again until its newest bucket has a quorum.
	PollEvery = 500 * time.Millisecond

	// BucketTime is how long a bucket is meant to be.
	BucketTime = 500 * time.Millisecond
	// FreeBucket is the least length of a bucket of ranks that do not wait for each other; it is also
	// no shorter than 3 steps.
	FreeBucket = time.Second
	// MaxWidth is how many synchronisations a bucket may have: half a second at 1 ms each.
	MaxWidth = 512
	// medianFrom is from how many samples on a bucket's value is their median; from trimFrom on it is
	// the mean without the largest, below it the mean.
	medianFrom, trimFrom = 8, 3

	// Repeated is how many of its last buckets a push repeats, so that a lost push costs nothing.
	Repeated = 8
	// Kept is how many buckets the fleet keeps of a cohort.
	Kept = 16
	// quorumShare and quorumLeast say of how many ranks a bucket must be known.
	quorumShare, quorumLeast = 0.6, 3

	// mergeNoise is the noise (log) of a bucket above which buckets are merged: as many as bring it
	// below. Tuned on a real job of variable sequence lengths.
	mergeNoise = 0.06
	// MaxMerge is how many buckets may be merged.
	MaxMerge = 64
	// mergeEvery is the time between two changes of how many are merged, or of a bucket's width.
	mergeEvery = 30 * time.Second
	// mergeStall bounds what one stalled bucket adds to a merged one, in medians of those merged.
	mergeStall = 4
	// rescaled is by how much more noise is assumed after buckets changed their size.
	rescaled = 1.15

	// warmBuckets are learned from before a rank is judged.
	warmBuckets = 20
	// offsetSpread is how much ranks of one kind differ for good (log). Real jobs: up to 0.5 %.
	offsetSpread = 0.005
	// offsetMost bounds a learned offset (log): what is more is a fault, not a habit.
	offsetMost = 0.03
	// offsetLeak is the time constant in which the offset follows.
	offsetLeak = 600 * time.Second
	// selfLeak is the time constant in which a rank's baseline of itself follows while peers say that it
	// is like them.
	selfLeak = 120 * time.Second

	// referenceRange is by which factor the usual amount of work may leave the cohort's reference.
	referenceRange = 1.5

	// noiseLeast is the least noise assumed of a bucket (log), noiseFactor what it is multiplied by.
	noiseLeast, noiseFactor = 0.008, 1.2
	// evidence is the least h, see threshold; simulated against false alarms.
	evidence = 16.0
	// suspectShare is the share of h from which on a rank is a suspect and nothing is learned of it.
	suspectShare = 0.25
	// fewestBuckets is in how many buckets g may reach h at the earliest.
	fewestBuckets = 3
	// hiccupLongest and fillLeast bound how fast g fills: a slow stretch of 3 s cannot fill it.
	hiccupLongest, fillLeast = 3100 * time.Millisecond, 4 * time.Second
	// stallFrom is the excess (log) from which a single bucket after a normal one is taken for a stall;
	// it counts stallCredit at most. Not for buckets of stallBucket or longer.
	stallFrom, stallCredit, stallBucket = 0.2, 1.0, 2 * time.Second
	// resolveAfter is how long g must be 0 until a straggler is one no more.
	resolveAfter = 5 * time.Second

	// The slow lane: means of laneTime, each excess clipped to ±laneClip, noise of at least laneNoise
	// times laneFactor; laneWarm of them are learned from. It finds what is slow only now and then.
	laneTime                        = 10 * time.Second
	laneClip, laneNoise, laneFactor = 0.3, 0.012, 1.3
	laneWarm, laneFewest            = 4, 4

	// missingAfter is the silence after which a rank is missing: three pushes.
	missingAfter = 3 * PushEvery
	// elsewhereFor is how much later a rank is missing whose agent knows other fleets. By then those that can still reach
	// this fleet have followed it to where it is, and this one has nobody to be compared with.
	elsewhereFor = 5 * PushEvery
	// forgetAfter is the silence after which a missing rank is forgotten, and a cohort dropped.
	forgetAfter = 60 * time.Second
	// idleAfter is the time without a step after which a rank is idle.
	idleAfter = 30 * time.Second
	// hangLeast and hangSteps: a collective that is open for longer than both hangs.
	hangLeast, hangSteps = 3 * time.Second, 5
	// degradedShare of a cohort, and degradedLeast ranks, that become stragglers within
	// degradedWithin are one verdict on the cohort.
	degradedShare, degradedLeast, degradedWithin = 0.25, 3, 10 * time.Second
	// cohortSlowHeld is how long a cohort must be slower than its ranks' baselines.
	cohortSlowHeld = 5 * time.Second

	// freshFor is the age up to which an answer with a quorum is current, cachedFor up to which it is
	// cached. Both as published for earlier agents.
	freshFor, cachedFor = 20 * time.Second, 5 * time.Minute
	// selfBuckets is how many buckets a rank's baseline of itself needs.
	selfBuckets = 30
	// goneAfter is the time between the two answers in which peers must still run after a process ended.
	goneAfter = time.Second

	// What one fleet accepts.
	maxCohorts, maxRanks = 1 << 16, 1 << 20
	// MaxCohortRanks is how many ranks a cohort may have, MaxNodeRanks how many a push.
	MaxCohortRanks, MaxNodeRanks = 1 << 14, 64
	// valueMost bounds a bucket's value, the log of seconds: e^20 s is 15 years.
	valueMost = 20
	// MaxPosition bounds a bucket's position.
	MaxPosition = 1 << 62
)

// slower is the slowdown that the test is made for (log): 10 %. Half of it is the least that can be found.
var slower = math.Log(1.10)

// threshold is h, the evidence (log of the likelihood ratio) for a straggler among n ranks. It
// grows with n, so that large cohorts do not give more false alarms than small ones.
func threshold(n int) float64 {
	return evidence + math.Log(max(1, float64(n)/8))
}

// Quorum is of how many of size ranks a bucket must be known.
func Quorum(size int) int {
	return max(quorumLeast, int(math.Ceil(quorumShare*float64(size))))
}
