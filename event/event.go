// Package event has Ingero's types of records: what can be recorded about a
// process and its host, in which units, under which names.
//
// All other packages use these types: the probes produce them, the store
// keeps them, the ledger and the diagnosis read them. The package has no clock,
// no I/O and no dependency outside the standard library; it is not the place
// for how events are captured or stored.
//
// Times are nanoseconds. Inside the kernel and in the wire record they are on
// CLOCK_MONOTONIC; the probe package converts them once, so every value of
// these types carries Unix nanoseconds.
package event

import (
	"fmt"
	"slices"
)

// Source is the layer an event comes from. The numbers are public: they are the
// source column of the events view.
type Source uint8

// The sources. Number 2 is retired and stays unused.
const (
	SourceCUDA   Source = 1  // CUDA runtime API, libcudart
	SourceHost   Source = 3  // scheduler, processes, memory
	SourceDriver Source = 4  // CUDA driver API, libcuda
	SourceIO     Source = 5  // block devices
	SourceTCP    Source = 6  // TCP connections
	SourceNet    Source = 7  // socket calls
	SourceGraph  Source = 8  // CUDA graphs
	SourceNCCL   Source = 9  // NCCL collectives
	SourceNVTX   Source = 10 // ranges and marks of NVTX
)

// SourceInfo names a source for people.
type SourceInfo struct {
	Source Source
	Name   string
	Doc    string
	// Library is the library whose functions the operations are, as its file's name begins; empty if they
	// are things that the kernel reports. Title is what it is called in the table of functions.
	Library, Title string
}

// Sources lists every source in numeric order.
var Sources = []SourceInfo{
	{SourceCUDA, "CUDA", "CUDA runtime API calls (libcudart)", "libcudart", "CUDA runtime"},
	{SourceHost, "HOST", "Linux scheduler, processes and memory", "", ""},
	{SourceDriver, "DRIVER", "CUDA driver API calls (libcuda)", "libcuda", "CUDA driver"},
	{SourceIO, "IO", "Block device requests", "", ""},
	{SourceTCP, "TCP", "TCP connection events", "", ""},
	{SourceNet, "NET", "Socket calls", "", ""},
	{SourceGraph, "GRAPH", "CUDA graph life cycle", "libcudart", "CUDA runtime"},
	{SourceNCCL, "NCCL", "NCCL collectives", "libnccl", "NCCL"},
	{
		SourceNVTX, "NVTX", "Ranges and marks that programs set by NVTX 2 (libnvToolsExt): rows of nvtx_marks, not of events",
		"libnvToolsExt", "NVTX",
	},
}

// Libraries are the libraries whose functions are operations, each once: sources of one library are
// together under the first of them.
func Libraries() []SourceInfo {
	var list []SourceInfo
	for _, i := range Sources {
		if i.Library != "" && !slices.ContainsFunc(list, func(o SourceInfo) bool { return o.Library == i.Library }) {
			list = append(list, i)
		}
	}
	return list
}

// Called reports whether the source's operations are functions of a library, which
// are timed; the others are things that the kernel reports.
func (s Source) Called() bool {
	for i := range Sources {
		if Sources[i].Source == s {
			return Sources[i].Library != ""
		}
	}
	return false
}

// String returns the short upper-case name, "CUDA".
func (s Source) String() string {
	for _, i := range Sources {
		if i.Source == s {
			return i.Name
		}
	}
	return fmt.Sprintf("source-%d", uint8(s))
}

// Ledger splits the off-CPU part of a span of one thread's time by class, in
// nanoseconds. Time on CPU is the span's duration less Total.
type Ledger struct {
	NS          [NumClasses]uint64
	Voluntary   uint16 // switches because the thread blocked; saturates
	Involuntary uint16 // switches because it was preempted; saturates
}

// Total is the off-CPU time in nanoseconds.
func (l *Ledger) Total() uint64 {
	var t uint64
	for _, v := range l.NS {
		t += v
	}
	return t
}

// IsZero reports whether no context switch fell into the span.
func (l *Ledger) IsZero() bool { return *l == Ledger{} }

// Add sums two ledgers; the switch counts saturate.
func (l *Ledger) Add(o *Ledger) {
	for i, v := range o.NS {
		l.NS[i] += v
	}
	l.Voluntary = addSat(l.Voluntary, o.Voluntary)
	l.Involuntary = addSat(l.Involuntary, o.Involuntary)
}

// Sub subtracts o; no value goes below zero.
func (l *Ledger) Sub(o *Ledger) {
	for i, v := range o.NS {
		l.NS[i] -= min(l.NS[i], v)
	}
	l.Voluntary -= min(l.Voluntary, o.Voluntary)
	l.Involuntary -= min(l.Involuntary, o.Involuntary)
}

