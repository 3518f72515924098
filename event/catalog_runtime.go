package event

// runtimeOps are functions of the CUDA runtime (cuda_runtime_api.h); graphs have rows of
// their own.
var runtimeOps = []Info{
	{
		Op: op(SourceCUDA, 1), Name: "cudaMalloc", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates device memory.",
	},
	{
		Op: op(SourceCUDA, 2), Name: "cudaFree", Role: RoleFree, Args: []Arg{argPtr},
		Doc: "Frees device memory; waits for the device.",
	},
	{
		Op: op(SourceCUDA, 3), Name: "cudaLaunchKernel", Shape: ShapeLaunch, Role: RoleLaunch, Args: argsLaunch,
		Symbols: perStream("cudaLaunchKernel", "__cudaLaunchKernel"),
		Doc:     "Queues a kernel.",
	},
	{
		Op: op(SourceCUDA, 4), Name: "cudaMemcpy", Shape: ShapeCopy, Role: RoleCopy, Args: argsCopy,
		Symbols: perDefault("cudaMemcpy"),
		Doc:     "Copies memory and waits for it.",
	},
	{
		Op: op(SourceCUDA, 5), Name: "cudaStreamSynchronize", Role: RoleSync, Args: []Arg{argStream},
		Symbols: perStream("cudaStreamSynchronize"),
		Doc:     "Waits until a stream's work is done.",
	},
	{
		Op: op(SourceCUDA, 6), Name: "cudaDeviceSynchronize", Role: RoleSync,
		Symbols: []string{"cudaDeviceSynchronize", "cudaThreadSynchronize"},
		Doc:     "Waits until all of the device's work is done.",
	},
	{
		Op: op(SourceCUDA, 7), Name: "cudaMemcpyAsync", Shape: ShapeCopy, Role: RoleCopy, Args: argsCopy,
		Symbols: perStream("cudaMemcpyAsync"),
		Doc:     "Queues a copy; pageable host memory makes it wait.",
	},
	{
		Op: op(SourceCUDA, 8), Name: "cudaMallocManaged", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates memory that host and device share.",
	},
	{
		Op: op(SourceCUDA, 9), Name: "cudaMallocAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Symbols: perStream("cudaMallocAsync"),
		Doc:     "Allocates from a stream's memory pool.",
	},
	{
		Op: op(SourceCUDA, 10), Name: "cudaMallocHost", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory,
		Args: argsAlloc,
		Doc:  "Allocates page-locked host memory.",
	},
	{
		Op: op(SourceCUDA, 11), Name: "cudaHostAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory,
		Args: argsAlloc,
		Doc:  "Allocates page-locked host memory with flags.",
	},
	{
		Op: op(SourceCUDA, 12), Name: "cudaFreeAsync", Role: RoleFree, Args: []Arg{argPtr, argStream},
		Symbols: perStream("cudaFreeAsync"),
		Doc:     "Returns memory to a stream's pool.",
	},
	{
		Op: op(SourceCUDA, 13), Name: "cudaFreeHost", Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr},
		Doc: "Frees page-locked host memory.",
	},
	{
		Op: op(SourceCUDA, 14), Name: "cudaLaunchKernelExC", Shape: ShapeLaunchConfig, Role: RoleLaunch,
		Args:    argsLaunch,
		Symbols: perStream("cudaLaunchKernelExC"),
		Doc:     "Queues a kernel with launch attributes.",
	},
	{
		Op: op(SourceCUDA, 15), Name: "cudaLaunchCooperativeKernel", Shape: ShapeLaunch, Role: RoleLaunch,
		Args:    argsLaunch,
		Symbols: perStream("cudaLaunchCooperativeKernel"),
		Doc:     "Queues a kernel whose blocks may synchronise.",
	},
	{
		Op: op(SourceCUDA, 16), Name: "cudaMemcpy2D", Shape: ShapeCopy2D, Role: RoleCopy, Args: argsCopy,
		Symbols: perDefault("cudaMemcpy2D"),
		Doc:     "Copies a matrix and waits for it.",
	},
	{
		Op: op(SourceCUDA, 17), Name: "cudaMemcpy2DAsync", Shape: ShapeCopy2D, Role: RoleCopy, Args: argsCopy,
		Symbols: perStream("cudaMemcpy2DAsync"),
		Doc:     "Queues a matrix copy.",
	},
	{
		Op: op(SourceCUDA, 18), Name: "cudaMemcpyPeer", Shape: ShapeCopyPeer, Role: RoleCopy, Args: argsPeer,
		Doc: "Copies between two devices.",
	},
	{
		Op: op(SourceCUDA, 19), Name: "cudaMemcpyPeerAsync", Shape: ShapeCopyPeer, Role: RoleCopy, Args: argsPeer,
		Doc: "Queues a copy between two devices.",
	},
	{
		Op: op(SourceCUDA, 20), Name: "cudaMemset", Shape: ShapeFill, Role: RoleCopy, Args: argsFill,
		Symbols: perDefault("cudaMemset"),
		Doc:     "Fills device memory.",
	},
	{
		Op: op(SourceCUDA, 21), Name: "cudaMemsetAsync", Shape: ShapeFill, Role: RoleCopy, Args: argsFill,
		Symbols: perStream("cudaMemsetAsync"),
		Doc:     "Queues a fill of device memory.",
	},
	{
		Op: op(SourceCUDA, 22), Name: "cudaEventSynchronize", Role: RoleSync, Args: []Arg{argEvent},
		Doc: "Waits until an event has happened.",
	},
	{
		Op: op(SourceCUDA, 23), Name: "cudaEventRecord", Args: []Arg{argEvent, argStream},
		Symbols: perStream("cudaEventRecord", "cudaEventRecordWithFlags"),
		Doc:     "Queues an event.",
	},
	{
		Op: op(SourceCUDA, 24), Name: "cudaEventQuery", Args: []Arg{argEvent},
		Doc: "Asks whether an event has happened.",
	},
	{
		Op: op(SourceCUDA, 25), Name: "cudaStreamWaitEvent", Args: []Arg{argStream, argEvent, argFlags},
		Symbols: perStream("cudaStreamWaitEvent"),
		Doc:     "Makes a stream wait for an event.",
	},
	{
		Op: op(SourceCUDA, 26), Name: "cudaStreamCreate", Shape: ShapeCreate, Args: []Arg{argStream},
		Doc: "Creates a stream.",
	},
	{
		Op: op(SourceCUDA, 27), Name: "cudaStreamCreateWithFlags", Shape: ShapeCreate,
		Args: []Arg{argStream, argFlags},
		Doc:  "Creates a stream with flags.",
	},
	{
		Op: op(SourceCUDA, 28), Name: "cudaStreamCreateWithPriority", Shape: ShapeCreate,
		Args: []Arg{argStream, argFlags, {Name: "priority", Unit: UnitNone, Doc: "lower is more urgent"}},
		Doc:  "Creates a stream with a priority.",
	},
	{
		Op: op(SourceCUDA, 29), Name: "cudaSetDevice",
		Args: []Arg{{Name: "device", Unit: UnitDevice, Doc: "device ordinal"}},
		Doc:  "Chooses the calling thread's device.", SetsDevice: true,
	},
	{
		Op: op(SourceCUDA, 30), Name: "cudaMallocFromPoolAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Symbols: perStream("cudaMallocFromPoolAsync"),
		Doc:     "Allocates from the memory pool that is named.",
	},
	{
		Op: op(SourceCUDA, 31), Name: "cudaMallocPitch", Shape: ShapePitch, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates a matrix; bytes are those asked for, its rows may be padded.",
	},
	{
		Op: op(SourceCUDA, 32), Name: "cudaHostRegister", Shape: ShapeRegister, Role: RoleAlloc, Space: PinnedMemory,
		Args: argsRegister,
		Doc:  "Page-locks memory that the host has already.",
	},
	{
		Op: op(SourceCUDA, 33), Name: "cudaHostUnregister", Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr},
		Doc: "Ends the page-locking of memory that the host keeps.",
	},
}
