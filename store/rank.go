package store

// RankEvent is something about a rank of a distributed job, or about all of its ranks, that began or
// ended: a fleet, which compares the ranks of many nodes, has said so.
type RankEvent struct {
	At      uint64 // Unix ns
	Type    string // as published: straggler_state, straggler_resolved, slow_vs_self, gone, missing, hang, …
	ID      string // a UUID, the same from beginning to end
	PID     uint32 // of the rank's process; 0: not known
	Rank    int32  // -1: all ranks of the job
	Ranks   int32  // of the job
	Cohort  string // the ranks that are compared with each other, 16 hexadecimal digits
	Cluster string // empty: not named
	// Mode is what the rank was compared with: fleet, fleet-cached, local-cached or local-baseline.
	Mode     string
	Resolved bool
	Since    uint64 // Unix ns from which on it was so, 0: not known
	// OwnNS is the rank's own work in a step, PeerNS that of what it is compared with, StepNS how long a
	// step takes; 0: not known.
	OwnNS, PeerNS, StepNS uint64
	// Cause is the kind of cause, empty: not known. CauseNS is what it costs in a step, Explained its share
	// of what the rank takes longer.
	Cause     string
	Culprit   string
	CauseNS   uint64
	Explained float64
	Summary   string // the event in a sentence
}
