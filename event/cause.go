package event

// The kinds of causes: the values of report.Cause.Kind.
const (
	CauseCPUContention   = "cpu_contention"
	CauseCPUThrottled    = "cpu_throttled"
	CauseLockContention  = "lock_contention"
	CauseBlockIO         = "block_io"
	CauseMemoryPressure  = "memory_pressure"
	CausePageFault       = "page_fault"
	CauseNetworkWait     = "network_wait"
	CausePeerWait        = "peer_wait"
	CauseInputStarvation = "input_starvation"
	CauseGPUWait         = "gpu_wait"
	CauseDriverCPU       = "driver_cpu"
	CauseOwnCode         = "own_code" // the program's own code ran for long between calls
	CauseColdStart       = "cold_start"
	CausePageableCopy    = "pageable_copy"
	CauseAllocChurn      = "alloc_churn"
	CauseMemoryLeak      = "memory_leak"
	CauseImplicitSync    = "implicit_sync"
	CauseGraphRecapture  = "graph_recapture"
	CauseGraphPool       = "graph_pool_growth"
	CauseGraphCapture    = "graph_capture_failed"
	CauseGraphLaunchDrop = "graph_launch_drop"
	CauseLaunchBound     = "launch_bound"
	CauseCollectiveWait  = "collective_straggler"
	CauseGPUContention   = "gpu_contention"
	CauseThermalThrottle = "thermal_throttle"
	// A process on CPUs of another memory node than its GPU's.
	CauseNUMAMisplacement = "numa_misplacement"
	CauseHang             = "hang" // a call that does not return
	CauseUnknown          = "unknown"
)

// Causes lists every value that report.Cause.Kind may have.
var Causes = []string{
	CauseCPUContention, CauseCPUThrottled, CauseLockContention, CauseBlockIO, CauseMemoryPressure, CausePageFault,
	CauseNetworkWait, CausePeerWait, CauseInputStarvation, CauseGPUWait, CauseDriverCPU, CauseOwnCode, CauseColdStart,
	CausePageableCopy, CauseAllocChurn, CauseMemoryLeak, CauseImplicitSync, CauseGraphRecapture, CauseGraphPool,
	CauseGraphCapture, CauseGraphLaunchDrop, CauseLaunchBound, CauseCollectiveWait, CauseGPUContention,
	CauseThermalThrottle, CauseNUMAMisplacement, CauseHang, CauseUnknown,
}
