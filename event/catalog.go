package event

import "fmt"

// Op identifies an operation: source<<8 | n. Numbers are append-only: they are
// stored in databases. 0 means "no operation".
type Op uint16

// NumArgs is how many arguments of an operation are recorded.
const NumArgs = 4

// Unit says how to read an argument.
type Unit string

// The units.
const (
	UnitNone   Unit = ""
	UnitBytes  Unit = "bytes"
	UnitAddr   Unit = "address"
	UnitHandle Unit = "handle"
	UnitCount  Unit = "count"
	UnitEnum   Unit = "enum"
	UnitDevice Unit = "device"
	UnitFields Unit = "fields" // several values; see Arg.Fields
)

// Arg is a recorded argument of an operation.
type Arg struct {
	Name string // SQL column name in the operation's view
	Unit Unit
	Doc  string
	// Fields are what the value is made of, if it is more than one argument. They
	// are columns of their own then, instead of the whole.
	Fields []Field
}

// Field is some bits of an argument's value.
type Field struct {
	Name  string // SQL column name in the operation's view
	Shift uint8
	Bits  uint8
	Doc   string
}

// Of returns the field of an argument's value.
func (f *Field) Of(v uint64) uint64 { return v >> f.Shift & (1<<f.Bits - 1) }

// Shape says where the recorded arguments of a function are found: in which
// registers, stack slots or memory. Each shape is one case of call_args in
// bpf/include/args.h.
type Shape uint8

// The shapes. P1 to P8 are the parameters in C order.
const (
	ShapePlain        Shape = iota // P1, P2, P3, P4
	ShapeLaunch                    // (func, dim3 grid, dim3 block, args, shared, stream)
	ShapeLaunchConfig              // (cudaLaunchConfig_t*, func, args)
	ShapeCuLaunch                  // (func, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
	ShapeCuConfig                  // (CUlaunchConfig*, func, params, extra)
	ShapeAlloc                     // (void **ptr, bytes, …): ptr is read back at return
	ShapeCopy                      // (dst, src, bytes, kind)
	ShapeCuCopy                    // (dst, src, bytes)
	ShapeCopy2D                    // (dst, dpitch, src, spitch, width, height, kind)
	ShapeCopyPeer                  // (dst, dstDevice, src, srcDevice, bytes)
	ShapeFill                      // (ptr, value, bytes)
	ShapeCreate                    // (handle *out, P2, P3): the handle is read back at return
	ShapeEndCapture                // (P1, handle *out): the handle is read back at return
	ShapeStatus                    // (P1, int *status): the status is read back at return
	ShapeCaptureTo                 // (stream, graph, dependencies, edges, number, mode)
	ShapePitch                     // (void **ptr, size_t *pitch, width, height, …): ptr is read back at return
	ShapeRegister                  // (ptr, bytes, flags)
	ShapeInitRank                  // (ncclComm_t *out, ranks, ncclUniqueId id, rank)
	ShapeInitAll                   // (ncclComm_t *out, ranks, devices): the first communicator is read back at return
	ShapeAllReduce                 // (send, recv, count, type, op, comm, stream)
	ShapeBroadcast                 // (send, recv, count, type, root, comm, stream)
	ShapeReduce                    // (send, recv, count, type, op, root, comm, stream)
	ShapeGather                    // (send, recv, count, type, comm, stream)
	ShapeSend                      // (buffer, count, type, peer, comm, stream)
	ShapeRecv                      // the same, to receive
	ShapeInitScalable              // (ncclComm_t *out, ranks, rank, nIds, ncclUniqueId *ids, config)
	ShapeSplit                     // (comm, color, key, ncclComm_t *out, config): the communicator is read back at return
	ShapeShrink                    // (comm, excluded, nExcluded, ncclComm_t *out, config, flags): likewise
	ShapeAsk                       // (comm, int *out): the number is read back at return
	ShapeBcast                     // (buffer, count, type, root, comm, stream): calls another function that counts
	NumShapes
)

// Role is what a call means to the diagnosis.
type Role uint8

// The roles.
const (
	RoleOther      Role = iota
	RoleLaunch          // hands work to the GPU
	RoleSync            // waits for the GPU by definition
	RoleCopy            // moves memory; may wait for the GPU
	RoleAlloc           // allocates
	RoleFree            // frees
	RoleLoad            // loads code
	RoleCapture         // makes or changes a graph, to be launched later
	RoleCollective      // hands work to the GPU that waits there for other ranks
)

var roleNames = [...]string{"other", "launch", "sync", "copy", "alloc", "free", "load", "capture", "collective"}

// String returns the lower-case name.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role-%d", uint8(r))
}

// Info is one row of the catalogue.
type Info struct {
	Op    Op
	Name  string // in the library's own words; the op column of the events view
	Shape Shape
	Role  Role
	Args  []Arg // at most NumArgs, in the order they are recorded
	// Symbols are the exported functions that are this operation. Empty means
	// just Name.
	Symbols []string
	Doc     string // one sentence
	// SetsDevice marks the call that chooses the thread's device; P1 is it.
	SetsDevice bool
	// Space is where the memory lies that the operation allocates or frees.
	Space Space
}

