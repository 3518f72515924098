package event

// runtimeDevice are functions of the CUDA runtime for devices, streams, events and memory
// pools.
var runtimeDevice = []Info{
	{
		Op: op(SourceCUDA, 55), Name: "cudaStreamQuery", Args: []Arg{argStream},
		Symbols: perStream("cudaStreamQuery"),
		Doc:     "Asks whether a stream's work is done.",
	},
	{
		Op: op(SourceCUDA, 56), Name: "cudaStreamDestroy", Seldom: true, Args: []Arg{argStream},
		Doc: "Frees a stream once its work is done.",
	},
	{
		Op: op(SourceCUDA, 57), Name: "cudaStreamAddCallback", Seldom: true, Args: []Arg{argStream},
		Symbols: perStream("cudaStreamAddCallback"),
		Doc:     "Queues a call of the host, after which the stream goes on.",
	},
	{
		Op: op(SourceCUDA, 58), Name: "cudaLaunchHostFunc", Args: []Arg{argStream, argHostFunc},
		Symbols: perStream("cudaLaunchHostFunc", "cudaLaunchHostFunc_v2"),
		Doc:     "Queues a call of the host, after which the stream goes on.",
	},
	{
		Op: op(SourceCUDA, 59), Name: "cudaStreamAttachMemAsync", Args: []Arg{argStream, argPtr, argBytes},
		Seldom: true, Symbols: perStream("cudaStreamAttachMemAsync"),
		Doc: "Makes managed memory belong to a stream.",
	},
	{
		Op: op(SourceCUDA, 60), Name: "cudaEventCreate", Shape: ShapeCreate, Args: []Arg{argEvent, argFlags},
		Symbols: []string{"cudaEventCreate", "cudaEventCreateWithFlags"},
		Doc:     "Creates an event; cudaEventCreate has no flags.",
	},
	{Op: op(SourceCUDA, 61), Name: "cudaEventDestroy", Seldom: true, Args: []Arg{argEvent}, Doc: "Frees an event."},
	{
		Op: op(SourceCUDA, 62), Name: "cudaEventElapsedTime",
		Symbols: []string{"cudaEventElapsedTime", "cudaEventElapsedTime_v2"},
		Doc:     "Asks how long it was between two events.",
	},
	{
		Op: op(SourceCUDA, 63), Name: "cudaExecutionCtxSynchronize", Role: RoleSync, Seldom: true,
		Doc: "Waits until the work of an execution context is done.",
	},
	{
		Op: op(SourceCUDA, 64), Name: "cudaGetDeviceCount",
		Doc: "Asks how many devices there are; often a program's first call, which then starts CUDA.",
	},
	{
		Op: op(SourceCUDA, 65), Name: "cudaGetDeviceProperties",
		Symbols: []string{"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"},
		Doc:     "Asks all properties of a device; slow.",
	},
	{
		Op: op(SourceCUDA, 66), Name: "cudaInitDevice", Seldom: true, Args: []Arg{argDevice},
		Doc: "Makes a device ready for use.",
	},
	{
		Op: op(SourceCUDA, 67), Name: "cudaDeviceReset",
		Symbols: []string{"cudaDeviceReset", "cudaThreadExit"},
		Doc:     "Ends all use of the device by the process and frees what it has there.",
	},
	{
		Op: op(SourceCUDA, 68), Name: "cudaSetDeviceFlags", Seldom: true, Args: []Arg{argFlags},
		Doc: "Says how the thread's device is to be used, such as how to wait for it.",
	},
	{
		Op: op(SourceCUDA, 69), Name: "cudaDeviceSetLimit", Seldom: true,
		Args:    []Arg{argLimit, argValue},
		Symbols: []string{"cudaDeviceSetLimit", "cudaThreadSetLimit"},
		Doc:     "Sets a limit of the device; some wait for it.",
	},
	{
		Op: op(SourceCUDA, 70), Name: "cudaDeviceCanAccessPeer", Seldom: true,
		Doc: "Asks whether a device can reach another one's memory.",
	},
	{
		Op: op(SourceCUDA, 71), Name: "cudaDeviceEnablePeerAccess", Seldom: true, Args: []Arg{argPeer},
		Doc: "Maps another device's memory.",
	},
	{
		Op: op(SourceCUDA, 72), Name: "cudaDeviceDisablePeerAccess", Args: []Arg{argPeer}, Seldom: true,
		Doc: "Ends that.",
	},
	{Op: op(SourceCUDA, 73), Name: "cudaMemGetInfo", Doc: "Asks how much memory of the device is free."},
	{
		Op: op(SourceCUDA, 74), Name: "cudaMalloc3D", Seldom: true, Shape: ShapeAlloc3D, Role: RoleAlloc,
		Args: argsAlloc,
		Doc:  "Allocates a block with padded rows; bytes are those asked for.",
	},
	{
		Op: op(SourceCUDA, 75), Name: "cudaMallocArray", Seldom: true,
		Symbols: []string{"cudaMallocArray", "cudaMalloc3DArray", "cudaMallocMipmappedArray"},
		Doc:     "Allocates an array for textures; its memory is not counted.",
	},
	{
		Op: op(SourceCUDA, 76), Name: "cudaFreeArray", Seldom: true,
		Symbols: []string{"cudaFreeArray", "cudaFreeMipmappedArray"},
		Doc:     "Frees an array for textures.",
	},
	{
		Op: op(SourceCUDA, 77), Name: "cudaMemPrefetchAsync", Seldom: true, Args: []Arg{argPtr, argBytes},
		Symbols: perStream("cudaMemPrefetchAsync", "cudaMemPrefetchAsync_v2"),
		Doc:     "Queues the moving of managed memory to where it will be used.",
	},
	{
		Op: op(SourceCUDA, 78), Name: "cudaMemPrefetchBatchAsync", Seldom: true,
		Symbols: perStream(
			"cudaMemPrefetchBatchAsync", "cudaMemDiscardBatchAsync", "cudaMemDiscardAndPrefetchBatchAsync",
		),
		Doc: "Queues the moving, or the discarding, of several pieces of managed memory.",
	},
	{
		Op: op(SourceCUDA, 79), Name: "cudaMemAdvise", Seldom: true, Args: []Arg{argPtr, argBytes},
		Symbols: []string{"cudaMemAdvise", "cudaMemAdvise_v2"},
		Doc:     "Says how managed memory will be used.",
	},
	{
		Op: op(SourceCUDA, 80), Name: "cudaMemPoolCreate", Seldom: true, Shape: ShapeCreate, Args: []Arg{argPool},
		Doc: "Creates a memory pool.",
	},
	{
		Op: op(SourceCUDA, 81), Name: "cudaMemPoolDestroy", Seldom: true, Args: []Arg{argPool},
		Doc: "Frees a memory pool.",
	},
	{
		Op: op(SourceCUDA, 82), Name: "cudaMemPoolTrimTo",
		Args: []Arg{argPool, {Name: "keep_bytes", Unit: UnitBytes, Doc: "bytes that the pool may keep"}},
		Doc:  "Gives a pool's unused memory back to the device.",
	},
	{
		Op: op(SourceCUDA, 83), Name: "cudaMemPoolSetAttribute", Seldom: true, Args: []Arg{argPool, argAttribute},
		Doc: "Sets a property of a memory pool, such as when it gives memory back.",
	},
	{
		Op: op(SourceCUDA, 84), Name: "cudaMemPoolGetAttribute", Seldom: true, Args: []Arg{argPool, argAttribute},
		Doc: "Asks for a property of a memory pool.",
	},
	{
		Op: op(SourceCUDA, 85), Name: "cudaMemPoolSetAccess", Seldom: true, Args: []Arg{argPool},
		Doc: "Makes a pool's memory reachable for other devices.",
	},
	{
		Op: op(SourceCUDA, 86), Name: "cudaMemPoolExportToShareableHandle", Seldom: true,
		Symbols: []string{
			"cudaMemPoolExportToShareableHandle", "cudaMemPoolImportFromShareableHandle",
			"cudaMemPoolExportPointer", "cudaMemPoolImportPointer",
		},
		Doc: "Shares a pool, or memory of it, with another process.",
	},
	{
		Op: op(SourceCUDA, 87), Name: "cudaIpcGetMemHandle", Seldom: true,
		Symbols: []string{"cudaIpcGetMemHandle", "cudaIpcGetEventHandle"},
		Doc:     "Gives another process a way to reach memory or an event.",
	},
	{
		Op: op(SourceCUDA, 88), Name: "cudaIpcOpenMemHandle",
		Symbols: []string{"cudaIpcOpenMemHandle", "cudaIpcOpenEventHandle"},
		Doc:     "Maps memory, or opens an event, of another process.",
	},
	{
		Op: op(SourceCUDA, 89), Name: "cudaIpcCloseMemHandle", Seldom: true, Args: []Arg{argPtr},
		Doc: "Unmaps another process's memory.",
	},
	{
		Op: op(SourceCUDA, 90), Name: "cudaDeviceGraphMemTrim", Args: []Arg{argDevice}, Seldom: true,
		Doc: "Gives memory that graphs do not use back to the device.",
	},
}

