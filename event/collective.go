package event

import "fmt"

// HowFields are what a collective's argument "how" consists of (nccl_how of
// capture/bpf/include/nccl.h).
var HowFields = []Field{
	{"seq", 0, 32, "which collective of its communicator it is, from 1; of a send or receive, " +
		"which between the two ranks; 0: unknown"},
	{"datatype", 32, 8, "ncclDataType_t: 0 int8, 1 uint8, 2 int32, 3 uint32, 4 int64, 5 uint64, 6 float16, 7 float32, " +
		"8 float64, 9 bfloat16, 10 float8e4m3, 11 float8e5m2"},
	{
		"reduce_op", 40, 8,
		"ncclRedOp_t: 0 sum, 1 prod, 2 max, 3 min, 4 avg, 255 one of the program's own; 0 where nothing is reduced",
	},
	{"peer", 48, 16, "root of a broadcast or reduction, other rank of a send or receive; else 0"},
}

// argsInit are the arguments of ncclCommInitRank.
var argsInit = []Arg{
	{Name: "communicator", Unit: UnitHandle, Doc: "communicator returned"},
	{Name: "ranks", Unit: UnitCount, Doc: "how many there are"},
	{Name: "rank", Unit: UnitCount, Doc: "which one this is, from 0"},
	{Name: "comm_id", Unit: UnitHandle, Doc: "hash of the ncclUniqueId: the same on all ranks"},
}

// argsSplit are the arguments of ncclCommSplit, argsShrink those of ncclCommShrink.
var (
	argMadeComm = Arg{Name: "communicator", Unit: UnitHandle, Doc: "communicator returned"}
	argParent   = Arg{Name: "parent", Unit: UnitHandle, Doc: "communicator it is made of"}
	argsSplit   = []Arg{
		argMadeComm, argParent,
		{Name: "color", Unit: UnitNone, Doc: "which part this rank is in, as 32 bits; 4294967295: in none"},
		{Name: "key", Unit: UnitNone, Doc: "orders the ranks, as 32 bits"},
	}
	argsShrink = []Arg{
		argMadeComm, argParent,
		{Name: "excluded", Unit: UnitCount, Doc: "ranks left out"},
		{Name: "flags", Unit: UnitNone, Doc: "NCCL_SHRINK_DEFAULT or NCCL_SHRINK_ABORT"},
	}
)

// Collective is one rank's part in a collective operation, or a send or receive.
type Collective struct {
	At       uint64 // Unix ns at which it was queued: Start, or when the group around it began to end
	Start    uint64 // Unix ns at entry of the call
	Duration uint64 // ns until the call returned
	Thread
	Op       Op
	Ret      int32
	Comm     uint64 // communicator as the process knows it
	CommID   uint64 // the same on all ranks; 0 if its creation was not seen
	Rank     int32  // of the caller; in a communicator made from another one, its rank in the parent; -1 if unknown
	Ranks    int32  // of the communicator; 0 if unknown
	Seq      uint32 // as in HowFields; 0 if unknown
	Bytes    uint64
	DataType uint8
	ReduceOp uint8
	Peer     int32 // as in HowFields; -1 without one
	Stream   uint64
	Group    uint64 // Unix ns of the outermost ncclGroupStart around it, 0 without one
	// the communicator is older than the recording: it was identified by the times at which its
	// operations ended
	Inferred bool

	// The first call that waited for it, of any thread of the process; 0 if none was seen.
	SyncOp    Op
	SyncTID   uint32
	SyncStart uint64 // Unix ns
	SyncEnd   uint64 // Unix ns
}

// Wait is the time until the process knew that the collective was done: from
// queueing it to the end of the call that waited for it. It is false if no such call
// was seen.
func (c *Collective) Wait() (ns uint64, ok bool) {
	return c.SyncEnd - min(c.SyncEnd, c.At), c.SyncOp != 0
}

// PairWise reports whether the operation is between two ranks only.
func (c *Collective) PairWise() bool { return c.Op == OpSend || c.Op == OpRecv }

// The operations that a collective's bookkeeping knows by number.
const (
	OpSend       = Op(SourceNCCL)<<8 | 11
	OpRecv       = Op(SourceNCCL)<<8 | 12
	OpGroupStart = Op(SourceNCCL)<<8 | 13
	OpGroupEnd   = Op(SourceNCCL)<<8 | 14
	OpCommCount  = Op(SourceNCCL)<<8 | 19
	OpUserRank   = Op(SourceNCCL)<<8 | 20
)

// DataTypes are the names of ncclDataType_t (nccl.h).
var DataTypes = []string{
	"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
	"bfloat16", "float8e4m3", "float8e5m2",
}

// ReduceOps are the names of ncclRedOp_t (nccl.h).
var ReduceOps = []string{"sum", "prod", "max", "min", "avg"}

// Reduces reports whether an operation has a reduction.
func Reduces(o Op) bool {
	i := o.Info()
	return i != nil && (i.Shape == ShapeAllReduce || i.Shape == ShapeReduce)
}

// HasPeer reports whether an operation names another rank.
func HasPeer(o Op) bool {
	i := o.Info()
	if i == nil {
		return false
	}
	switch i.Shape {
	case ShapeBroadcast, ShapeReduce, ShapeSend, ShapeRecv, ShapeBcast:
		return true
	}
	return false
}

func nameOf(names []string, n uint8) string {
	if int(n) < len(names) {
		return names[n]
	}
	return fmt.Sprintf("%d", n)
}

// TypeName is the name of the data type.
func (c *Collective) TypeName() string { return nameOf(DataTypes, c.DataType) }

// ReduceName is the name of the reduction; "255" is one of the program's own.
func (c *Collective) ReduceName() string { return nameOf(ReduceOps, c.ReduceOp) }
