package event

import (
	"fmt"
	"slices"
)

// Op identifies an operation: source<<8 | n. Numbers are append-only: they are
// stored in databases. 0 means "no operation".
type Op uint16

// OpSlots is how many slots a table by operation has. Every number of an operation is below it.
const OpSlots = 1 << 12

// LaunchQueue is how many launches a stream's queue holds before the next one waits for room. NVIDIA documents
// no number; it is 1,022 on an H100 with driver 580 (gpu/run, docs/gpu.md).
const LaunchQueue = 1022

// Slot is the operation's place in a table of OpSlots.
func (o Op) Slot() Op { return o % OpSlots }

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
// capture/bpf/include/args.h.
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
	ShapeFill16                    // (ptr, value, number of 2 bytes)
	ShapeFill32                    // (ptr, value, number of 4 bytes)
	ShapeFill2D                    // (ptr, pitch, value, width in bytes, height)
	ShapeCopy3D                    // (cudaMemcpy3DParms*)
	ShapeCopySymbol                // (dst, src, bytes, offset, kind)
	ShapeCuCopyPeer                // (dst, context or offset, src, context or offset, bytes)
	ShapeCuCopy2D                  // (CUDA_MEMCPY2D*)
	ShapeCuCopy3D                  // (CUDA_MEMCPY3D*), (CUDA_MEMCPY3D_PEER*)
	ShapeCuArray                   // (dst, P2, P3, bytes)
	ShapeAlloc3D                   // (cudaPitchedPtr *out, cudaExtent by value): ptr is read back at return
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
	ShapeMark                      // (const char *message)
	ShapeMarkWide                  // (const wchar_t *message)
	ShapeMarkEx                    // (nvtxEventAttributes_t*)
	ShapeMarkIn                    // (domain, nvtxEventAttributes_t*)
	ShapeMarkEnd                   // (id of a range)
	ShapeMarkEndIn                 // (domain, id of a range)
	NumShapes
)

// Role is what a call means to the diagnosis.
type Role uint8

// The roles.
const (
	RoleOther      Role = iota
	RoleLaunch          // gives work to the GPU
	RoleSync            // waits for the GPU by definition
	RoleCopy            // moves memory; may wait for the GPU
	RoleAlloc           // allocates
	RoleFree            // frees
	RoleLoad            // loads code
	RoleCapture         // makes or changes a graph, to be launched later
	RoleCollective      // gives work to the GPU that waits there for other ranks
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
	Name  string // the library's own name; the op column of the events view
	Shape Shape
	Role  Role
	Args  []Arg // at most NumArgs, in the order they are recorded
	// Symbols are the exported functions that are this operation. Empty means
	// just Name.
	Symbols []string
	Doc     string // one sentence
	// SetsDevice marks the call that chooses the thread's device; P1 is it.
	SetsDevice bool
	// Seldom marks a function that few programs call, and rarely. Where each probe
	// costs a file descriptor and time (BackendPerf), it has none.
	Seldom bool
	// Space is where the memory is that the operation allocates or frees.
	Space Space
	// Mark is what a call marks, if that is all it does. Such calls are recorded as Mark, not as Call.
	Mark MarkKind
}

// Source is the layer the operation belongs to.
func (o Op) Source() Source { return Source(o >> 8) }

func op(s Source, n uint8) Op { return Op(s)<<8 | Op(n) }

// Inner reports whether the operation is a launch, a wait or a copy of the driver. Most programs
// make these only through the runtime: then each is nested in a runtime call with the same meaning.
func (o Op) Inner() bool {
	return o.Source() == SourceDriver && slices.Contains(InnerRoles[:], o.Role())
}

// SiteArg is the argument that holds the call site, if the operation records it (TellsSite):
// the address in the calling function to which the call returns.
const SiteArg = NumArgs - 1

