package event

// driverOps are functions of the CUDA driver (cuda.h).
var driverOps = []Info{
	{
		Op: op(SourceDriver, 1), Name: "cuLaunchKernel", Shape: ShapeCuLaunch, Role: RoleLaunch, Args: argsLaunch,
		Symbols: perStream("cuLaunchKernel"),
		Doc:     "Queues a kernel through the driver API.",
	},
	{
		Op: op(SourceDriver, 4), Name: "cuCtxSynchronize", Role: RoleSync,
		Symbols: []string{"cuCtxSynchronize", "cuCtxSynchronize_v2"},
		Doc:     "Waits until all of the context's work is done.",
	},
	{
		Op: op(SourceDriver, 5), Name: "cuMemAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Symbols: []string{"cuMemAlloc_v2"},
		Doc:     "Allocates device memory through the driver API.",
	},
	{
		Op: op(SourceDriver, 7), Name: "cuLaunchKernelEx", Shape: ShapeCuConfig, Role: RoleLaunch, Args: argsLaunch,
		Symbols: perStream("cuLaunchKernelEx"),
		Doc:     "Queues a kernel with launch attributes through the driver API.",
	},
	{
		Op: op(SourceDriver, 8), Name: "cuMemAllocAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Symbols: perStream("cuMemAllocAsync"),
		Doc:     "Allocates from a stream's memory pool through the driver API.",
	},
	{
		Op: op(SourceDriver, 9), Name: "cuMemFree", Role: RoleFree, Args: []Arg{argPtr},
		Symbols: []string{"cuMemFree_v2"},
		Doc:     "Frees device memory through the driver API.",
	},
	{
		Op: op(SourceDriver, 10), Name: "cuMemcpyHtoD", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perDefault("cuMemcpyHtoD_v2"),
		Doc:     "Copies host memory to the device.",
	},
	{
		Op: op(SourceDriver, 11), Name: "cuMemcpyDtoH", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perDefault("cuMemcpyDtoH_v2"),
		Doc:     "Copies device memory to the host.",
	},
	{
		Op: op(SourceDriver, 12), Name: "cuMemcpyDtoD", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perDefault("cuMemcpyDtoD_v2"),
		Doc:     "Copies within device memory.",
	},
	{
		Op: op(SourceDriver, 13), Name: "cuMemcpyHtoDAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perStream("cuMemcpyHtoDAsync_v2"),
		Doc:     "Queues a copy from host memory to the device.",
	},
	{
		Op: op(SourceDriver, 14), Name: "cuMemcpyDtoHAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perStream("cuMemcpyDtoHAsync_v2"),
		Doc:     "Queues a copy from the device to host memory.",
	},
	{
		Op: op(SourceDriver, 15), Name: "cuMemcpyDtoDAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perStream("cuMemcpyDtoDAsync_v2"),
		Doc:     "Queues a copy within device memory.",
	},
	{
		Op: op(SourceDriver, 16), Name: "cuStreamSynchronize", Role: RoleSync, Args: []Arg{argStream},
		Symbols: perStream("cuStreamSynchronize"),
		Doc:     "Waits until a stream's work is done, through the driver API.",
	},
	{
		Op: op(SourceDriver, 17), Name: "cuEventSynchronize", Role: RoleSync, Args: []Arg{argEvent},
		Doc: "Waits until an event has happened, through the driver API.",
	},
	{
		Op: op(SourceDriver, 18), Name: "cuModuleLoadData", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{
			{Name: "module", Unit: UnitHandle, Doc: "module handle returned"},
			{Name: "image", Unit: UnitAddr, Doc: "image loaded"},
		},
		Doc: "Loads a module's code into the context.",
	},
	{
		Op: op(SourceDriver, 6), Name: "cuMemAllocManaged", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates memory that host and device share, through the driver API.",
	},
	{
		Op: op(SourceDriver, 19), Name: "cuMemAllocHost", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory,
		Args:    argsAlloc,
		Symbols: []string{"cuMemAllocHost_v2"},
		Doc:     "Allocates page-locked host memory through the driver API.",
	},
	{
		Op: op(SourceDriver, 20), Name: "cuMemHostAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory,
		Args: argsAlloc,
		Doc:  "Allocates page-locked host memory with flags, through the driver API.",
	},
	{
		Op: op(SourceDriver, 21), Name: "cuMemFreeAsync", Role: RoleFree, Args: []Arg{argPtr, argStream},
		Symbols: perStream("cuMemFreeAsync"),
		Doc:     "Returns memory to a stream's pool, through the driver API.",
	},
	{
		Op: op(SourceDriver, 22), Name: "cuMemFreeHost", Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr},
		Doc: "Frees page-locked host memory through the driver API.",
	},
	{
		Op: op(SourceDriver, 23), Name: "cuStreamBeginCapture", Role: RoleCapture, Args: []Arg{argStream, argMode},
		Symbols: perStream("cuStreamBeginCapture_v2"),
		Doc:     "Begins to record a stream's work in a graph, through the driver API.",
	},
	{
		Op: op(SourceDriver, 24), Name: "cuStreamEndCapture", Shape: ShapeEndCapture, Role: RoleCapture,
		Args:    []Arg{argStream, argEnded},
		Symbols: perStream("cuStreamEndCapture"),
		Doc:     "Ends the recording and returns the graph, through the driver API.",
	},
	{
		Op: op(SourceDriver, 25), Name: "cuGraphInstantiate", Shape: ShapeCreate, Role: RoleCapture,
		Args: []Arg{argMade, argGraph},
		Symbols: []string{
			"cuGraphInstantiate", "cuGraphInstantiate_v2", "cuGraphInstantiateWithFlags",
			"cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams_ptsz",
		},
		Doc: "Makes a graph executable, through the driver API.",
	},
	{
		Op: op(SourceDriver, 26), Name: "cuGraphLaunch", Role: RoleLaunch, Args: []Arg{argExec, argStream},
		Symbols: perStream("cuGraphLaunch"),
		Doc:     "Queues all of a graph's work, through the driver API.",
	},
	{
		Op: op(SourceDriver, 27), Name: "cuGraphExecUpdate", Role: RoleCapture, Args: []Arg{argExec, argGraph},
		Symbols: []string{"cuGraphExecUpdate", "cuGraphExecUpdate_v2"},
		Doc:     "Gives an executable graph the parameters of another graph, through the driver API.",
	},
	{
		Op: op(SourceDriver, 28), Name: "cuGraphUpload", Role: RoleCapture, Args: []Arg{argExec, argStream},
		Symbols: perStream("cuGraphUpload"),
		Doc:     "Brings an executable graph to the device before its first launch, through the driver API.",
	},
	{
		Op: op(SourceDriver, 29), Name: "cuGraphExecDestroy", Args: []Arg{argExec},
		Doc: "Frees an executable graph through the driver API.",
	},
	{
		Op: op(SourceDriver, 30), Name: "cuGraphDestroy", Args: []Arg{argGraph},
		Doc: "Frees a graph through the driver API.",
	},
	{
		Op: op(SourceDriver, 31), Name: "cuStreamBeginCaptureToGraph", Shape: ShapeCaptureTo, Role: RoleCapture,
		Args:    []Arg{argStream, argMode, argGraph},
		Symbols: perStream("cuStreamBeginCaptureToGraph"),
		Doc:     "Begins to record a stream's work behind what is in a graph already, through the driver API.",
	},
	{
		Op: op(SourceDriver, 32), Name: "cuStreamIsCapturing", Shape: ShapeStatus, Args: []Arg{argStream, argStatus},
		Symbols: perStream("cuStreamIsCapturing"),
		Doc:     "Asks whether a stream's work is recorded, through the driver API.",
	},
	{
		Op: op(SourceDriver, 33), Name: "cuStreamGetCaptureInfo", Shape: ShapeStatus,
		Args: []Arg{argStream, argStatus},
		Symbols: []string{
			"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_ptsz", "cuStreamGetCaptureInfo_v2",
			"cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo_v3", "cuStreamGetCaptureInfo_v3_ptsz",
		},
		Doc: "Asks whether a stream's work is recorded, and in which graph, through the driver API.",
	},
	{
		Op: op(SourceDriver, 34), Name: "cuMemAllocFromPoolAsync", Shape: ShapeAlloc, Role: RoleAlloc,
		Args:    argsAlloc,
		Symbols: perStream("cuMemAllocFromPoolAsync"),
		Doc:     "Allocates from the memory pool that is named, through the driver API.",
	},
	{
		Op: op(SourceDriver, 35), Name: "cuMemAllocPitch", Shape: ShapePitch, Role: RoleAlloc, Args: argsAlloc,
		Symbols: []string{"cuMemAllocPitch_v2"},
		Doc:     "Allocates a matrix through the driver API; bytes are those asked for, its rows may be padded.",
	},
	{
		Op: op(SourceDriver, 36), Name: "cuMemCreate", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates device memory that is mapped later; ptr is its handle.",
	},
	{
		Op: op(SourceDriver, 37), Name: "cuMemRelease", Role: RoleFree, Args: []Arg{argPtr},
		Doc: "Frees such memory, once nothing maps it any more; ptr is its handle.",
	},
	{
		Op: op(SourceDriver, 38), Name: "cuMemHostRegister", Shape: ShapeRegister, Role: RoleAlloc,
		Space:   PinnedMemory,
		Args:    argsRegister,
		Symbols: []string{"cuMemHostRegister_v2"},
		Doc:     "Page-locks memory that the host has already, through the driver API.",
	},
	{
		Op: op(SourceDriver, 39), Name: "cuMemHostUnregister", Role: RoleFree, Space: PinnedMemory,
		Args: []Arg{argPtr},
		Doc:  "Ends the page-locking of memory that the host keeps, through the driver API.",
	},
	{
		Op: op(SourceDriver, 139), Name: "cuStreamBeginRecaptureToGraph", Seldom: true, Role: RoleCapture,
		Args:    []Arg{argStream, argMode, argGraph},
		Symbols: perStream("cuStreamBeginRecaptureToGraph"),
		Doc:     "Begins to record a stream's work anew in a graph, through the driver API.",
	},
}