func addSat(a, b uint16) uint16 {
	if s := a + b; s >= a {
		return s
	}
	return 0xffff
}

// Thread identifies a thread of a process by the ids of the initial PID
// namespace, as the kernel reports them.
type Thread struct {
	PID uint32 // process (kernel: tgid)
	TID uint32 // thread (kernel: pid)
}

// NoGPU is the device of a call whose thread has not set its device.
const NoGPU = -1

// Call is one call of a traced library function that returned.
type Call struct {
	Start    uint64 // Unix ns at entry
	Duration uint64 // ns
	Thread
	Op     Op
	Depth  uint8 // 0 is outermost: a runtime call nests driver calls
	GPU    int8  // CUDA device ordinal as the process numbers them; NoGPU if unknown
	Ret    int32 // the library's result code; 0 is success
	Args   [NumArgs]uint64
	Ledger Ledger // zero when no context switch fell into the call
	Stack  uint64 // StackID of the caller, 0 if none was taken
	Weight uint32 // how many calls this row stands for; 0 and 1 both mean one
	Rest   uint64 // ns that the other Weight-1 calls took; 0: as long as this one, each
}

// What says that a call has done what it should, and that something goes on: cudaErrorNotReady, which cudaEventQuery
// and cudaStreamQuery return while work is pending (driver_types.h, cuda.h; a program may poll a million times a
// second), and ncclInProgress (nccl.h).
const (
	cudaNotReady   = 600
	ncclInProgress = 7
)

// Failed reports whether the call returned an error.
func (c *Call) Failed() bool {
	if c.Op.Source() == SourceNCCL {
		return c.Ret != 0 && c.Ret != ncclInProgress
	}
	return c.Ret != 0 && c.Ret != cudaNotReady
}

// TotalNS is the total duration of the calls that the row stands for.
func (c *Call) TotalNS() uint64 { return totalNS(c.Duration, c.Weight, c.Rest) }

func totalNS(duration uint64, weight uint32, rest uint64) uint64 {
	if rest == 0 {
		return duration * uint64(max(weight, 1))
	}
	return duration + rest
}

// End is the Unix time in ns at which the call returned.
func (c *Call) End() uint64 { return c.Start + c.Duration }

// Time returns the fields from which the order of calls is determined.
func (c *Call) Time() CallTime {
	t := CallTime{
		Start: c.Start, Duration: c.Duration, Thread: c.Thread, Op: c.Op, Depth: c.Depth, Weight: c.Weight,
		Rest: c.Rest,
	}
	if c.Op.TellsSite() {
		t.Site = c.Args[SiteArg]
	}
	return t
}

// CallTime is a call without its arguments and its ledger. The fields are those of
// Call.
type CallTime struct {
	Start, Duration uint64
	Thread
	Op     Op
	Depth  uint8
	Weight uint32
	Rest   uint64
	Site   uint64 // SiteArg of calls that tell it
}

// TotalNS is the total duration of the calls that the row stands for.
func (c *CallTime) TotalNS() uint64 { return totalNS(c.Duration, c.Weight, c.Rest) }

// End is the Unix time in ns at which the call returned.
func (c *CallTime) End() uint64 { return c.Start + c.Duration }

// Gap is the time between the return of a thread's outermost call and the entry
// of its next one, recorded only when a context switch fell into it.
type Gap struct {
	Start    uint64 // Unix ns: return of the previous outermost call
	Duration uint64 // ns
	Thread
	Next   Op // the call that ended the gap
	Ledger Ledger
}

// Culprit is a task that ran on the CPU a thread was waiting for.
type Culprit struct {
	Thread
	Comm string // the kernel's 15-byte task name
	NS   uint64 // how long it ran while the thread waited, as far as known
	Born uint64 // start of its process, ns since the boot; 0 unknown. It is not stored
}

// OffCPU is one interval in which an accounted thread was not on a CPU.
type OffCPU struct {
	Start    uint64 // Unix ns at switch-out
	Duration uint64 // ns until it ran again
	RunQueue uint64 // the part, at the end, in which it was runnable
	Thread
	Comm  string
	Op    Op    // the call it fell into, 0 between calls
	Class Class // what it waited for; RunQueue when it was preempted
	// Syscall is the number on the traced machine's architecture, -1 if the
	// thread was not in a system call.
	Syscall  int16
	State    uint8 // the kernel's task state at switch-out; 0 is running, that is preempted
	Dispatch bool  // the thread has made CUDA calls
	Followed bool  // of an untraced process: recorded because it woke a traced thread

	Futex        uint64 // address waited on, if Class is Futex
	Holder       uint32 // TID found in the lock word, 0 if unknown; a hint to be checked
	Inode        uint64 // of the file descriptor read or written, if any
	Socket       Socket // behind that descriptor, if Class is Network
	Waker        Thread // the thread that made it runnable; zero if none was seen
	WakerComm    string
	WakerBorn    uint64 // start of its process, ns since the boot; 0 unknown. It is not stored
	WakerFutex   uint64 // futex address the waker was operating on
	WakerSyscall int16

	OutCPU, InCPU uint16
	Culprits      []Culprit // tasks that ran on InCPU while it was runnable, most time first
	IdleNS        uint64    // part of RunQueue during which InCPU was idle
	Kernel        []uint64  // kernel stack, innermost first; nil if not taken
}