// TellsSite reports whether calls of the operation have a call site. Those that wait for the
// GPU have one: the usual duration of a wait depends on what the program waits for there.
func (o Op) TellsSite() bool { return o.Role() == RoleSync }

// InnerRoles are the roles of operations that are [Op.Inner].
var InnerRoles = [...]Role{RoleLaunch, RoleSync, RoleCopy}

// String returns the operation's name.
func (o Op) String() string {
	if i := o.Info(); i != nil {
		return i.Name
	}
	return fmt.Sprintf("op-%d", uint16(o))
}

// Info returns the catalogue row, nil if the number is unknown.
func (o Op) Info() *Info {
	if o >= OpSlots {
		return nil
	}
	return index.byOp[o]
}

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

var (
	argBytes  = Arg{Name: "bytes", Unit: UnitBytes, Doc: "size in bytes"}
	argPtr    = Arg{Name: "ptr", Unit: UnitAddr, Doc: "device or host address"}
	argStream = Arg{Name: "stream", Unit: UnitHandle, Doc: "stream handle; 0 is the default stream"}
	argEvent  = Arg{Name: "event", Unit: UnitHandle, Doc: "event handle"}
	argFlags  = Arg{Name: "flags", Unit: UnitEnum, Doc: "flags as passed"}
	argGraph  = Arg{Name: "graph", Unit: UnitHandle, Doc: "graph"}
	argComm   = Arg{Name: "communicator", Unit: UnitHandle, Doc: "communicator, as the process knows it"}
	argExec   = Arg{Name: "graph_exec", Unit: UnitHandle, Doc: "executable graph"}
	argMode   = Arg{
		Name: "capture_mode", Unit: UnitEnum,
		Doc: "cudaStreamCaptureMode: 0 global, 1 thread-local, 2 relaxed",
	}
	argStatus = Arg{
		Name: "capture_status", Unit: UnitEnum,
		Doc: "cudaStreamCaptureStatus: 0 none, 1 active, 2 invalidated",
	}
	argMade  = Arg{Name: "graph_exec", Unit: UnitHandle, Doc: "executable graph returned"}
	argEnded = Arg{Name: "graph", Unit: UnitHandle, Doc: "graph returned"}
	argKind  = Arg{
		Name: "kind", Unit: UnitEnum,
		Doc: "cudaMemcpyKind: 0 host-host, 1 host-device, 2 device-host, 3 device-device, 4 default",
	}
	argsAlloc    = []Arg{argBytes, {Name: "ptr", Unit: UnitAddr, Doc: "address returned"}}
	argsRegister = []Arg{argBytes, argPtr}
	argsCopy     = []Arg{
		argBytes, argKind,
		{Name: "dst", Unit: UnitAddr, Doc: "destination"},
		{Name: "src", Unit: UnitAddr, Doc: "source"},
	}
	argsPeer = []Arg{
		argBytes,
		{Name: "devices", Unit: UnitDevice, Doc: "destination device << 32 | source device"},
		{Name: "dst", Unit: UnitAddr, Doc: "destination"},
		{Name: "src", Unit: UnitAddr, Doc: "source"},
	}
	argsCuCopy = []Arg{
		argBytes,
		{Name: "dst", Unit: UnitAddr, Doc: "destination"},
		{Name: "src", Unit: UnitAddr, Doc: "source"},
	}
	argsFill = []Arg{argBytes, argPtr, {Name: "value", Unit: UnitNone, Doc: "value written"}}
	argHow   = Arg{
		Name: "how", Unit: UnitFields, Doc: "what is moved, and which one of its kind it is",
		Fields: HowFields,
	}
	argsNCCL  = []Arg{argComm, argBytes, argHow, argStream}
	argsBlock = []Arg{
		argBytes,
		{Name: "sector", Unit: UnitCount, Doc: "first sector of 512 bytes"},
		{Name: "device", Unit: UnitDevice, Doc: "major << 20 | minor"},
		{Name: "queue_ns", Unit: UnitCount, Doc: "time before the device was given it"},
	}
	argsTCP = []Arg{
		{Name: "remote_port", Unit: UnitCount, Doc: "port of the other end"},
		{Name: "retransmits", Unit: UnitCount, Doc: "of the connection so far"},
		{Name: "rtt_us", Unit: UnitCount, Doc: "smoothed round trip"},
		{Name: "error", Unit: UnitEnum, Doc: "errno of a failed connect"},
	}
	argDevice    = Arg{Name: "device", Unit: UnitDevice, Doc: "device ordinal"}
	argPeer      = Arg{Name: "peer", Unit: UnitDevice, Doc: "ordinal of the other device"}
	argPool      = Arg{Name: "pool", Unit: UnitHandle, Doc: "memory pool"}
	argContext   = Arg{Name: "context", Unit: UnitHandle, Doc: "context"}
	argModule    = Arg{Name: "module", Unit: UnitHandle, Doc: "module"}
	argLibrary   = Arg{Name: "library", Unit: UnitHandle, Doc: "library"}
	argImage     = Arg{Name: "image", Unit: UnitAddr, Doc: "image loaded"}
	argKernel    = Arg{Name: "kernel", Unit: UnitHandle, Doc: "kernel's handle"}
	argCuFunc    = Arg{Name: "cu_func", Unit: UnitHandle, Doc: "CUfunction"}
	argFunc      = Arg{Name: "func", Unit: UnitAddr, Doc: "kernel's host stub"}
	argHostFunc  = Arg{Name: "host_func", Unit: UnitAddr, Doc: "function of the host that is called"}
	argAttribute = Arg{Name: "attribute", Unit: UnitEnum, Doc: "which property"}
	argCopies    = Arg{Name: "copies", Unit: UnitCount, Doc: "how many"}
	argLimit     = Arg{Name: "limit", Unit: UnitEnum, Doc: "cudaLimit"}
	argValue     = Arg{Name: "value", Unit: UnitCount, Doc: "new value"}
	argsLaunches = []Arg{
		{Name: "launches", Unit: UnitAddr, Doc: "list of launches"},
		{Name: "devices", Unit: UnitNone, Doc: "how many"},
		argFlags,
	}
	argsBytes = []Arg{argBytes}
	argsArray = []Arg{argBytes, {Name: "dst", Unit: UnitAddr, Doc: "destination"}}
	argsBatch = []Arg{
		{Name: "dsts", Unit: UnitAddr, Doc: "list of destinations"},
		{Name: "srcs", Unit: UnitAddr, Doc: "list of sources"},
		{Name: "sizes", Unit: UnitAddr, Doc: "list of sizes"},
		argCopies,
	}
	argsLaunch = []Arg{
		{Name: "func", Unit: UnitAddr, Doc: "kernel's host stub (runtime) or CUfunction (driver)"},
		argStream,
		{Name: "blocks", Unit: UnitCount, Doc: "thread blocks in the grid"},
		{Name: "threads", Unit: UnitCount, Doc: "threads in a block"},
	}
)

// Catalog lists every operation. A new operation is a new row in the file of its layer,
// with the next free number of its source; a number is never used again.
//
// Signatures are those of CUDA 12 and, where a function is newer, of CUDA 13.
var Catalog = slices.Concat(
	runtimeOps, runtimeCopies, runtimeDevice, runtimeCode, hostOps,
	driverOps, driverCopies, driverMemory, driverCode, driverDevice,
	ioOps, tcpOps, graphOps, ncclOps, nvtxOps,
)

// perStream returns a function of a stream and the same function compiled for
// per-thread default streams.
func perStream(names ...string) []string { return spellings("_ptsz", names) }

// perDefault is perStream of functions that use the default stream.
func perDefault(names ...string) []string { return spellings("_ptds", names) }

func spellings(suffix string, names []string) []string {
	var all []string
	for _, n := range names {
		all = append(all, n, n+suffix)
	}
	return all
}
