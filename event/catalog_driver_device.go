package event

// driverCode are functions of the CUDA driver that load code, look it up and run it.
var driverCode = []Info{
	{
		Op: op(SourceDriver, 90), Name: "cuModuleLoad", Shape: ShapeCreate, Role: RoleLoad, Args: []Arg{argModule},
		Doc: "Loads a module's code from a file.",
	},
	{
		Op: op(SourceDriver, 91), Name: "cuModuleLoadDataEx", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argModule, argImage},
		Doc:  "Loads a module's code with options, compiling it if need be.",
	},
	{
		Op: op(SourceDriver, 92), Name: "cuModuleLoadFatBinary", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argModule, argImage},
		Doc:  "Loads the code that fits the device.",
	},
	{
		Op: op(SourceDriver, 93), Name: "cuModuleUnload", Seldom: true, Role: RoleLoad, Args: []Arg{argModule},
		Doc: "Unloads a module's code.",
	},
	{
		Op: op(SourceDriver, 94), Name: "cuModuleGetFunction", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argCuFunc, argModule},
		Doc:  "Looks a kernel up in a module; may load its code.",
	},
	{
		Op: op(SourceDriver, 95), Name: "cuModuleGetGlobal", Role: RoleLoad, Seldom: true,
		Symbols: []string{
			"cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuLibraryGetManaged",
			"cuLibraryGetUnifiedFunction",
		},
		Doc: "Looks a variable or function of the device up; may load it.",
	},
	{
		Op: op(SourceDriver, 96), Name: "cuModuleEnumerateFunctions", Seldom: true,
		Symbols: []string{
			"cuModuleEnumerateFunctions", "cuModuleGetFunctionCount", "cuLibraryEnumerateKernels",
			"cuLibraryGetKernelCount",
		},
		Doc: "Lists the kernels of a module or library.",
	},
	{
		Op: op(SourceDriver, 97), Name: "cuLibraryLoadData", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argLibrary, argImage},
		Doc:  "Loads kernels from memory, through the driver API.",
	},
	{
		Op: op(SourceDriver, 98), Name: "cuLibraryLoadFromFile", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argLibrary},
		Doc:  "Loads kernels from a file, through the driver API.",
	},
	{
		Op: op(SourceDriver, 99), Name: "cuLibraryUnload", Seldom: true, Role: RoleLoad, Args: []Arg{argLibrary},
		Doc: "Unloads kernels, through the driver API.",
	},
	{
		Op: op(SourceDriver, 100), Name: "cuLibraryGetKernel", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argKernel, argLibrary},
		Doc:  "Looks a kernel up, through the driver API.",
	},
	{
		Op: op(SourceDriver, 101), Name: "cuLibraryGetModule", Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argModule, argLibrary}, Seldom: true,
		Doc: "Loads a library into the context.",
	},
	{
		Op: op(SourceDriver, 102), Name: "cuKernelGetFunction", Seldom: true, Shape: ShapeCreate, Role: RoleLoad,
		Args: []Arg{argCuFunc, argKernel},
		Doc:  "Gives a kernel's function in the context; may load its code.",
	},
	{
		Op: op(SourceDriver, 103), Name: "cuFuncLoad", Seldom: true, Role: RoleLoad, Args: []Arg{argCuFunc},
		Doc: "Loads a kernel's code.",
	},
	{
		Op: op(SourceDriver, 104), Name: "cuLinkCreate", Role: RoleLoad, Seldom: true,
		Symbols: []string{"cuLinkCreate_v2"},
		Doc:     "Begins to link code.",
	},
	{
		Op: op(SourceDriver, 105), Name: "cuLinkAddData", Seldom: true, Role: RoleLoad,
		Symbols: []string{"cuLinkAddData_v2", "cuLinkAddFile_v2"},
		Doc:     "Adds code to be linked, compiling it if need be.",
	},
	{Op: op(SourceDriver, 106), Name: "cuLinkComplete", Role: RoleLoad, Doc: "Links code."},
	{
		Op: op(SourceDriver, 107), Name: "cuLaunchCooperativeKernel", Shape: ShapeCuLaunch, Role: RoleLaunch,
		Args: argsLaunch, Symbols: perStream("cuLaunchCooperativeKernel"),
		Doc: "Queues a kernel whose blocks may synchronise, through the driver API.",
	},
	{
		Op: op(SourceDriver, 108), Name: "cuLaunchCooperativeKernelMultiDevice", Role: RoleLaunch,
		Args:   argsLaunches,
		Seldom: true,
		Doc:    "Queues a kernel on several devices, through the driver API.",
	},
	{
		Op: op(SourceDriver, 109), Name: "cuLaunchGrid", Role: RoleLaunch, Args: []Arg{argCuFunc}, Seldom: true,
		Symbols: []string{"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync"},
		Doc:     "Queues a kernel in the way of CUDA 3.",
	},
	{
		Op: op(SourceDriver, 110), Name: "cuLaunchHostFunc", Seldom: true, Args: []Arg{argStream, argHostFunc},
		Symbols: perStream("cuLaunchHostFunc", "cuLaunchHostFunc_v2"),
		Doc:     "Queues a call of the host, through the driver API.",
	},
}

