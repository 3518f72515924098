package diagnose

import "github.com/ingero-io/ingero/report"

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
	GraphRecapture, GraphPool, GraphCapture, GraphLaunchDrop, LaunchBound, CollectiveWait, GPUContention, ThermalThrottle, Hang, Unknown,
}

// cause explains one kind of lost time.
type cause struct {
	kind string
	// claimEpisode takes the time it explains out of an account. It may be nil, as may
	// the next two.
	claimEpisode func(*evidence, *account) []claim
	// claimAggregate takes time that is always lost, so that no median shows it: it
	// looks at how often a thread calls what, and takes from what no claim took.
	claimAggregate func(*evidence, *subject) []claim
	// refine gives claims of gpu_wait to what made the GPU slow.
	refine func(*evidence, *subject, []claim)
	// describe fills in a finding's summary, cause and recommendations.
	describe func(*evidence, *finding, *report.Chain)
}

// causes are asked in this order: waiting for work first, because it is no loss;
// then what the recording cannot show, so that no other cause guesses at it; then
// first calls; then waits for ranks, whose arrival is known to the nanosecond; then the
// waits that need no baseline; then what explains whole calls, however usual they are; then what is only long against a median.
// What loses no time is not here: memory_leak.go, and what graph_use.go lists; nor are
// calls that have not returned, hang.go.
//
// Aggregate claims are made once all of a thread's episodes were, in this order too:
// many short waits before waits that grow, because both take from the same calls.
// Of what refines gpu_wait, another process comes before heat: it must coincide
// call by call, while a hot GPU is read once a second, and may be hot because
// of the other process.
var causes = []cause{
	{kind: idleKind, claimEpisode: claimIdle},
	{kind: idleKind, claimEpisode: claimJoining},
	{kind: Unknown, claimEpisode: claimUnrecorded},
	{kind: ColdStart, claimEpisode: claimColdStart, describe: describeColdStart},
	{kind: CollectiveWait, claimEpisode: claimCollective, claimAggregate: aggregateCollectives, describe: describeCollective},
	{kind: CPUThrottled, claimEpisode: claimThrottled, describe: describeThrottled},
	{kind: CPUContention, claimEpisode: claimContention, describe: describeContention},
	{kind: MemoryPressure, claimEpisode: claimMemory, describe: describeMemory},
	{kind: BlockIO, claimEpisode: claimBlockIO, describe: describeBlockIO},
	{kind: PageFault, claimEpisode: claimPageFault, describe: describePageFault},
	{kind: LockContention, claimEpisode: claimLock, describe: describeLock},
	{kind: InputStarvation, claimEpisode: claimInput, describe: describeInput},
	{kind: PeerWait, claimEpisode: claimPeer, describe: describePeer},
	{kind: NetworkWait, claimEpisode: claimNetwork, describe: describeNetwork},
	{kind: Unknown, claimEpisode: claimStalled},
	{kind: Unknown, claimEpisode: claimUnreported},
	{kind: GraphRecapture, claimEpisode: claimRecapture, claimAggregate: aggregateRecaptures, describe: describeRecapture},
	{kind: ImplicitSync, claimAggregate: aggregateImplicitSyncs, describe: describeImplicitSync},
	{kind: LaunchBound, claimAggregate: aggregateLaunches, describe: describeLaunchBound},
	{kind: PageableCopy, claimEpisode: claimPageable, describe: describePageable},
	{kind: AllocChurn, claimEpisode: claimChurn, claimAggregate: aggregateChurn, describe: describeChurn},
	{kind: GPUContention, refine: refineContention, describe: describeGPUContention},
	{kind: ThermalThrottle, refine: refineThermal, describe: describeThermal},
	{kind: GPUWait, claimEpisode: claimGPUWait, claimAggregate: aggregateGrowingWaits, describe: describeGPUWait},
	{kind: DriverCPU, claimEpisode: claimDriverCPU, describe: describeDriverCPU},
	{kind: Unknown, claimEpisode: claimUnknown},
}

// claims is what the causes claim of a thread's time: first of its episodes, one
// by one, then of what no episode holds, which is known by statistics only.
func (ev *evidence) claims(t *subject) []claim {
	t.usual, t.usualCollective = ev.usualWaits(t), ev.usualCollectives(t)
	t.recaptures = ev.recaptured(t)
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
			c.refine(ev, t, claims)
		}
	}
	return claims
}