// ThreadTime is a thread's running totals since the tracer began to account for
// it. Two of them subtract to an exact split of the time between.
type ThreadTime struct {
	At uint64 // Unix ns
	Thread
	Comm     string
	OnCPU    uint64             // ns by our own accounting
	NS       [NumClasses]uint64 // ns off CPU by class
	Runtime  uint64             // ns on CPU by the scheduler's own clock (se.sum_exec_runtime)
	Kernel   uint64             // ns on CPU in the kernel since its birth, by timer ticks (task_struct.stime)
	Born     uint64             // start of its process, ns since the boot; 0 unknown. It is not stored
	Dispatch bool
	Followed bool
}

// LifeKind says what happened to a process or thread.
type LifeKind uint8

// The life-cycle events.
const (
	LifeFork       LifeKind = 1 + iota // Thread is the new task, Parent its creator
	LifeExec                           // Thread runs a new program
	LifeExit                           // Thread ended
	LifeFirst                          // Thread made its first traced call
	LifeUnfinished                     // Thread ended, or executed a new program, inside Op
	LifeOOM                            // the kernel killed Thread's process for lack of memory; Parent asked for some
)

var lifeNames = [...]string{"", "fork", "exec", "exit", "first_call", "unfinished", "oom_kill"}

// String returns the name used in SQL and JSON.
func (k LifeKind) String() string {
	if int(k) < len(lifeNames) && k > 0 {
		return lifeNames[k]
	}
	return fmt.Sprintf("life-%d", uint8(k))
}

// Life is a life-cycle event of a traced process.
type Life struct {
	At   uint64 // Unix ns
	Kind LifeKind
	Thread
	Parent   Thread // for LifeFork and LifeOOM
	Comm     string
	Op       Op     // for LifeUnfinished and LifeFirst
	Duration uint64 // for LifeUnfinished: ns since the call began
}

// StackKind says which part of a stack a frame belongs to.
type StackKind uint8

// The kinds of frames. The names are public: stack_frames.kind.
const (
	FrameNative StackKind = 1 + iota
	FrameKernel
	FramePython
)

var frameNames = [...]string{"", "native", "kernel", "python"}

// String returns the name used in SQL and JSON.
func (k StackKind) String() string {
	if int(k) < len(frameNames) && k > 0 {
		return frameNames[k]
	}
	return fmt.Sprintf("frame-%d", uint8(k))
}

// FrameByName is the inverse of String.
func FrameByName(name string) (StackKind, bool) {
	for k, n := range frameNames {
		if n == name && k > 0 {
			return StackKind(k), true
		}
	}
	return 0, false
}

// Frame is one resolved stack frame.
type Frame struct {
	Kind   StackKind
	Addr   uint64 // as captured
	Symbol string // demangled; empty if unresolved
	File   string // source file, if known
	Line   uint32 // source line, 0 if unknown
	Module string // file name of the mapped object, or "kernel"
	Offset uint64 // of Addr within Module
	// BuildID identifies the contents of Module, in hex, so that names can be
	// looked up later; empty if it has none.
	BuildID string
}

// String is the frame as text: its function and its place, as far as known.
func (f *Frame) String() string {
	name := f.Symbol
	switch {
	case name == "" && f.Module != "" && f.Offset != 0:
		return fmt.Sprintf("%s+%#x", f.Module, f.Offset)
	case name == "":
		name = fmt.Sprintf("%#x", f.Addr)
	}
	switch {
	case f.Kind == FramePython && f.File != "" && f.Line != 0:
		return fmt.Sprintf("%s:%d in %s", f.File, f.Line, name)
	case f.File != "" && f.Line != 0:
		return fmt.Sprintf("%s (%s:%d)", name, f.File, f.Line)
	case f.File != "":
		return fmt.Sprintf("%s (%s)", name, f.File)
	case f.Module != "":
		return fmt.Sprintf("%s [%s]", name, f.Module)
	}
	return name
}

// Stack is a resolved user stack, innermost frame first. ID is a hash of its
// process and addresses and never 0.
type Stack struct {
	ID     uint64
	PID    uint32
	Frames []Frame
	Cut    bool // callers beyond the last frame could not be found
}
