package store

import "github.com/ingero-io/ingero/event"

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

// RankSteps is what was measured of a process that is, or may be, a rank of a distributed job, in about a
// second: its steps (docs/fleet-design.md), and what else is needed to compare it with its peers.
type RankSteps struct {
	At  uint64 // Unix ns up to which it was measured
	PID uint32
	// Rank is that of the communicator by which steps are counted, -1: none are. Ranks is how many it has.
	Rank, Ranks int32
	Comm        uint64 // the communicator: event.Collective.CommID
	Every       uint32 // its operations that make a step
	// Key is the same for all ranks whose steps can be compared; 0 without a rank.
	Key   uint64
	Steps []RankStep // that ended, in order
	// Why is why nothing is measured, or what to know of it; empty: it is measured.
	Why     string
	Skipped uint64 // steps since the start that were left out because records were dropped
	Pairs   uint64 // sends and receives since the start
	Spare   bool   // the host has time to spare: nobody waits for what it does longer
	// Entered is the number of the last operation of the communicator that was entered, 0: not known. OpenNS is
	// for how long a call has waited for the GPU or other ranks that has not returned.
	Entered uint32
	OpenNS  uint64
	// Waits is for how long threads that dispatch waited, in ns by class: between calls, and in calls that do
	// not wait for the GPU or other ranks.
	Waits [event.NumClasses]uint64
	Ended bool // the process has ended
}

// RankStep is a step of a rank.
type RankStep struct {
	Seq uint64 // the same on all ranks
	End uint64 // Unix ns
	// OwnNS is own work, WaitNS the rest: waits in collectives. GPUNS is the part of OwnNS that was waited for the
	// rank's own GPU.
	OwnNS, WaitNS, GPUNS uint64
	Work                 float64 // launches, graphs and copies
	Clock                float64 // the GPU's, as a share of the highest; 0: not known
	// Device: waits were measured on the GPU, not by the host.
	Device bool
}