// Source is the layer the operation belongs to.
func (o Op) Source() Source { return Source(o >> 8) }

func op(s Source, n uint8) Op { return Op(s)<<8 | Op(n) }

// String returns the operation's name.
func (o Op) String() string {
	if i := o.Info(); i != nil {
		return i.Name
	}
	return fmt.Sprintf("op-%d", uint16(o))
}

// Info returns the catalogue row, nil if the number is unknown.
func (o Op) Info() *Info { return index.byOp[o] }

// Role returns the catalogue row's role, RoleOther if the number is unknown.
func (o Op) Role() Role {
	if i := o.Info(); i != nil {
		return i.Role
	}
	return RoleOther
}

// ByName finds an operation by its name.
func ByName(name string) (*Info, bool) {
	i, ok := index.byName[name]
	return i, ok
}

// BySource returns the catalogue's rows of one source, in order.
func BySource(s Source) []*Info {
	var r []*Info
	for i := range Catalog {
		if Catalog[i].Op.Source() == s {
			r = append(r, &Catalog[i])
		}
	}
	return r
}

// SymbolNames returns the exported functions that are this operation.
func (i *Info) SymbolNames() []string {
	if len(i.Symbols) == 0 {
		return []string{i.Name}
	}
	return i.Symbols
}

// BytesArg returns which argument holds a number of bytes, -1 if none does.
func (i *Info) BytesArg() int {
	for n, a := range i.Args {
		if a.Unit == UnitBytes {
			return n
		}
	}
	return -1
}

// Operations of the host that packages name.
const (
	OpPageAlloc        = Op(SourceHost)<<8 | 3
	OpBlockRead        = Op(SourceIO)<<8 | 1
	OpBlockWrite       = Op(SourceIO)<<8 | 2
	OpBlockDiscard     = Op(SourceIO)<<8 | 3
	OpBlockFlush       = Op(SourceIO)<<8 | 4
	OpBlockOther       = Op(SourceIO)<<8 | 5
	OpSwapIn           = Op(SourceIO)<<8 | 6
	OpSwapOut          = Op(SourceIO)<<8 | 7
	OpTCPRetransmit    = Op(SourceTCP)<<8 | 1
	OpTCPConnectFailed = Op(SourceTCP)<<8 | 2
	OpTCPSpike         = Op(SourceTCP)<<8 | 3
)

// Called reports whether the source's operations are functions of a library, which
// are timed; the others are things the kernel tells of.
func (s Source) Called() bool {
	return s == SourceCUDA || s == SourceDriver || s == SourceGraph || s == SourceNCCL
}

type indexes struct {
	byOp   map[Op]*Info
	byName map[string]*Info
}

var index = func() indexes {
	x := indexes{make(map[Op]*Info, len(Catalog)), make(map[string]*Info, len(Catalog))}
	for i := range Catalog {
		x.byOp[Catalog[i].Op] = &Catalog[i]
		x.byName[Catalog[i].Name] = &Catalog[i]
	}
	return x
}()

var (
	argBytes     = Arg{Name: "bytes", Unit: UnitBytes, Doc: "size in bytes"}
	argPtr       = Arg{Name: "ptr", Unit: UnitAddr, Doc: "device or host address"}
	argStream    = Arg{Name: "stream", Unit: UnitHandle, Doc: "stream handle; 0 is the default stream"}
	argEvent     = Arg{Name: "event", Unit: UnitHandle, Doc: "event handle"}
	argFlags     = Arg{Name: "flags", Unit: UnitEnum, Doc: "flags as passed"}
	argGraph     = Arg{Name: "graph", Unit: UnitHandle, Doc: "graph"}
	argComm      = Arg{Name: "communicator", Unit: UnitHandle, Doc: "communicator, as the process knows it"}
	argExec      = Arg{Name: "graph_exec", Unit: UnitHandle, Doc: "executable graph"}
	argMode      = Arg{Name: "capture_mode", Unit: UnitEnum, Doc: "cudaStreamCaptureMode: 0 global, 1 thread-local, 2 relaxed"}
	argStatus    = Arg{Name: "capture_status", Unit: UnitEnum, Doc: "cudaStreamCaptureStatus: 0 none, 1 active, 2 invalidated"}
	argMade      = Arg{Name: "graph_exec", Unit: UnitHandle, Doc: "executable graph returned"}
	argEnded     = Arg{Name: "graph", Unit: UnitHandle, Doc: "graph returned"}
	argKind      = Arg{Name: "kind", Unit: UnitEnum, Doc: "cudaMemcpyKind: 0 host-host, 1 host-device, 2 device-host, 3 device-device, 4 default"}
	argsAlloc    = []Arg{argBytes, {Name: "ptr", Unit: UnitAddr, Doc: "address returned"}}
	argsRegister = []Arg{argBytes, argPtr}
	argsCopy     = []Arg{argBytes, argKind, {Name: "dst", Unit: UnitAddr, Doc: "destination"}, {Name: "src", Unit: UnitAddr, Doc: "source"}}
	argsPeer     = []Arg{argBytes, {Name: "devices", Unit: UnitDevice, Doc: "destination device << 32 | source device"}, {Name: "dst", Unit: UnitAddr, Doc: "destination"}, {Name: "src", Unit: UnitAddr, Doc: "source"}}
	argsCuCopy   = []Arg{argBytes, {Name: "dst", Unit: UnitAddr, Doc: "destination"}, {Name: "src", Unit: UnitAddr, Doc: "source"}}
	argsFill     = []Arg{argBytes, argPtr, {Name: "value", Unit: UnitNone, Doc: "byte value written"}}
	argHow       = Arg{Name: "how", Unit: UnitFields, Doc: "what is moved, and which one of its kind it is", Fields: HowFields}
	argsNCCL     = []Arg{argComm, argBytes, argHow, argStream}
	argsBlock    = []Arg{argBytes, {Name: "sector", Unit: UnitCount, Doc: "first sector of 512 bytes"}, {Name: "device", Unit: UnitDevice, Doc: "major << 20 | minor"}, {Name: "queue_ns", Unit: UnitCount, Doc: "time before the device was given it"}}
	argsTCP      = []Arg{{Name: "remote_port", Unit: UnitCount, Doc: "port of the other end"}, {Name: "retransmits", Unit: UnitCount, Doc: "of the connection so far"}, {Name: "rtt_us", Unit: UnitCount, Doc: "smoothed round trip"}, {Name: "error", Unit: UnitEnum, Doc: "errno of a failed connect"}}
	argsLaunch   = []Arg{
		{Name: "func", Unit: UnitAddr, Doc: "kernel's host stub (runtime) or CUfunction (driver)"},
		argStream,
		{Name: "blocks", Unit: UnitCount, Doc: "thread blocks in the grid"},
		{Name: "threads", Unit: UnitCount, Doc: "threads in a block"},
	}
)

