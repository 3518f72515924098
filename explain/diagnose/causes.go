package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// The kinds of causes there are: the values of report.Cause.Kind.
const (
	CPUContention   = "cpu_contention"
	CPUThrottled    = "cpu_throttled"
	LockContention  = "lock_contention"
	BlockIO         = "block_io"
	MemoryPressure  = "memory_pressure"
	PageFault       = "page_fault"
	NetworkWait     = "network_wait"
	PeerWait        = "peer_wait"
	InputStarvation = "input_starvation"
	GPUWait         = "gpu_wait"
	DriverCPU       = "driver_cpu"
	ColdStart       = "cold_start"
	PageableCopy    = "pageable_copy"
	AllocChurn      = "alloc_churn"
	MemoryLeak      = "memory_leak"
	ImplicitSync    = "implicit_sync"
	GraphRecapture  = "graph_recapture"
	GraphPool       = "graph_pool_growth"    // graph_pool.go
	GraphCapture    = "graph_capture_failed" // graph_capture.go
	GraphLaunchDrop = "graph_launch_drop"    // graph_rate.go
	LaunchBound     = "launch_bound"
	CollectiveWait  = "collective_straggler"
	GPUContention   = "gpu_contention"
	ThermalThrottle = "thermal_throttle"
	Hang            = "hang" // a call that does not return: hang.go
	Unknown         = "unknown"

	idleKind = "idle" // waiting for work: listed, never a cause
)

// Kinds lists every value that report.Cause.Kind may have.
var Kinds = []string{
	CPUContention, CPUThrottled, LockContention, BlockIO, MemoryPressure, PageFault, NetworkWait, PeerWait,
	InputStarvation, GPUWait, DriverCPU, ColdStart, PageableCopy, AllocChurn, MemoryLeak, ImplicitSync,
	GraphRecapture, GraphPool, GraphCapture, GraphLaunchDrop, LaunchBound, CollectiveWait, GPUContention,
	ThermalThrottle, Hang, Unknown,
}

// cause explains one kind of lost time. It is one file, which has a value of this type; all but the kind may be
// left out. What differs between causes is asked of the value: nothing else asks for the kind.
type cause struct {
	kind string
	// unexplained says that the time is lost to nothing that is known.
	unexplained bool

	// What it takes of a thread's time.

	// claimEpisode takes the time it explains out of an account.
	claimEpisode func(*evidence, *account) []claim
	// claimAggregate takes time that is always lost, so that no median shows it: it
	// looks at how often a thread calls what, and takes from what no claim took.
	claimAggregate func(*evidence, *subject) []claim
	// refinable says that its claims are waits for the GPU, which refine of another cause gives to
	// what made the GPU slow.
	refinable bool
	refine    func(*evidence, *subject, []*claim)
	// inLink is how much of the time of a thread that was waited for shows this cause, ns. The order
	// in which causes are asked is linkCauses.
	inLink func(*evidence, *ledger.Link) uint64

	// What a wait for another thread comes down to (root.go).

	// idle says that it is waiting for work, which is no loss.
	idle bool
	// fromWorker says that a thread of the program's own made what was waited for.
	fromWorker bool
	// answered is the kind of a wait that looks like this one and was for an answer; empty: the same.
	answered string
	// passedOn is the kind of a wait that looks like this one and was for input that is passed on.
	passedOn string

	// What is one finding.

	// joinsThreads says that all threads of another process are one root: pipeline.go.
	joinsThreads bool
	// complete finds out what is known only of all claims of a finding together.
	complete func(*evidence, *finding)
	// place names where another thread's part in a loss happened. Findings of one thread at the same
	// place are one. It is false for a loss that is gathered with no other.
	place func(*evidence, *finding) (string, bool)
	// samePlace compares two findings whose place has the same name; nil: they are at the same.
	samePlace func(a, b *finding) bool
	// sharedRoot names what several processes may suffer from, empty if it is nothing; nil: the thread that
	// was waited for.
	sharedRoot func(*evidence, *finding) string

	// How it is judged.

	// leastPct is the share of a thread's time from which it is reported, percent; nil: minPct.
	leastPct func(*evidence) float64
	// mildPct is the share below which it is no more than MEDIUM, percent: a property of the program
	// rather than a fault.
	mildPct float64
	// counts are the classes of the time of the thread at the root that are the cause.
	counts []event.Class
	// lacks is what claims do not explain before complete has run.
	lacks string
	// why says what is missing for an explanation; nil: the evidence covers too little.
	why func(*finding) string

	// What would be without it.

	// gpuSide says that it is of the GPU's own time: removing it hides nothing behind the GPU.
	gpuSide bool
	// once says that it is not in every step.
	once bool
	// leastStep is what a step takes at least, whatever is done about the cause, ns, and why; 0 if that is no
	// matter, or not known.
	leastStep func(*evidence, *finding) (ns uint64, why string)

	// How it is described.

	// describe fills in a finding's summary, cause and recommendations.
	describe func(*evidence, *finding, *report.Chain)
	// culprits are the threads to blame, by their share; nil: those that were waited for.
	culprits func(*evidence, *finding) []report.Culprit
	// busyGPU says that it lies on the GPU, or that its loss is no idle GPU.
	busyGPU bool
	// saysHow says that the kind says how the thread waited, so that nobody looks for it by another one.
	saysHow bool
	// ownLosses says that it is another rank, whose own losses say why it was late: attribute_straggler.go.
	ownLosses bool
	// foremost says that it is reported before all others.
	foremost bool
}