// driverDevice are functions of the CUDA driver for contexts, streams and events.
var driverDevice = []Info{
	{Op: op(SourceDriver, 111), Name: "cuInit", Doc: "Starts CUDA in the process."},
	{
		Op: op(SourceDriver, 112), Name: "cuDevicePrimaryCtxRetain", Shape: ShapeCreate,
		Args: []Arg{argContext, argDevice},
		Doc:  "Takes the device's context, which the first time makes it.",
	},
	{
		Op: op(SourceDriver, 113), Name: "cuDevicePrimaryCtxRelease", Seldom: true, Args: []Arg{argDevice},
		Symbols: []string{"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"},
		Doc:     "Gives the device's context back; the last one ends it.",
	},
	{
		Op: op(SourceDriver, 114), Name: "cuDevicePrimaryCtxReset", Seldom: true, Args: []Arg{argDevice},
		Symbols: []string{"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2"},
		Doc:     "Ends the device's context.",
	},
	{
		Op: op(SourceDriver, 115), Name: "cuDevicePrimaryCtxSetFlags", Args: []Arg{argDevice, argFlags},
		Seldom: true, Symbols: []string{"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2"},
		Doc: "Says how the device's context is to be used.",
	},
	{
		Op: op(SourceDriver, 116), Name: "cuCtxCreate", Seldom: true, Shape: ShapeCreate, Args: []Arg{argContext},
		Symbols: []string{"cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4"},
		Doc:     "Makes a context.",
	},
	{
		Op: op(SourceDriver, 117), Name: "cuCtxDestroy", Seldom: true, Args: []Arg{argContext},
		Symbols: []string{"cuCtxDestroy_v2"},
		Doc:     "Ends a context.",
	},
	{
		Op: op(SourceDriver, 118), Name: "cuCtxSetLimit", Seldom: true,
		Args: []Arg{{Name: "limit", Unit: UnitEnum, Doc: "CUlimit"}, argValue},
		Doc:  "Sets a limit of the context; some wait for the device.",
	},
	{
		Op: op(SourceDriver, 119), Name: "cuCtxEnablePeerAccess", Seldom: true, Args: []Arg{argContext},
		Doc: "Maps another context's memory.",
	},
	{
		Op: op(SourceDriver, 120), Name: "cuCtxDisablePeerAccess", Args: []Arg{argContext}, Seldom: true,
		Doc: "Ends that.",
	},
	{
		Op: op(SourceDriver, 121), Name: "cuGreenCtxCreate", Seldom: true,
		Symbols: []string{"cuGreenCtxCreate", "cuGreenCtxDestroy", "cuCtxFromGreenCtx"},
		Doc:     "Makes or ends a context with a part of the device.",
	},
	{
		Op: op(SourceDriver, 122), Name: "cuStreamCreate", Seldom: true, Shape: ShapeCreate,
		Args: []Arg{argStream, argFlags},
		Doc:  "Creates a stream through the driver API.",
	},
	{
		Op: op(SourceDriver, 123), Name: "cuStreamCreateWithPriority", Seldom: true, Shape: ShapeCreate,
		Args: []Arg{argStream, argFlags, {Name: "priority", Unit: UnitNone, Doc: "lower is more urgent"}},
		Doc:  "Creates a stream with a priority, through the driver API.",
	},
	{
		Op: op(SourceDriver, 124), Name: "cuGreenCtxStreamCreate", Shape: ShapeCreate, Args: []Arg{argStream},
		Seldom: true,
		Doc:    "Creates a stream of a part of the device.",
	},
	{
		Op: op(SourceDriver, 125), Name: "cuStreamDestroy", Seldom: true, Args: []Arg{argStream},
		Symbols: []string{"cuStreamDestroy_v2"},
		Doc:     "Frees a stream once its work is done, through the driver API.",
	},
	{
		Op: op(SourceDriver, 126), Name: "cuStreamQuery", Args: []Arg{argStream},
		Symbols: perStream("cuStreamQuery"),
		Doc:     "Asks whether a stream's work is done, through the driver API.",
	},
	{
		Op: op(SourceDriver, 127), Name: "cuStreamWaitEvent", Args: []Arg{argStream, argEvent, argFlags},
		Symbols: perStream("cuStreamWaitEvent"),
		Doc:     "Makes a stream wait for an event, through the driver API.",
	},
	{
		Op: op(SourceDriver, 128), Name: "cuStreamWaitValue", Seldom: true,
		Args: []Arg{argStream, argPtr, {Name: "value", Unit: UnitCount, Doc: "value waited for"}, argFlags},
		Symbols: perStream(
			"cuStreamWaitValue32", "cuStreamWaitValue32_v2", "cuStreamWaitValue64", "cuStreamWaitValue64_v2",
		),
		Doc: "Makes a stream wait for a value in memory.",
	},
	{
		Op: op(SourceDriver, 129), Name: "cuStreamWriteValue", Seldom: true,
		Args: []Arg{argStream, argPtr, {Name: "value", Unit: UnitCount, Doc: "value written"}, argFlags},
		Symbols: perStream(
			"cuStreamWriteValue32", "cuStreamWriteValue32_v2", "cuStreamWriteValue64", "cuStreamWriteValue64_v2",
		),
		Doc: "Queues the writing of a value to memory.",
	},
	{
		Op: op(SourceDriver, 130), Name: "cuStreamBatchMemOp", Seldom: true, Args: []Arg{argStream},
		Symbols: perStream("cuStreamBatchMemOp", "cuStreamBatchMemOp_v2"),
		Doc:     "Queues several waits for values and writings of them.",
	},
	{
		Op: op(SourceDriver, 131), Name: "cuStreamAddCallback", Args: []Arg{argStream}, Seldom: true,
		Symbols: perStream("cuStreamAddCallback"),
		Doc:     "Queues a call of the host, through the driver API.",
	},
	{
		Op: op(SourceDriver, 132), Name: "cuStreamAttachMemAsync", Args: []Arg{argStream, argPtr, argBytes},
		Seldom: true, Symbols: perStream("cuStreamAttachMemAsync"),
		Doc: "Makes managed memory belong to a stream, through the driver API.",
	},
	{
		Op: op(SourceDriver, 133), Name: "cuEventCreate", Seldom: true, Shape: ShapeCreate,
		Args: []Arg{argEvent, argFlags},
		Doc:  "Creates an event through the driver API.",
	},
	{
		Op: op(SourceDriver, 134), Name: "cuEventDestroy", Seldom: true, Args: []Arg{argEvent},
		Symbols: []string{"cuEventDestroy_v2"},
		Doc:     "Frees an event through the driver API.",
	},
	{
		Op: op(SourceDriver, 135), Name: "cuEventRecord", Args: []Arg{argEvent, argStream},
		Symbols: perStream("cuEventRecord", "cuEventRecordWithFlags"),
		Doc:     "Queues an event through the driver API.",
	},
	{
		Op: op(SourceDriver, 136), Name: "cuEventQuery", Args: []Arg{argEvent},
		Doc: "Asks whether an event has happened, through the driver API.",
	},
	{
		Op: op(SourceDriver, 137), Name: "cuEventElapsedTime", Seldom: true,
		Symbols: []string{"cuEventElapsedTime", "cuEventElapsedTime_v2"},
		Doc:     "Asks how long it was between two events, through the driver API.",
	},
	{
		Op: op(SourceDriver, 138), Name: "cuCtxRecordEvent", Seldom: true,
		Symbols: []string{"cuCtxRecordEvent", "cuGreenCtxRecordEvent", "cuCtxWaitEvent", "cuGreenCtxWaitEvent"},
		Doc:     "Queues an event, or waits for one, in all streams of a context.",
	},
}
