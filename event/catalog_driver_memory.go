package event

// driverCopies are functions of the CUDA driver that move or fill memory in less usual ways.
// If a function also exists with _v2, the one without is from CUDA 3.1 or older, with 32-bit
// sizes.
var driverCopies = []Info{
	{
		Op: op(SourceDriver, 40), Name: "cuMemcpy", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perDefault("cuMemcpy"),
		Doc:     "Copies memory and waits for it, through the driver API.",
	},
	{
		Op: op(SourceDriver, 41), Name: "cuMemcpyAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy,
		Symbols: perStream("cuMemcpyAsync"),
		Doc:     "Queues a copy through the driver API.",
	},
	{
		Op: op(SourceDriver, 42), Name: "cuMemcpyPeer", Seldom: true, Shape: ShapeCuCopyPeer, Role: RoleCopy,
		Args:    argsCuCopy,
		Symbols: perDefault("cuMemcpyPeer"),
		Doc:     "Copies between two contexts.",
	},
	{
		Op: op(SourceDriver, 43), Name: "cuMemcpyPeerAsync", Seldom: true, Shape: ShapeCuCopyPeer, Role: RoleCopy,
		Args: argsCuCopy, Symbols: perStream("cuMemcpyPeerAsync"),
		Doc: "Queues a copy between two contexts.",
	},
	{
		Op: op(SourceDriver, 44), Name: "cuMemcpy2D", Seldom: true, Shape: ShapeCuCopy2D, Role: RoleCopy,
		Args:    argsBytes,
		Symbols: perDefault("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2"),
		Doc:     "Copies a matrix and waits for it, through the driver API.",
	},
	{
		Op: op(SourceDriver, 45), Name: "cuMemcpy2DAsync", Shape: ShapeCuCopy2D, Role: RoleCopy, Args: argsBytes,
		Symbols: perStream("cuMemcpy2DAsync_v2"),
		Doc:     "Queues a matrix copy through the driver API.",
	},
	{
		Op: op(SourceDriver, 46), Name: "cuMemcpy3D", Shape: ShapeCuCopy3D, Role: RoleCopy, Args: argsBytes,
		Seldom: true, Symbols: perDefault("cuMemcpy3D_v2"),
		Doc: "Copies a block and waits for it, through the driver API.",
	},
	{
		Op: op(SourceDriver, 47), Name: "cuMemcpy3DAsync", Shape: ShapeCuCopy3D, Role: RoleCopy, Args: argsBytes,
		Seldom: true, Symbols: perStream("cuMemcpy3DAsync_v2"),
		Doc: "Queues the copy of a block through the driver API.",
	},
	{
		Op: op(SourceDriver, 48), Name: "cuMemcpy3DPeer", Shape: ShapeCuCopy3D, Role: RoleCopy, Args: argsBytes,
		Seldom: true, Symbols: perDefault("cuMemcpy3DPeer"),
		Doc: "Copies a block between two contexts.",
	},
	{
		Op: op(SourceDriver, 49), Name: "cuMemcpy3DPeerAsync", Shape: ShapeCuCopy3D, Role: RoleCopy, Args: argsBytes,
		Seldom: true, Symbols: perStream("cuMemcpy3DPeerAsync"),
		Doc: "Queues the copy of a block between two contexts.",
	},
	{
		Op: op(SourceDriver, 50), Name: "cuMemcpyBatchAsync", Seldom: true, Role: RoleCopy, Args: argsBatch,
		Symbols: perStream("cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"),
		Doc:     "Queues several copies through the driver API.",
	},
	{
		Op: op(SourceDriver, 51), Name: "cuMemcpy3DBatchAsync", Role: RoleCopy, Args: []Arg{argCopies}, Seldom: true,
		Symbols: perStream("cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_v2"),
		Doc:     "Queues several copies of blocks through the driver API.",
	},
	{
		Op: op(SourceDriver, 52), Name: "cuMemcpyWithAttributesAsync", Seldom: true, Shape: ShapeCuCopy, Role: RoleCopy,
		Args: argsCuCopy, Symbols: perStream("cuMemcpyWithAttributesAsync"),
		Doc: "Queues a copy with attributes through the driver API.",
	},
	{
		Op: op(SourceDriver, 53), Name: "cuMemcpy3DWithAttributesAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cuMemcpy3DWithAttributesAsync"),
		Doc:     "Queues the copy of a block with attributes through the driver API.",
	},
	{
		Op: op(SourceDriver, 54), Name: "cuMemcpyDtoA", Shape: ShapeCuArray, Role: RoleCopy, Args: argsArray,
		Seldom: true, Symbols: perDefault("cuMemcpyDtoA_v2", "cuMemcpyHtoA_v2"),
		Doc: "Copies to an array for textures and waits for it.",
	},
	{
		Op: op(SourceDriver, 55), Name: "cuMemcpyHtoAAsync", Shape: ShapeCuArray, Role: RoleCopy, Args: argsArray,
		Seldom: true, Symbols: perStream("cuMemcpyHtoAAsync_v2"),
		Doc: "Queues a copy to an array for textures.",
	},
	{
		Op: op(SourceDriver, 56), Name: "cuMemcpyAtoD", Shape: ShapeCuArray, Role: RoleCopy, Args: argsArray,
		Seldom: true, Symbols: perDefault("cuMemcpyAtoD_v2", "cuMemcpyAtoH_v2"),
		Doc: "Copies from an array for textures and waits for it.",
	},
	{
		Op: op(SourceDriver, 57), Name: "cuMemcpyAtoHAsync", Shape: ShapeCuArray, Role: RoleCopy, Args: argsArray,
		Seldom: true, Symbols: perStream("cuMemcpyAtoHAsync_v2"),
		Doc: "Queues a copy from an array for textures.",
	},
	{
		Op: op(SourceDriver, 58), Name: "cuMemcpyAtoA", Shape: ShapeCuCopyPeer, Role: RoleCopy, Args: argsCuCopy,
		Seldom: true, Symbols: perDefault("cuMemcpyAtoA_v2"),
		Doc: "Copies between arrays for textures and waits for it.",
	},
	{
		Op: op(SourceDriver, 59), Name: "cuMemsetD8", Shape: ShapeFill, Role: RoleCopy, Args: argsFill,
		Symbols: perDefault("cuMemsetD8_v2"),
		Doc:     "Fills device memory with a byte.",
	},
	{
		Op: op(SourceDriver, 60), Name: "cuMemsetD8Async", Shape: ShapeFill, Role: RoleCopy, Args: argsFill,
		Symbols: perStream("cuMemsetD8Async"),
		Doc:     "Queues a fill with a byte.",
	},
	{
		Op: op(SourceDriver, 61), Name: "cuMemsetD16", Seldom: true, Shape: ShapeFill16, Role: RoleCopy, Args: argsFill,
		Symbols: perDefault("cuMemsetD16_v2"),
		Doc:     "Fills device memory with 2 bytes.",
	},
	{
		Op: op(SourceDriver, 62), Name: "cuMemsetD16Async", Seldom: true, Shape: ShapeFill16, Role: RoleCopy,
		Args:    argsFill,
		Symbols: perStream("cuMemsetD16Async"),
		Doc:     "Queues a fill with 2 bytes.",
	},
	{
		Op: op(SourceDriver, 63), Name: "cuMemsetD32", Shape: ShapeFill32, Role: RoleCopy, Args: argsFill,
		Symbols: perDefault("cuMemsetD32_v2"),
		Doc:     "Fills device memory with 4 bytes.",
	},
	{
		Op: op(SourceDriver, 64), Name: "cuMemsetD32Async", Shape: ShapeFill32, Role: RoleCopy, Args: argsFill,
		Symbols: perStream("cuMemsetD32Async"),
		Doc:     "Queues a fill with 4 bytes.",
	},
	{
		Op: op(SourceDriver, 65), Name: "cuMemsetD2D8", Shape: ShapeFill2D, Role: RoleCopy, Args: argsFill,
		Seldom: true, Symbols: perDefault("cuMemsetD2D8_v2"),
		Doc: "Fills a matrix of bytes.",
	},
	{
		Op: op(SourceDriver, 66), Name: "cuMemsetD2D8Async", Shape: ShapeFill2D, Role: RoleCopy, Args: argsFill,
		Seldom: true, Symbols: perStream("cuMemsetD2D8Async"),
		Doc: "Queues the filling of a matrix of bytes.",
	},
	{
		Op: op(SourceDriver, 67), Name: "cuMemsetD2D16", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cuMemsetD2D16_v2", "cuMemsetD2D32_v2"),
		Doc:     "Fills a matrix of 2 or 4 bytes.",
	},
	{
		Op: op(SourceDriver, 68), Name: "cuMemsetD2D16Async", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cuMemsetD2D16Async", "cuMemsetD2D32Async"),
		Doc:     "Queues the filling of a matrix of 2 or 4 bytes.",
	},
}