// causes are asked in this order: waiting for work first, because it is no loss;
// then what the recording cannot show, so that no other cause guesses at it; then
// first calls; then waits for ranks, whose arrival is known to the nanosecond; then the
// waits that need no baseline; then what explains whole calls, however usual they are;
// then what is only long against a median.
//
// Aggregate claims are made once all of a thread's episodes were, in this order too:
// many short waits before waits that grow, because both take from the same calls.
// Of what refines gpu_wait, another process comes before heat: it must coincide
// call by call, while a hot GPU is read once a second, and may be hot because
// of the other process.
var causes = []*cause{
	&causeIdle,
	&causeJoining,
	&causeUnrecorded,
	&causeColdStart,
	&causeCollectiveWait,
	&causeCPUThrottled,
	&causeCPUContention,
	&causeMemoryPressure,
	&causeBlockIO,
	&causePageFault,
	&causeLockContention,
	&causeInputStarvation,
	&causePeerWait,
	&causeNetworkWait,
	&causeStalled,
	&causeUnreported,
	&causeGraphRecapture,
	&causeImplicitSync,
	&causeLaunchBound,
	&causePageableCopy,
	&causeAllocChurn,
	&causeGPUContention,
	&causeThermalThrottle,
	&causeGPUWait,
	&causeDriverCPU,
	&causeUnknown,
}

// linkCauses are what may have held up a thread that another one waited for, in the order in which they are
// asked: making room in memory before the disk, because swap is read from it.
var linkCauses = []*cause{
	&causeMemoryPressure,
	&causeBlockIO,
	&causeCPUThrottled,
	&causeCPUContention,
	&causePageFault,
	&causeNetworkWait,
}

// causeOf is the cause of a kind. Where several have the same kind, the last one has what is said of
// findings. A kind that loses no thread's time, as memory that leaks, has an empty one.
func causeOf(kind string) *cause {
	for _, c := range slices.Backward(causes) {
		if c.kind == kind {
			return c
		}
	}
	if kind == causeHang.kind {
		return &causeHang
	}
	return &cause{kind: kind}
}

// claims is what the causes claim of a thread's time: first of its episodes, one
// by one, then of what no episode holds, which is known by statistics only.
func (ev *evidence) claims(t *subject) []claim {
	t.usual, t.usualCollective = ev.usualWaits(t), ev.ranks.usualCollectives(t)
	t.recaptures = ev.calls.recaptured(t)
	claims := make([]claim, 0, len(t.episodes))
	for i := range t.episodes {
		a := ev.account(t, &t.episodes[i])
		for _, c := range causes {
			if c.claimEpisode != nil {
				claims = append(claims, c.claimEpisode(ev, a)...)
			}
		}
	}
	t.unattributed = ev.unclaimed(t, claims)
	for _, c := range causes {
		if c.claimAggregate != nil {
			claims = append(claims, c.claimAggregate(ev, t)...)
		}
	}
	for _, c := range causes {
		if c.refine != nil {
			c.refine(ev, t, refinable(claims))
		}
	}
	return claims
}

// refinable are the claims that refine may give to what made the GPU slow.
func refinable(claims []claim) []*claim {
	var list []*claim
	for i := range claims {
		if cl := &claims[i]; !cl.aggregate && causeOf(cl.key.kind).refinable {
			list = append(list, cl)
		}
	}
	return list
}
