package event

// ncclOps are functions of NCCL (nccl.h of NCCL 2.x).
var ncclOps = []Info{
	{
		Op: op(SourceNCCL, 1), Name: "ncclCommInitRank", Shape: ShapeInitRank, Args: argsInit,
		Doc: "Makes this process, or thread, one rank of a communicator; waits until all ranks have.",
	},
	{
		Op: op(SourceNCCL, 2), Name: "ncclCommInitRankConfig", Shape: ShapeInitRank, Args: argsInit,
		Doc: "The same with a configuration; may return before all ranks have.",
	},
	{
		Op: op(SourceNCCL, 3), Name: "ncclCommInitAll", Shape: ShapeInitAll, Args: argsInit[:2],
		Doc: "Makes a communicator of several devices in one process; communicator is that of the first.",
	},
	{Op: op(SourceNCCL, 4), Name: "ncclCommDestroy", Args: []Arg{argComm}, Doc: "Frees a communicator."},
	{
		Op: op(SourceNCCL, 5), Name: "ncclCommAbort", Args: []Arg{argComm},
		Doc: "Frees a communicator and ends what it is doing.",
	},
	{
		Op: op(SourceNCCL, 6), Name: "ncclAllReduce", Shape: ShapeAllReduce, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclAllReduce", "ncclAllReduceConfig"},
		Doc:     "Queues a reduction of all ranks' data, with the result on all.",
	},
	{
		Op: op(SourceNCCL, 7), Name: "ncclBroadcast", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclBroadcast", "ncclBroadcastConfig"},
		Doc:     "Queues a copy from one rank to all.",
	},
	{
		Op: op(SourceNCCL, 8), Name: "ncclReduce", Shape: ShapeReduce, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclReduce", "ncclReduceConfig"},
		Doc:     "Queues a reduction of all ranks' data, with the result on one.",
	},
	{
		Op: op(SourceNCCL, 9), Name: "ncclAllGather", Shape: ShapeGather, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclAllGather", "ncclAllGatherConfig"},
		Doc:     "Queues a copy of each rank's data to all; bytes are those each sends.",
	},
	{
		Op: op(SourceNCCL, 10), Name: "ncclReduceScatter", Shape: ShapeAllReduce, Role: RoleCollective,
		Symbols: []string{"ncclReduceScatter", "ncclReduceScatterConfig"},
		Args:    argsNCCL,
		Doc:     "Queues a reduction whose result is split among the ranks; bytes are those each receives.",
	},
	{
		Op: op(SourceNCCL, 11), Name: "ncclSend", Shape: ShapeSend, Role: RoleCollective, Args: argsNCCL,
		Doc: "Queues sending to one rank.",
	},
	{
		Op: op(SourceNCCL, 12), Name: "ncclRecv", Shape: ShapeRecv, Role: RoleCollective, Args: argsNCCL,
		Doc: "Queues receiving from one rank.",
	},
	{
		Op: op(SourceNCCL, 13), Name: "ncclGroupStart",
		Doc: "Begins a group: NCCL calls up to its end are queued together then.",
	},
	{Op: op(SourceNCCL, 14), Name: "ncclGroupEnd", Doc: "Ends a group; the outermost end queues its calls."},
	{
		Op: op(SourceNCCL, 15), Name: "ncclCommFinalize", Args: []Arg{argComm},
		Doc: "Ends what a communicator does, before it is freed.",
	},
	{
		Op: op(SourceNCCL, 16), Name: "ncclCommSplit", Shape: ShapeSplit, Args: argsSplit,
		Doc: "Makes a communicator of the ranks that give the same color; waits until all ranks of the parent have.",
	},
	{
		Op: op(SourceNCCL, 17), Name: "ncclCommShrink", Shape: ShapeShrink, Args: argsShrink,
		Doc: "Makes a communicator without some ranks.",
	},
	{
		Op: op(SourceNCCL, 18), Name: "ncclCommInitRankScalable", Shape: ShapeInitScalable, Args: argsInit,
		Doc: "The same as ncclCommInitRankConfig with several ids; comm_id is of the first.",
	},
	{
		Op: op(SourceNCCL, 19), Name: "ncclCommCount", Shape: ShapeAsk,
		Args: []Arg{argComm, {Name: "ranks", Unit: UnitCount, Doc: "answer: how many ranks there are"}},
		Doc:  "Asks how many ranks a communicator has.",
	},
	{
		Op: op(SourceNCCL, 20), Name: "ncclCommUserRank", Shape: ShapeAsk,
		Args: []Arg{argComm, {Name: "rank", Unit: UnitCount, Doc: "answer: which rank this is, from 0"}},
		Doc:  "Asks which rank of a communicator this is.",
	},
	{
		Op: op(SourceNCCL, 21), Name: "ncclBcast", Shape: ShapeBcast, Args: argsNCCL,
		Doc: "ncclBroadcast in place, which it calls: that call has the number.",
	},
	{
		Op: op(SourceNCCL, 22), Name: "ncclAlltoAll", Shape: ShapeGather, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclAlltoAll", "ncclAlltoAllConfig"},
		Doc:     "Queues a copy from each rank to each; bytes are those each sends to one.",
	},
	{
		Op: op(SourceNCCL, 23), Name: "ncclGather", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclGather", "ncclGatherConfig"},
		Doc:     "Queues a copy of all ranks' data to one; bytes are those each sends.",
	},
	{
		Op: op(SourceNCCL, 24), Name: "ncclScatter", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL,
		Symbols: []string{"ncclScatter", "ncclScatterConfig"},
		Doc:     "Queues a copy of a part of one rank's data to each; bytes are those each receives.",
	},
	{
		Op: op(SourceNCCL, 25), Name: "ncclGetUniqueId", Seldom: true,
		Doc: "Makes the id by which ranks find each other; opens a connection to be found by.",
	},
	{
		Op: op(SourceNCCL, 26), Name: "ncclMemAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc,
		Doc: "Allocates device memory that fits NCCL's fastest ways.",
	},
	{Op: op(SourceNCCL, 27), Name: "ncclMemFree", Role: RoleFree, Args: []Arg{argPtr}, Doc: "Frees such memory."},
	{
		Op: op(SourceNCCL, 28), Name: "ncclCommRegister", Seldom: true, Args: []Arg{argComm, argPtr, argBytes},
		Doc: "Registers memory with a communicator.",
	},
	{Op: op(SourceNCCL, 29), Name: "ncclCommDeregister", Seldom: true, Args: []Arg{argComm}, Doc: "Ends that."},
	{
		Op: op(SourceNCCL, 30), Name: "ncclCommWindowRegister", Seldom: true, Args: []Arg{argComm, argPtr, argBytes},
		Doc: "Registers memory that other ranks reach; waits until all ranks have.",
	},
	{Op: op(SourceNCCL, 31), Name: "ncclCommWindowDeregister", Seldom: true, Args: []Arg{argComm}, Doc: "Ends that."},
	{
		Op: op(SourceNCCL, 32), Name: "ncclCommSuspend", Seldom: true, Args: []Arg{argComm},
		Symbols: []string{"ncclCommSuspend", "ncclCommResume", "ncclCommRevoke"},
		Doc:     "Stops a communicator for a while, goes on with it, or ends what it is doing.",
	},
	{
		Op: op(SourceNCCL, 33), Name: "ncclPutSignal", Seldom: true,
		Symbols: []string{"ncclPutSignal", "ncclSignal", "ncclWaitSignal"},
		Doc:     "Queues a write to another rank's memory, or a signal, or waiting for one; it has no number.",
	},
}