// driverMemory are functions of the CUDA driver that map, share and move memory.
var driverMemory = []Info{
	{
		Op: op(SourceDriver, 69), Name: "cuMemGetInfo", Seldom: true, Symbols: []string{"cuMemGetInfo_v2"},
		Doc: "Asks how much memory of the device is free, through the driver API.",
	},
	{
		Op: op(SourceDriver, 70), Name: "cuMemAddressReserve", Seldom: true, Shape: ShapeAlloc, Args: argsAlloc,
		Doc: "Reserves addresses for memory that is mapped there later.",
	},
	{
		Op: op(SourceDriver, 71), Name: "cuMemAddressFree", Seldom: true, Args: []Arg{argPtr, argBytes},
		Doc: "Gives such addresses back.",
	},
	{
		Op: op(SourceDriver, 72), Name: "cuMemMap",
		Args: []Arg{
			argPtr,
			argBytes,
			{Name: "offset", Unit: UnitCount, Doc: "bytes into the memory"},
			{Name: "handle", Unit: UnitHandle, Doc: "memory of cuMemCreate"},
		},
		Doc: "Maps memory at reserved addresses.",
	},
	{
		Op: op(SourceDriver, 73), Name: "cuMemSetAccess", Args: []Arg{argPtr, argBytes},
		Doc: "Makes mapped memory reachable for devices; slow.",
	},
	{
		Op: op(SourceDriver, 74), Name: "cuMemUnmap", Args: []Arg{argPtr, argBytes},
		Doc: "Unmaps memory; waits for the device.",
	},
	{
		Op: op(SourceDriver, 75), Name: "cuMemMapArrayAsync", Seldom: true,
		Symbols: perStream("cuMemMapArrayAsync"),
		Doc:     "Queues the mapping of sparse arrays.",
	},
	{
		Op: op(SourceDriver, 76), Name: "cuMemExportToShareableHandle", Seldom: true,
		Symbols: []string{
			"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemPoolExportToShareableHandle",
			"cuMemPoolImportFromShareableHandle", "cuMemPoolExportPointer", "cuMemPoolImportPointer",
		},
		Doc: "Shares memory with another process.",
	},
	{
		Op: op(SourceDriver, 77), Name: "cuMemPrefetchAsync", Seldom: true, Args: []Arg{argPtr, argBytes},
		Symbols: perStream("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2"),
		Doc:     "Queues the moving of managed memory to where it will be used, through the driver API.",
	},
	{
		Op: op(SourceDriver, 78), Name: "cuMemPrefetchBatchAsync", Seldom: true,
		Symbols: perStream("cuMemPrefetchBatchAsync", "cuMemDiscardBatchAsync", "cuMemDiscardAndPrefetchBatchAsync"),
		Doc:     "Queues the moving, or the discarding, of several pieces of managed memory.",
	},
	{
		Op: op(SourceDriver, 79), Name: "cuMemAdvise", Args: []Arg{argPtr, argBytes}, Seldom: true,
		Symbols: []string{"cuMemAdvise", "cuMemAdvise_v2"},
		Doc:     "Says how managed memory will be used, through the driver API.",
	},
	{
		Op: op(SourceDriver, 80), Name: "cuMemPoolCreate", Shape: ShapeCreate, Args: []Arg{argPool}, Seldom: true,
		Doc: "Creates a memory pool through the driver API.",
	},
	{
		Op: op(SourceDriver, 81), Name: "cuMemPoolDestroy", Args: []Arg{argPool}, Seldom: true,
		Doc: "Frees a memory pool through the driver API.",
	},
	{
		Op: op(SourceDriver, 82), Name: "cuMemPoolTrimTo", Seldom: true,
		Args: []Arg{argPool, {Name: "keep_bytes", Unit: UnitBytes, Doc: "bytes that the pool may keep"}},
		Doc:  "Gives a pool's unused memory back to the device, through the driver API.",
	},
	{
		Op: op(SourceDriver, 83), Name: "cuArrayCreate", Seldom: true,
		Symbols: []string{"cuArrayCreate_v2", "cuArray3DCreate_v2", "cuMipmappedArrayCreate"},
		Doc:     "Allocates an array for textures; its memory is not counted.",
	},
	{
		Op: op(SourceDriver, 84), Name: "cuArrayDestroy", Seldom: true,
		Symbols: []string{"cuArrayDestroy", "cuMipmappedArrayDestroy"},
		Doc:     "Frees an array for textures.",
	},
	{
		Op: op(SourceDriver, 85), Name: "cuMulticastCreate", Seldom: true,
		Symbols: []string{
			"cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem", "cuMulticastBindMem_v2",
			"cuMulticastBindAddr", "cuMulticastBindAddr_v2", "cuMulticastUnbind",
		},
		Doc: "Prepares memory that several devices write at once, as NCCL does.",
	},
	{
		Op: op(SourceDriver, 86), Name: "cuIpcGetMemHandle", Seldom: true,
		Symbols: []string{"cuIpcGetMemHandle", "cuIpcGetEventHandle"},
		Doc:     "Gives another process a way to reach memory or an event, through the driver API.",
	},
	{
		Op: op(SourceDriver, 87), Name: "cuIpcOpenMemHandle", Seldom: true,
		Symbols: []string{"cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", "cuIpcOpenEventHandle"},
		Doc:     "Maps memory, or opens an event, of another process, through the driver API.",
	},
	{
		Op: op(SourceDriver, 88), Name: "cuIpcCloseMemHandle", Args: []Arg{argPtr}, Seldom: true,
		Doc: "Unmaps another process's memory, through the driver API.",
	},
	{
		Op: op(SourceDriver, 89), Name: "cuDeviceGraphMemTrim", Args: []Arg{argDevice}, Seldom: true,
		Doc: "Gives memory that graphs do not use back to the device, through the driver API.",
	},
}