// runtimeCode are functions of the CUDA runtime that load code, or look it up.
var runtimeCode = []Info{
	{
		Op: op(SourceCUDA, 91), Name: "cudaFuncGetAttributes",
		Args: []Arg{{Name: "out", Unit: UnitAddr, Doc: "where the answer goes"}, argFunc},
		Doc:  "Asks for a kernel's properties; the first time it may load its code.",
	},
	{
		Op: op(SourceCUDA, 92), Name: "cudaFuncSetAttribute", Args: []Arg{argFunc, argAttribute},
		Doc: "Sets a property of a kernel; the first time it may load its code.",
	},
	{
		Op: op(SourceCUDA, 93), Name: "cudaGetFuncBySymbol", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{{Name: "cu_func", Unit: UnitHandle, Doc: "CUfunction returned"}, argFunc},
		Doc:  "Gives a kernel's handle in the driver; the first time it may load its code.",
	},
	{
		Op: op(SourceCUDA, 94), Name: "cudaLibraryLoadData", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argLibrary, argImage},
		Doc:  "Loads kernels from memory.",
	},
	{
		Op: op(SourceCUDA, 95), Name: "cudaLibraryLoadFromFile", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argLibrary},
		Doc:  "Loads kernels from a file.",
	},
	{
		Op: op(SourceCUDA, 96), Name: "cudaLibraryUnload", Seldom: true, Role: RoleLoad, Args: []Arg{argLibrary},
		Doc: "Unloads kernels.",
	},
	{
		Op: op(SourceCUDA, 97), Name: "cudaLibraryGetKernel", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argKernel, argLibrary},
		Doc:  "Looks a kernel up; may load its code.",
	},
	{
		Op: op(SourceCUDA, 98), Name: "cudaLibraryGetGlobal", Role: RoleLoad, Seldom: true,
		Symbols: []string{"cudaLibraryGetGlobal", "cudaLibraryGetManaged", "cudaLibraryGetUnifiedFunction"},
		Doc:     "Looks a variable or function of the device up; may load it.",
	},
	{
		Op: op(SourceCUDA, 99), Name: "cudaLibraryEnumerateKernels", Seldom: true,
		Symbols: []string{"cudaLibraryEnumerateKernels", "cudaLibraryGetKernelCount"},
		Doc:     "Lists the kernels of a library.",
	},
	{
		Op: op(SourceCUDA, 100), Name: "cudaLaunchCooperativeKernelMultiDevice", Role: RoleLaunch,
		Args:   argsLaunches,
		Seldom: true,
		Doc:    "Queues a kernel on several devices.",
	},
}
