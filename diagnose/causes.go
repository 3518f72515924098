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
	// claim takes the time it explains out of an account. It may be nil, as may
	// the next two.
	claim func(*scene, *account) []piece
	// structure takes time that is always lost, so that no median shows it: it
	// looks at how often a thread calls what, and takes from what no claim took.
	structure func(*scene, *subject) []piece
	// refine gives pieces of gpu_wait to what made the GPU slow.
	refine func(*scene, *subject, []piece)
	// tell fills in a finding's summary, cause and recommendations.
	tell func(*scene, *finding, *report.Chain)
}

// causes are asked in this order: waiting for work first, because it is no loss;
// then what the recording cannot show, so that no other cause guesses at it; then
// first calls; then waits for ranks, whose arrival is known to the nanosecond; then the waits that need no baseline; then what explains
// whole calls, however usual they are; then what is only long against a median.
// What loses no time is not here: memory_leak.go, and what graph_use.go lists; nor are
// calls that have not returned, hang.go.
//
// Structures are asked once all of a thread's episodes were, in this order too:
// many short waits before waits that grow, because both take from the same calls.
// Of what refines gpu_wait, another process comes before heat: it must coincide
// call by call, while a hot GPU is read once a second, and may be hot because
// of the other process.
var causes = []cause{
	{kind: idleKind, claim: claimIdle},
	{kind: idleKind, claim: claimJoining},
	{kind: Unknown, claim: claimUnrecorded},
	{kind: ColdStart, claim: claimColdStart, tell: tellColdStart},
	{kind: CollectiveWait, claim: claimCollective, structure: lateCollectives, tell: tellCollective},
	{kind: CPUThrottled, claim: claimThrottled, tell: tellThrottled},
	{kind: CPUContention, claim: claimContention, tell: tellContention},
	{kind: MemoryPressure, claim: claimMemory, tell: tellMemory},
	{kind: BlockIO, claim: claimBlockIO, tell: tellBlockIO},
	{kind: PageFault, claim: claimPageFault, tell: tellPageFault},
	{kind: LockContention, claim: claimLock, tell: tellLock},
	{kind: InputStarvation, claim: claimInput, tell: tellInput},
	{kind: PeerWait, claim: claimPeer, tell: tellPeer},
	{kind: NetworkWait, claim: claimNetwork, tell: tellNetwork},
	{kind: Unknown, claim: claimStalled},
	{kind: Unknown, claim: claimUnreported},
	{kind: GraphRecapture, claim: claimRecapture, structure: recaptures, tell: tellRecapture},
	{kind: ImplicitSync, structure: implicitSyncs, tell: tellImplicitSync},
	{kind: LaunchBound, structure: launchTime, tell: tellLaunchBound},
	{kind: PageableCopy, claim: claimPageable, tell: tellPageable},
	{kind: AllocChurn, claim: claimChurn, structure: churnTime, tell: tellChurn},
	{kind: GPUContention, refine: refineContention, tell: tellGPUContention},
	{kind: ThermalThrottle, refine: refineThermal, tell: tellThermal},
	{kind: GPUWait, claim: claimGPUWait, structure: growingWaits, tell: tellGPUWait},
	{kind: DriverCPU, claim: claimDriverCPU, tell: tellDriverCPU},
	{kind: Unknown, claim: claimUnknown},
}

// pieces is what the causes claim of a thread's time: first of its episodes, one
// by one, then of what no episode holds, which is known by statistics only.
func (s *scene) pieces(t *subject) []piece {
	t.usual, t.usualMet = s.usualWaits(t), s.usualMeetings(t)
	t.recaptures = s.recaptured(t)
	pieces := make([]piece, 0, len(t.episodes))
	for i := range t.episodes {
		a := s.account(t, &t.episodes[i])
		for _, c := range causes {
			if c.claim != nil {
				pieces = append(pieces, c.claim(s, a)...)
			}
		}
	}
	t.rest = s.unclaimed(t, pieces)
	for _, c := range causes {
		if c.structure != nil {
			pieces = append(pieces, c.structure(s, t)...)
		}
	}
	for _, c := range causes {
		if c.refine != nil {
			c.refine(s, t, pieces)
		}
	}
	return pieces
}
