package ownwork

// Reason is why own work of a process is not measured, or a note on the measurement.
type Reason uint8

// The reasons. With those up to NeverWaits, steps are measured.
const (
	Measured Reason = iota
	// NeverWaits: in many steps no wait for a collective was seen.
	NeverWaits
	// Dropped: records were dropped lately, and the steps of that time are left out.
	Dropped
	// Learning: there are too few collectives yet.
	Learning
	// NoCollective: the process has called no collective of NCCL.
	NoCollective
	// OnlyPairs: it only sends and receives.
	OnlyPairs
	// Alone: its communicators have one rank.
	Alone
	// OldCommunicator: its communicators are older than the tracing, so that operations have other numbers on other
	// ranks.
	OldCommunicator
	// SeveralRanks: it has several ranks of a communicator, and their threads cannot be distinguished.
	SeveralRanks
	// NoPattern: its collectives do not repeat.
	NoPattern
	// Silent: no collective for 30 s.
	Silent
	// InGraphs: no collective for 30 s, but it launches CUDA graphs, which may contain them.
	InGraphs
	// Reasons is the number of reasons.
	Reasons
)

var reasonTexts = [Reasons]string{
	Measured: "measured on the host",
	NeverWaits: "measured on the host; no wait for a collective was seen lately: it never waits, or in a way that " +
		"is not traced",
	Dropped:  "records were dropped: steps of that time are left out",
	Learning: "too few collectives yet",
	NoCollective: "no collective of NCCL was called: collectives of the CPU (gloo, MPI) and those in CUDA graphs " +
		"are not seen",
	OnlyPairs:       "it only sends to and receives from single ranks",
	Alone:           "it is the only rank",
	OldCommunicator: "its communicator is older than the tracing: start the tracer before the job",
	SeveralRanks:    "the process is several ranks, which cannot be told apart",
	NoPattern:       "its collectives follow no pattern that repeats, so that there are no steps",
	Silent:          "no collective for 30 s",
	InGraphs:        "no collective for 30 s but CUDA graphs, in which collectives are not seen",
}

// String returns the reason as text for people.
func (r Reason) String() string {
	if r < Reasons {
		return reasonTexts[r]
	}
	return "unknown"
}

// unwaitedSteps is after how many steps without a wait NeverWaits is reported.
const unwaitedSteps = 64

// Report describes the measurement of a process.
type Report struct {
	Reason Reason
	Source Source // of the steps; zero if there are none
	Steps  uint64 // so far
	// Skipped counts steps that were left out because records were dropped.
	Skipped uint64
	// Pairs counts sends and receives. A rank with some is a stage of a pipeline or the like: ranks of its communicator
	// may do different work.
	Pairs uint64
	// Follows is how much of a change of own work becomes a change of the step's length, FollowsError its standard
	// error. Near 0 the host has time to spare: no rank waits for its own work.
	Follows, FollowsError float64
	FollowsKnown          bool // there were enough steps, and own work varies
}

// Spare reports whether the host certainly has time to spare, so that no rank waits if its own work takes longer.
func (r *Report) Spare() bool {
	return r.FollowsKnown && r.Follows+2*r.FollowsError < spareMost
}

// spareMost is the most of a change of own work that may become a change of the step if the host has time to spare.
// It excludes a rank that is last in a third of the steps or more.
const spareMost = 0.3

// Report returns the report of a process at a time (Unix ns). Call it after Take.
func (t *Tracker) Report(pid uint32, at uint64) Report {
	p := t.procs[pid]
	if p == nil {
		return Report{Reason: NoCollective}
	}
	r := Report{Reason: p.reason(at), Steps: p.counts.steps, Skipped: p.counts.skipped, Pairs: p.pairs}
	if r.Reason <= Dropped && p.chosen != nil {
		r.Source = p.source()
		r.Follows, r.FollowsError, r.FollowsKnown = p.follow.slope()
	}
	return r
}

// Entered returns the number of the last operation that a process entered in a communicator, 0 if none is known.
func (t *Tracker) Entered(pid uint32, comm uint64) uint32 {
	if p := t.procs[pid]; p != nil {
		for _, m := range p.comms {
			if m.id == comm && m.born != 0 {
				return m.last
			}
		}
	}
	return 0
}

func (p *process) reason(at uint64) Reason {
	late := p.moved+uint64(silentAfter) < at
	switch {
	case p.moved == 0:
		return NoCollective
	case p.several():
		return SeveralRanks
	case p.counts.dropped:
		return Dropped
	case p.chosen != nil && p.counts.unwaited >= unwaitedSteps:
		return NeverWaits
	case p.chosen != nil:
		return Measured
	case late && p.graphs > p.moved:
		return InGraphs
	case late:
		return Silent
	case len(p.comms) == 0 && p.pairs > 0:
		return OnlyPairs
	}
	return p.unusable()
}

// unusable returns why none of the communicators can be used.
func (p *process) unusable() Reason {
	alone, old, full := true, true, false
	for _, m := range p.comms {
		if !m.known {
			return Learning
		}
		alone = alone && m.ranks == 1
		old = old && m.id == 0
		full = full || m.full && m.every == 0
	}
	switch {
	case len(p.comms) == 0:
		return Learning
	case alone:
		return Alone
	case old:
		return OldCommunicator
	case full:
		return NoPattern
	}
	return Learning
}