// Catalog lists every operation there is. A new operation is a new row with the
// next free number of its source; a number is never used again.
//
// Signatures are those of cuda_runtime_api.h and cuda.h of CUDA 12; a _ptsz or
// _ptds symbol is the same function compiled for per-thread default streams.
var Catalog = []Info{
	{Op: op(SourceCUDA, 1), Name: "cudaMalloc", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Doc: "Allocates device memory."},
	{Op: op(SourceCUDA, 2), Name: "cudaFree", Shape: ShapePlain, Role: RoleFree, Args: []Arg{argPtr}, Doc: "Frees device memory; waits for the device."},
	{Op: op(SourceCUDA, 3), Name: "cudaLaunchKernel", Shape: ShapeLaunch, Role: RoleLaunch, Args: argsLaunch, Symbols: []string{"cudaLaunchKernel", "cudaLaunchKernel_ptsz"}, Doc: "Queues a kernel."},
	{Op: op(SourceCUDA, 4), Name: "cudaMemcpy", Shape: ShapeCopy, Role: RoleCopy, Args: argsCopy, Symbols: []string{"cudaMemcpy", "cudaMemcpy_ptds"}, Doc: "Copies memory and waits for it."},
	{Op: op(SourceCUDA, 5), Name: "cudaStreamSynchronize", Shape: ShapePlain, Role: RoleSync, Args: []Arg{argStream}, Symbols: []string{"cudaStreamSynchronize", "cudaStreamSynchronize_ptsz"}, Doc: "Waits until a stream's work is done."},
	{Op: op(SourceCUDA, 6), Name: "cudaDeviceSynchronize", Shape: ShapePlain, Role: RoleSync, Args: nil, Doc: "Waits until all of the device's work is done."},
	{Op: op(SourceCUDA, 7), Name: "cudaMemcpyAsync", Shape: ShapeCopy, Role: RoleCopy, Args: argsCopy, Symbols: []string{"cudaMemcpyAsync", "cudaMemcpyAsync_ptsz"}, Doc: "Queues a copy; pageable host memory makes it wait."},
	{Op: op(SourceCUDA, 8), Name: "cudaMallocManaged", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Doc: "Allocates memory that host and device share."},
	{Op: op(SourceCUDA, 9), Name: "cudaMallocAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cudaMallocAsync", "cudaMallocAsync_ptsz"}, Doc: "Allocates from a stream's memory pool."},
	{Op: op(SourceCUDA, 10), Name: "cudaMallocHost", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory, Args: argsAlloc, Doc: "Allocates page-locked host memory."},
	{Op: op(SourceCUDA, 11), Name: "cudaHostAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory, Args: argsAlloc, Doc: "Allocates page-locked host memory with flags."},
	{Op: op(SourceCUDA, 12), Name: "cudaFreeAsync", Shape: ShapePlain, Role: RoleFree, Args: []Arg{argPtr, argStream}, Symbols: []string{"cudaFreeAsync", "cudaFreeAsync_ptsz"}, Doc: "Returns memory to a stream's pool."},
	{Op: op(SourceCUDA, 13), Name: "cudaFreeHost", Shape: ShapePlain, Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr}, Doc: "Frees page-locked host memory."},
	{Op: op(SourceCUDA, 14), Name: "cudaLaunchKernelExC", Shape: ShapeLaunchConfig, Role: RoleLaunch, Args: argsLaunch, Symbols: []string{"cudaLaunchKernelExC", "cudaLaunchKernelExC_ptsz"}, Doc: "Queues a kernel with launch attributes."},
	{Op: op(SourceCUDA, 15), Name: "cudaLaunchCooperativeKernel", Shape: ShapeLaunch, Role: RoleLaunch, Args: argsLaunch, Symbols: []string{"cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernel_ptsz"}, Doc: "Queues a kernel whose blocks may synchronise."},
	{Op: op(SourceCUDA, 16), Name: "cudaMemcpy2D", Shape: ShapeCopy2D, Role: RoleCopy, Args: argsCopy, Symbols: []string{"cudaMemcpy2D", "cudaMemcpy2D_ptds"}, Doc: "Copies a matrix and waits for it."},
	{Op: op(SourceCUDA, 17), Name: "cudaMemcpy2DAsync", Shape: ShapeCopy2D, Role: RoleCopy, Args: argsCopy, Symbols: []string{"cudaMemcpy2DAsync", "cudaMemcpy2DAsync_ptsz"}, Doc: "Queues a matrix copy."},
	{Op: op(SourceCUDA, 18), Name: "cudaMemcpyPeer", Shape: ShapeCopyPeer, Role: RoleCopy, Args: argsPeer, Doc: "Copies between two devices."},
	{Op: op(SourceCUDA, 19), Name: "cudaMemcpyPeerAsync", Shape: ShapeCopyPeer, Role: RoleCopy, Args: argsPeer, Doc: "Queues a copy between two devices."},
	{Op: op(SourceCUDA, 20), Name: "cudaMemset", Shape: ShapeFill, Role: RoleCopy, Args: argsFill, Symbols: []string{"cudaMemset", "cudaMemset_ptds"}, Doc: "Fills device memory."},
	{Op: op(SourceCUDA, 21), Name: "cudaMemsetAsync", Shape: ShapeFill, Role: RoleCopy, Args: argsFill, Symbols: []string{"cudaMemsetAsync", "cudaMemsetAsync_ptsz"}, Doc: "Queues a fill of device memory."},
	{Op: op(SourceCUDA, 22), Name: "cudaEventSynchronize", Shape: ShapePlain, Role: RoleSync, Args: []Arg{argEvent}, Doc: "Waits until an event has happened."},
	{Op: op(SourceCUDA, 23), Name: "cudaEventRecord", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argEvent, argStream}, Symbols: []string{"cudaEventRecord", "cudaEventRecord_ptsz"}, Doc: "Queues an event."},
	{Op: op(SourceCUDA, 24), Name: "cudaEventQuery", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argEvent}, Doc: "Asks whether an event has happened."},
	{Op: op(SourceCUDA, 25), Name: "cudaStreamWaitEvent", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argStream, argEvent, argFlags}, Symbols: []string{"cudaStreamWaitEvent", "cudaStreamWaitEvent_ptsz"}, Doc: "Makes a stream wait for an event."},
	{Op: op(SourceCUDA, 26), Name: "cudaStreamCreate", Shape: ShapeCreate, Role: RoleOther, Args: []Arg{argStream}, Doc: "Creates a stream."},
	{Op: op(SourceCUDA, 27), Name: "cudaStreamCreateWithFlags", Shape: ShapeCreate, Role: RoleOther, Args: []Arg{argStream, argFlags}, Doc: "Creates a stream with flags."},
	{Op: op(SourceCUDA, 28), Name: "cudaStreamCreateWithPriority", Shape: ShapeCreate, Role: RoleOther, Args: []Arg{argStream, argFlags, {Name: "priority", Unit: UnitNone, Doc: "lower is more urgent"}}, Doc: "Creates a stream with a priority."},
	{Op: op(SourceCUDA, 29), Name: "cudaSetDevice", Shape: ShapePlain, Role: RoleOther, Args: []Arg{{Name: "device", Unit: UnitDevice, Doc: "device ordinal"}}, Doc: "Chooses the calling thread's device.", SetsDevice: true},
	{Op: op(SourceCUDA, 30), Name: "cudaMallocFromPoolAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cudaMallocFromPoolAsync", "cudaMallocFromPoolAsync_ptsz"}, Doc: "Allocates from the memory pool that is named."},
	{Op: op(SourceCUDA, 31), Name: "cudaMallocPitch", Shape: ShapePitch, Role: RoleAlloc, Args: argsAlloc, Doc: "Allocates a matrix; bytes are those asked for, its rows may be padded."},
	{Op: op(SourceCUDA, 32), Name: "cudaHostRegister", Shape: ShapeRegister, Role: RoleAlloc, Space: PinnedMemory, Args: argsRegister, Doc: "Page-locks memory that the host has already."},
	{Op: op(SourceCUDA, 33), Name: "cudaHostUnregister", Shape: ShapePlain, Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr}, Doc: "Ends the page-locking of memory that the host keeps."},

	{Op: op(SourceHost, 1), Name: "sched_switch", Role: RoleOther, Args: nil, Doc: "A thread was off the CPU; duration is how long."},
	{Op: OpPageAlloc, Name: "mm_page_alloc", Role: RoleOther, Args: []Arg{argBytes, {Name: "allocations", Unit: UnitCount, Doc: "how many times memory was asked for"}, {Name: "pages", Unit: UnitCount, Doc: "pages given"}, {Name: "failed", Unit: UnitCount, Doc: "allocations that got nothing"}}, Doc: "A process was given memory; a row is all of it in a second, recorded with --pages."},
	{Op: op(SourceHost, 4), Name: "oom_kill", Role: RoleOther, Args: []Arg{{Name: "trigger_pid", Unit: UnitCount, Doc: "process whose need for memory ended it"}}, Doc: "The kernel ended a process because memory had run out; it is the event of the process that was ended."},
	{Op: op(SourceHost, 5), Name: "process_exec", Role: RoleOther, Args: nil, Doc: "A process executed a new program."},
	{Op: op(SourceHost, 6), Name: "process_exit", Role: RoleOther, Args: nil, Doc: "A thread or process ended."},
	{Op: op(SourceHost, 7), Name: "process_fork", Role: RoleOther, Args: []Arg{{Name: "child", Unit: UnitCount, Doc: "process or thread id created"}}, Doc: "A process or thread was created."},
	{Op: op(SourceHost, 20), Name: "syscall", Role: RoleOther, Args: nil, Doc: "A process whose footprint is taken made a system call; counted, not recorded one by one."},

	{Op: op(SourceDriver, 1), Name: "cuLaunchKernel", Shape: ShapeCuLaunch, Role: RoleLaunch, Args: argsLaunch, Symbols: []string{"cuLaunchKernel", "cuLaunchKernel_ptsz"}, Doc: "Queues a kernel through the driver API."},
	{Op: op(SourceDriver, 4), Name: "cuCtxSynchronize", Shape: ShapePlain, Role: RoleSync, Args: nil, Doc: "Waits until all of the context's work is done."},
	{Op: op(SourceDriver, 5), Name: "cuMemAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cuMemAlloc_v2"}, Doc: "Allocates device memory through the driver API."},
	{Op: op(SourceDriver, 7), Name: "cuLaunchKernelEx", Shape: ShapeCuConfig, Role: RoleLaunch, Args: argsLaunch, Symbols: []string{"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz"}, Doc: "Queues a kernel with launch attributes through the driver API."},
	{Op: op(SourceDriver, 8), Name: "cuMemAllocAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cuMemAllocAsync", "cuMemAllocAsync_ptsz"}, Doc: "Allocates from a stream's memory pool through the driver API."},
	{Op: op(SourceDriver, 9), Name: "cuMemFree", Shape: ShapePlain, Role: RoleFree, Args: []Arg{argPtr}, Symbols: []string{"cuMemFree_v2"}, Doc: "Frees device memory through the driver API."},
	{Op: op(SourceDriver, 10), Name: "cuMemcpyHtoD", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"}, Doc: "Copies host memory to the device."},
	{Op: op(SourceDriver, 11), Name: "cuMemcpyDtoH", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2_ptds"}, Doc: "Copies device memory to the host."},
	{Op: op(SourceDriver, 12), Name: "cuMemcpyDtoD", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyDtoD_v2", "cuMemcpyDtoD_v2_ptds"}, Doc: "Copies within device memory."},
	{Op: op(SourceDriver, 13), Name: "cuMemcpyHtoDAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz"}, Doc: "Queues a copy from host memory to the device."},
	{Op: op(SourceDriver, 14), Name: "cuMemcpyDtoHAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2_ptsz"}, Doc: "Queues a copy from the device to host memory."},
	{Op: op(SourceDriver, 15), Name: "cuMemcpyDtoDAsync", Shape: ShapeCuCopy, Role: RoleCopy, Args: argsCuCopy, Symbols: []string{"cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync_v2_ptsz"}, Doc: "Queues a copy within device memory."},
	{Op: op(SourceDriver, 16), Name: "cuStreamSynchronize", Shape: ShapePlain, Role: RoleSync, Args: []Arg{argStream}, Symbols: []string{"cuStreamSynchronize", "cuStreamSynchronize_ptsz"}, Doc: "Waits until a stream's work is done, through the driver API."},
	{Op: op(SourceDriver, 17), Name: "cuEventSynchronize", Shape: ShapePlain, Role: RoleSync, Args: []Arg{argEvent}, Doc: "Waits until an event has happened, through the driver API."},
	{Op: op(SourceDriver, 18), Name: "cuModuleLoadData", Shape: ShapeCreate, Role: RoleLoad, Args: []Arg{{Name: "module", Unit: UnitHandle, Doc: "module handle returned"}, {Name: "image", Unit: UnitAddr, Doc: "image loaded"}}, Doc: "Loads a module's code into the context."},
	{Op: op(SourceDriver, 6), Name: "cuMemAllocManaged", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Doc: "Allocates memory that host and device share, through the driver API."},
	{Op: op(SourceDriver, 19), Name: "cuMemAllocHost", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory, Args: argsAlloc, Symbols: []string{"cuMemAllocHost_v2"}, Doc: "Allocates page-locked host memory through the driver API."},
	{Op: op(SourceDriver, 20), Name: "cuMemHostAlloc", Shape: ShapeAlloc, Role: RoleAlloc, Space: PinnedMemory, Args: argsAlloc, Doc: "Allocates page-locked host memory with flags, through the driver API."},
	{Op: op(SourceDriver, 21), Name: "cuMemFreeAsync", Shape: ShapePlain, Role: RoleFree, Args: []Arg{argPtr, argStream}, Symbols: []string{"cuMemFreeAsync", "cuMemFreeAsync_ptsz"}, Doc: "Returns memory to a stream's pool, through the driver API."},
	{Op: op(SourceDriver, 22), Name: "cuMemFreeHost", Shape: ShapePlain, Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr}, Doc: "Frees page-locked host memory through the driver API."},
	{Op: op(SourceDriver, 23), Name: "cuStreamBeginCapture", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argStream, argMode}, Symbols: []string{"cuStreamBeginCapture_v2", "cuStreamBeginCapture_v2_ptsz"}, Doc: "Begins to record a stream's work in a graph, through the driver API."},
	{Op: op(SourceDriver, 24), Name: "cuStreamEndCapture", Shape: ShapeEndCapture, Role: RoleCapture, Args: []Arg{argStream, argEnded}, Symbols: []string{"cuStreamEndCapture", "cuStreamEndCapture_ptsz"}, Doc: "Ends the recording and returns the graph, through the driver API."},
	{Op: op(SourceDriver, 25), Name: "cuGraphInstantiate", Shape: ShapeCreate, Role: RoleCapture, Args: []Arg{argMade, argGraph}, Symbols: []string{"cuGraphInstantiate", "cuGraphInstantiate_v2", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams_ptsz"}, Doc: "Makes a graph executable, through the driver API."},
	{Op: op(SourceDriver, 26), Name: "cuGraphLaunch", Shape: ShapePlain, Role: RoleLaunch, Args: []Arg{argExec, argStream}, Symbols: []string{"cuGraphLaunch", "cuGraphLaunch_ptsz"}, Doc: "Queues all of a graph's work, through the driver API."},
	{Op: op(SourceDriver, 27), Name: "cuGraphExecUpdate", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argExec, argGraph}, Symbols: []string{"cuGraphExecUpdate", "cuGraphExecUpdate_v2"}, Doc: "Gives an executable graph the parameters of another graph, through the driver API."},
	{Op: op(SourceDriver, 28), Name: "cuGraphUpload", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argExec, argStream}, Symbols: []string{"cuGraphUpload", "cuGraphUpload_ptsz"}, Doc: "Brings an executable graph to the device before its first launch, through the driver API."},
	{Op: op(SourceDriver, 29), Name: "cuGraphExecDestroy", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argExec}, Doc: "Frees an executable graph through the driver API."},
	{Op: op(SourceDriver, 30), Name: "cuGraphDestroy", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argGraph}, Doc: "Frees a graph through the driver API."},
	{Op: op(SourceDriver, 31), Name: "cuStreamBeginCaptureToGraph", Shape: ShapeCaptureTo, Role: RoleCapture, Args: []Arg{argStream, argMode, argGraph}, Symbols: []string{"cuStreamBeginCaptureToGraph", "cuStreamBeginCaptureToGraph_ptsz"}, Doc: "Begins to record a stream's work behind what is in a graph already, through the driver API."},
	{Op: op(SourceDriver, 32), Name: "cuStreamIsCapturing", Shape: ShapeStatus, Role: RoleOther, Args: []Arg{argStream, argStatus}, Symbols: []string{"cuStreamIsCapturing", "cuStreamIsCapturing_ptsz"}, Doc: "Asks whether a stream's work is recorded, through the driver API."},
	{Op: op(SourceDriver, 33), Name: "cuStreamGetCaptureInfo", Shape: ShapeStatus, Role: RoleOther, Args: []Arg{argStream, argStatus}, Symbols: []string{"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_ptsz", "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo_v3", "cuStreamGetCaptureInfo_v3_ptsz"}, Doc: "Asks whether a stream's work is recorded, and in which graph, through the driver API."},
	{Op: op(SourceDriver, 34), Name: "cuMemAllocFromPoolAsync", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz"}, Doc: "Allocates from the memory pool that is named, through the driver API."},
	{Op: op(SourceDriver, 35), Name: "cuMemAllocPitch", Shape: ShapePitch, Role: RoleAlloc, Args: argsAlloc, Symbols: []string{"cuMemAllocPitch_v2"}, Doc: "Allocates a matrix through the driver API; bytes are those asked for, its rows may be padded."},
	{Op: op(SourceDriver, 36), Name: "cuMemCreate", Shape: ShapeAlloc, Role: RoleAlloc, Args: argsAlloc, Doc: "Allocates device memory that is mapped later; ptr is its handle."},
	{Op: op(SourceDriver, 37), Name: "cuMemRelease", Shape: ShapePlain, Role: RoleFree, Args: []Arg{argPtr}, Doc: "Frees such memory, once nothing maps it any more; ptr is its handle."},
	{Op: op(SourceDriver, 38), Name: "cuMemHostRegister", Shape: ShapeRegister, Role: RoleAlloc, Space: PinnedMemory, Args: argsRegister, Symbols: []string{"cuMemHostRegister_v2"}, Doc: "Page-locks memory that the host has already, through the driver API."},
	{Op: op(SourceDriver, 39), Name: "cuMemHostUnregister", Shape: ShapePlain, Role: RoleFree, Space: PinnedMemory, Args: []Arg{argPtr}, Doc: "Ends the page-locking of memory that the host keeps, through the driver API."},

	{Op: OpBlockRead, Name: "block_read", Role: RoleOther, Args: argsBlock, Doc: "A block device read; duration is from the request's making to its end."},
	{Op: OpBlockWrite, Name: "block_write", Role: RoleOther, Args: argsBlock, Doc: "A block device wrote."},
	{Op: OpBlockDiscard, Name: "block_discard", Role: RoleOther, Args: argsBlock, Doc: "A block device was told which sectors are free, or to be zero."},
	{Op: OpBlockFlush, Name: "block_flush", Role: RoleOther, Args: argsBlock, Doc: "A block device emptied its cache."},
	{Op: OpBlockOther, Name: "block_other", Role: RoleOther, Args: argsBlock, Doc: "A block device did something else, such as a command passed through to it."},
	{Op: OpSwapIn, Name: "swap_in", Role: RoleOther, Args: argsBlock, Doc: "A block device read memory back that had been swapped out, for the process that needed it."},
	{Op: OpSwapOut, Name: "swap_out", Role: RoleOther, Args: argsBlock, Doc: "A block device took memory that was swapped out, by who needed room; whose memory it was is not known."},

	{Op: OpTCPRetransmit, Name: "tcp_retransmit", Role: RoleOther, Args: argsTCP, Doc: "A TCP segment was sent again because its receipt was not confirmed."},
	{Op: OpTCPConnectFailed, Name: "tcp_connect_failed", Role: RoleOther, Args: argsTCP, Doc: "A TCP connection did not come about; duration is how long it was tried."},
	{Op: OpTCPSpike, Name: "tcp_rtt_spike", Role: RoleOther, Args: argsTCP, Doc: "A round trip took three times as long as the connection's shortest and 10 ms longer; duration is the round trip."},

	{Op: op(SourceGraph, 1), Name: "cudaStreamBeginCapture", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argStream, argMode}, Symbols: []string{"cudaStreamBeginCapture", "cudaStreamBeginCapture_ptsz"}, Doc: "Begins to record a stream's work in a graph instead of doing it."},
	{Op: op(SourceGraph, 2), Name: "cudaStreamEndCapture", Shape: ShapeEndCapture, Role: RoleCapture, Args: []Arg{argStream, argEnded}, Symbols: []string{"cudaStreamEndCapture", "cudaStreamEndCapture_ptsz"}, Doc: "Ends the recording and returns the graph."},
	{Op: op(SourceGraph, 3), Name: "cudaGraphInstantiate", Shape: ShapeCreate, Role: RoleCapture, Args: []Arg{argMade, argGraph}, Symbols: []string{"cudaGraphInstantiate", "cudaGraphInstantiateWithFlags", "cudaGraphInstantiateWithParams", "cudaGraphInstantiateWithParams_ptsz"}, Doc: "Makes a graph executable; dear, and meant to be done once."},
	{Op: op(SourceGraph, 4), Name: "cudaGraphLaunch", Shape: ShapePlain, Role: RoleLaunch, Args: []Arg{argExec, argStream}, Symbols: []string{"cudaGraphLaunch", "cudaGraphLaunch_ptsz"}, Doc: "Queues all of a graph's work."},
	{Op: op(SourceGraph, 5), Name: "cudaGraphExecUpdate", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argExec, argGraph}, Doc: "Gives an executable graph the parameters of another graph."},
	{Op: op(SourceGraph, 6), Name: "cudaGraphDestroy", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argGraph}, Doc: "Frees a graph."},
	{Op: op(SourceGraph, 7), Name: "cudaGraphExecDestroy", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argExec}, Doc: "Frees an executable graph."},
	{Op: op(SourceGraph, 8), Name: "cudaGraphUpload", Shape: ShapePlain, Role: RoleCapture, Args: []Arg{argExec, argStream}, Symbols: []string{"cudaGraphUpload", "cudaGraphUpload_ptsz"}, Doc: "Brings an executable graph to the device before its first launch."},
	{Op: op(SourceGraph, 9), Name: "cudaStreamBeginCaptureToGraph", Shape: ShapeCaptureTo, Role: RoleCapture, Args: []Arg{argStream, argMode, argGraph}, Symbols: []string{"cudaStreamBeginCaptureToGraph", "cudaStreamBeginCaptureToGraph_ptsz"}, Doc: "Begins to record a stream's work behind what is in a graph already."},
	{Op: op(SourceGraph, 10), Name: "cudaStreamIsCapturing", Shape: ShapeStatus, Role: RoleOther, Args: []Arg{argStream, argStatus}, Symbols: []string{"cudaStreamIsCapturing", "cudaStreamIsCapturing_ptsz"}, Doc: "Asks whether a stream's work is recorded."},
	{Op: op(SourceGraph, 11), Name: "cudaStreamGetCaptureInfo", Shape: ShapeStatus, Role: RoleOther, Args: []Arg{argStream, argStatus}, Symbols: []string{"cudaStreamGetCaptureInfo", "cudaStreamGetCaptureInfo_ptsz", "cudaStreamGetCaptureInfo_v2", "cudaStreamGetCaptureInfo_v2_ptsz", "cudaStreamGetCaptureInfo_v3", "cudaStreamGetCaptureInfo_v3_ptsz"}, Doc: "Asks whether a stream's work is recorded, and in which graph."},

	{Op: op(SourceNCCL, 1), Name: "ncclCommInitRank", Shape: ShapeInitRank, Role: RoleOther, Args: argsInit, Doc: "Makes this process, or thread, one rank of a communicator; waits until all ranks have."},
	{Op: op(SourceNCCL, 2), Name: "ncclCommInitRankConfig", Shape: ShapeInitRank, Role: RoleOther, Args: argsInit, Doc: "The same with a configuration; may return before all ranks have."},
	{Op: op(SourceNCCL, 3), Name: "ncclCommInitAll", Shape: ShapeInitAll, Role: RoleOther, Args: argsInit[:2], Doc: "Makes a communicator of several devices in one process; communicator is that of the first."},
	{Op: op(SourceNCCL, 4), Name: "ncclCommDestroy", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argComm}, Doc: "Frees a communicator."},
	{Op: op(SourceNCCL, 5), Name: "ncclCommAbort", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argComm}, Doc: "Frees a communicator and ends what it is doing."},
	{Op: op(SourceNCCL, 6), Name: "ncclAllReduce", Shape: ShapeAllReduce, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a reduction of all ranks' data, with the result on all."},
	{Op: op(SourceNCCL, 7), Name: "ncclBroadcast", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a copy from one rank to all."},
	{Op: op(SourceNCCL, 8), Name: "ncclReduce", Shape: ShapeReduce, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a reduction of all ranks' data, with the result on one."},
	{Op: op(SourceNCCL, 9), Name: "ncclAllGather", Shape: ShapeGather, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a copy of each rank's data to all; bytes are those each sends."},
	{Op: op(SourceNCCL, 10), Name: "ncclReduceScatter", Shape: ShapeAllReduce, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a reduction whose result is split among the ranks; bytes are those each receives."},
	{Op: op(SourceNCCL, 11), Name: "ncclSend", Shape: ShapeSend, Role: RoleCollective, Args: argsNCCL, Doc: "Queues sending to one rank."},
	{Op: op(SourceNCCL, 12), Name: "ncclRecv", Shape: ShapeRecv, Role: RoleCollective, Args: argsNCCL, Doc: "Queues receiving from one rank."},
	{Op: op(SourceNCCL, 13), Name: "ncclGroupStart", Shape: ShapePlain, Role: RoleOther, Args: nil, Doc: "Begins a group: NCCL calls up to its end are queued together then."},
	{Op: op(SourceNCCL, 14), Name: "ncclGroupEnd", Shape: ShapePlain, Role: RoleOther, Args: nil, Doc: "Ends a group; the outermost end queues its calls."},
	{Op: op(SourceNCCL, 15), Name: "ncclCommFinalize", Shape: ShapePlain, Role: RoleOther, Args: []Arg{argComm}, Doc: "Ends what a communicator does, before it is freed."},
	{Op: op(SourceNCCL, 16), Name: "ncclCommSplit", Shape: ShapeSplit, Role: RoleOther, Args: argsSplit, Doc: "Makes a communicator of the ranks that give the same color; waits until all ranks of the parent have."},
	{Op: op(SourceNCCL, 17), Name: "ncclCommShrink", Shape: ShapeShrink, Role: RoleOther, Args: argsShrink, Doc: "Makes a communicator without some ranks."},
	{Op: op(SourceNCCL, 18), Name: "ncclCommInitRankScalable", Shape: ShapeInitScalable, Role: RoleOther, Args: argsInit, Doc: "The same as ncclCommInitRankConfig with several ids; comm_id is of the first."},
	{Op: op(SourceNCCL, 19), Name: "ncclCommCount", Shape: ShapeAsk, Role: RoleOther, Args: []Arg{argComm, {Name: "ranks", Unit: UnitCount, Doc: "answer: how many ranks there are"}}, Doc: "Asks how many ranks a communicator has."},
	{Op: op(SourceNCCL, 20), Name: "ncclCommUserRank", Shape: ShapeAsk, Role: RoleOther, Args: []Arg{argComm, {Name: "rank", Unit: UnitCount, Doc: "answer: which rank this is, from 0"}}, Doc: "Asks which rank of a communicator this is."},
	{Op: op(SourceNCCL, 21), Name: "ncclBcast", Shape: ShapeBcast, Role: RoleOther, Args: argsNCCL, Doc: "ncclBroadcast in place, which it calls: that call has the number."},
	{Op: op(SourceNCCL, 22), Name: "ncclAlltoAll", Shape: ShapeGather, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a copy from each rank to each; bytes are those each sends to one."},
	{Op: op(SourceNCCL, 23), Name: "ncclGather", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a copy of all ranks' data to one; bytes are those each sends."},
	{Op: op(SourceNCCL, 24), Name: "ncclScatter", Shape: ShapeBroadcast, Role: RoleCollective, Args: argsNCCL, Doc: "Queues a copy of a part of one rank's data to each; bytes are those each receives."},
}
