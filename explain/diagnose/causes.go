package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

const idleKind = "idle" // waiting for work: listed, never a cause

// cause explains one kind of lost time. Each cause has its own file, which holds a value of this type. All fields but
// the kind may be left out. Causes differ by their fields: no other file tests for a kind.
type cause struct {
	kind string
	// takes are the states of the time that it may claim.
	takes states
	// unexplained says that the reason for the lost time is not known.
	unexplained bool

	// Its claims on a thread's time.

	// claimEpisode takes the time that the cause explains from an account.
	claimEpisode func(*evidence, *account) []claim
	// claimAggregate takes time that is always lost, so that no median shows it. It looks at how often a thread calls
	// what, and takes only time that no other claim took.
	claimAggregate func(*evidence, *subject) []claim
	// refinable says that its claims are waits for the GPU. The refine function of another cause
	// may move them to what made the GPU slow.
	refinable bool
	refine    func(*evidence, *subject, []*claim)
	// inLink returns how much of the time of a thread that was waited for is due to this cause, ns. Causes are asked in
	// the order of linkCauses.
	inLink func(*evidence, *ledger.Link) uint64

	// The root of a wait for another thread (root.go).

	// idle says that it is waiting for work, which is not lost time.
	idle bool
	// fromWorker says that a thread of the same program made what was waited for.
	fromWorker bool
	// answered is the kind to use instead if the wait was for an answer; empty: this one.
	answered string
	// passedOn is the kind to use instead if the wait was for input that is passed on.
	passedOn string
	// hostFunc is the kind to use instead if the driver may have announced the end of the wait (host_func.go).
	hostFunc string

	// One finding.

	// settings are those that have to do with the cause: they are quoted if they are known. ownSettings are quoted
	// instead if the program itself, or who works for it, is to blame.
	settings, ownSettings []string
	// joinsThreads says that all threads of another process count as one root: pipeline.go.
	joinsThreads bool
	// complete adds what is known only from all claims of a finding together.
	complete func(*evidence, *finding)
	// place names where another thread's part in the loss happened. Findings about one thread at
	// the same place become one. It is false if the finding is not to be joined with others.
	place func(*evidence, *finding) (string, bool)
	// samePlace compares two findings whose place has the same name; nil: same name, same place.
	samePlace func(a, b *finding) bool
	// sharedRoot names the root that several processes may have in common, empty if there is none;
	// nil: the thread that was waited for.
	sharedRoot func(*evidence, *finding) string

	// Judgement.

	// leastPct is the least share of a thread's time for which it is reported, percent; nil:
	// minPct.
	leastPct func(*evidence) float64
	// mildPct is the share below which the severity is MEDIUM, percent: it is a property of the program
	// rather than a fault.
	mildPct float64
	// counts are the classes of the root thread's time that count as the cause.
	counts []event.Class
	// lacks says what claims do not explain until complete has run.
	lacks string
	// why describes what is missing for an explanation; nil: the evidence covers too little of the time.
	why func(*finding) string

	// The time without the cause.

	// gpuSide says that the time is the GPU's own: without the cause, nothing else would be hidden behind the GPU's
	// work.
	gpuSide bool
	// once says that it does not happen in every step.
	once bool
	// leastStep is the least duration of a step, whatever is done about the cause, ns, and why; 0
	// if there is no such limit or it is not known.
	leastStep func(*evidence, *finding) (ns uint64, why string)

	// Description.

	// describe fills in a finding's summary, cause and recommendations.
	describe func(*evidence, *finding, *report.Chain)
	// culprits are the threads to blame, by their share; nil: the threads that were waited for.
	culprits func(*evidence, *finding) []report.Culprit
	// busyGPU says that the cause is on the GPU, or that the GPU is not idle in the lost time.
	busyGPU bool
	// saysHow says that the name of the kind already says how the thread waited.
	saysHow bool
	// saysCode says that describe names the code that ran.
	saysCode bool
	// ownLosses says that the root is another rank, whose own losses say why it was late:
	// attribute_straggler.go.
	ownLosses bool
	// foremost says that it is reported first.
	foremost bool
	// lossless says that it loses no time: no verdict begins with it if something else is known to be wrong.
	lossless bool
}

// causes are asked in this order: waiting for work first, because it is no loss; then what the
// recording cannot show, so that no other cause guesses at it; then first calls; then waits for
// ranks, whose arrival is known to the nanosecond; then the waits that need no baseline; then
// causes that explain whole calls, even if the calls are as long as usual; then what is only long
// against a median.
//
// Aggregate claims are made in the same order, after all episodes of a thread: many short waits
// before waits that grow, because both take from the same calls. Of the causes that refine
// gpu_wait, another process comes before heat: it must coincide call by call, while a GPU's
// temperature is read once a second, and may be high because of the other process.
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
	&causeFullQueue,
	&causeAllocChurn,
	&causeGPUContention,
	&causeThermalThrottle,
	&causeGPUWait,
	&causeDriverCPU,
	&causeOwnCode,
	&causeUnknown,
}

// linkCauses are what may have delayed a thread that another one waited for, in the order in which
// they are asked: reclaiming memory before the disk, because swapped pages are read from it.
var linkCauses = []*cause{
	&causeMemoryPressure,
	&causeBlockIO,
	&causeCPUThrottled,
	&causeCPUContention,
	&causePageFault,
	&causeNetworkWait,
}

// unasked are causes that take no time of a thread.
var unasked = []*cause{&causeHang, &causeMisplaced}

// causeOf returns the cause of a kind. If several have the same kind, the last one describes findings. A kind that
// takes no thread's time, such as a memory leak, has an empty cause.
func causeOf(kind string) *cause {
	for _, list := range [...][]*cause{causes, unasked} {
		for _, c := range slices.Backward(list) {
			if c.kind == kind {
				return c
			}
		}
	}
	return &cause{kind: kind}
}

// claims returns what the causes claim of a thread's time: first for its episodes one by one, then for the time that
// is known from statistics only.
func (ev *evidence) claims(t *subject) []claim {
	t.usual, t.usualCollective = ev.usualWaits(t), ev.ranks.usualCollectives(t)
	t.recaptures = ev.calls.recaptured(t)
	claims := make([]claim, 0, len(t.episodes))
	for i := range t.episodes {
		a := ev.account(t, &t.episodes[i])
		for _, c := range causes {
			if c.claimEpisode != nil {
				a.may = c.takes
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

// refinable returns the claims that refine may move to what made the GPU slow.
func refinable(claims []claim) []*claim {
	var list []*claim
	for i := range claims {
		if cl := &claims[i]; !cl.aggregate && causeOf(cl.key.kind).refinable {
			list = append(list, cl)
		}
	}
	return list
}
