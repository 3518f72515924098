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
	LaunchBound     = "launch_bound"
	CollectiveWait  = "collective_straggler"
	GPUContention   = "gpu_contention"
	ThermalThrottle = "thermal_throttle"
	Unknown         = "unknown"

	idleKind = "idle" // waiting for work: listed, never a cause
)

// Kinds lists every value that report.Cause.Kind may have.
var Kinds = []string{
	CPUContention, CPUThrottled, LockContention, BlockIO, MemoryPressure, PageFault, NetworkWait, PeerWait,
	InputStarvation, GPUWait, DriverCPU, ColdStart, PageableCopy, AllocChurn, MemoryLeak, ImplicitSync,
	GraphRecapture, LaunchBound, CollectiveWait, GPUContention, ThermalThrottle, Unknown,
}

// cause explains one kind of lost time.
type cause struct {
	kind string
	// claim takes the time it explains out of an account.
	claim func(*scene, *account) []piece
	// tell fills in a finding's summary, cause and recommendations.
	tell func(*scene, *finding, *report.Chain)
}

// causes are asked in this order: waiting for work first, because it is no loss;
// then what explains whole calls; then the waits that need no baseline; then
// what is only long against a median.
var causes = []cause{
	{idleKind, claimIdle, nil},
	{ColdStart, claimColdStart, tellColdStart},
	{CPUThrottled, claimThrottled, tellThrottled},
	{CPUContention, claimContention, tellContention},
	{MemoryPressure, claimMemory, tellMemory},
	{BlockIO, claimBlockIO, tellBlockIO},
	{PageFault, claimPageFault, tellPageFault},
	{LockContention, claimLock, tellLock},
	{InputStarvation, claimInput, tellInput},
	{PeerWait, claimPeer, tellPeer},
	{NetworkWait, claimNetwork, tellNetwork},
	{Unknown, claimStalled, nil},
	{GPUWait, claimGPUWait, tellGPUWait},
	{DriverCPU, claimDriverCPU, tellDriverCPU},
	{Unknown, claimUnknown, nil},
}
