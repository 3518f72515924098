// Package store defines the content of a recording: the Writer that the agent fills, and the Reader
// that explanation, views and tools use. The package has no I/O; store/sqlite implements both.
package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/event"
)

// Errors that callers check for. Implementations wrap them with the path and details.
var (
	ErrNotFound   = errors.New("no such database")
	ErrForeign    = errors.New("not an Ingero database")
	ErrCorrupt    = errors.New("database is damaged")
	ErrNewer      = errors.New("database was written by a newer version of Ingero")
	ErrFull       = errors.New("disk is full")
	ErrPermission = errors.New("permission denied")
)

// Window is a half-open span of Unix time in nanoseconds; zero bounds are open.
type Window struct{ From, To uint64 }

// Contains reports whether t falls into the window.
func (w Window) Contains(t uint64) bool {
	return t >= w.From && (w.To == 0 || t < w.To)
}

// Session is one run of the tracer.
type Session struct {
	ID      int64
	Started uint64 // Unix ns
	Stopped uint64 // Unix ns, 0 if it did not stop cleanly
	Flushed uint64 // Unix ns at which the tracer last wrote; 0: unknown
	Node    string
	Host    string
	Kernel  string
	Arch    string
	CPUs    int
	Memory  uint64   // bytes
	Version string   // of Ingero
	Backend string   // how functions were attached: session, multi, perf
	Flags   string   // command line, for people
	PID     uint32   // of the tracer, which is never reported as a culprit; 0 if unknown
	Nodes   []string // the CPUs of each memory node ("0-15"); empty if there is only one
	Boot    string   // boot id of the machine (boot_id); empty if unknown
	Booted  uint64   // Unix ns at which the machine booted; 0 unknown. It is not stored
}

// Process describes a traced process, or one that appears in the recording as a waker or culprit.
type Process struct {
	PID                        uint32
	Parent                     uint32
	Name                       string // the kernel's task name of the main thread
	Command                    string // command line, NUL replaced by spaces, at most 1 KiB
	Cgroup                     string // path: the last one that throttled it, else the last one
	Rank, LocalRank, WorldSize int    // -1 if unknown
	Traced                     bool
	Owner                      owner.Owner // container, pod, job or service, as far as known
	Framework                  framework.Name
	Node                       string // empty if the recording is of one node
	Born                       uint64 // when it began, in clock ticks since the boot; 0: not known
}

// Reuse says that a process has the id of an earlier one, whose end nobody reported: only the ends of traced processes
// are. All records that come with it or later, and have the id, are of the new process.
type Reuse struct {
	PID uint32
	At  uint64 // Unix ns at which the new process is known to have had the id
}

// ThreadInfo names a thread.
type ThreadInfo struct {
	event.Thread
	Comm     string
	Dispatch bool // it has made traced calls
	// Born is the start of its process, ns since the boot; 0: not known. It is not kept.
	Born uint64

	// At is a time at which it had the name, Unix ns; 0: not known. It says whose the name is if several threads had
	// the ids, one after the other. It is not kept.
	At uint64
}

// Policy is a scheduling policy, numbered as in the kernel's sched.h.
type Policy uint8

// The policies.
const (
	PolicyOther    Policy = 0
	PolicyFIFO     Policy = 1
	PolicyRR       Policy = 2
	PolicyBatch    Policy = 3
	PolicyIdle     Policy = 5
	PolicyDeadline Policy = 6
)

// Realtime reports whether threads with this policy run before all normal ones.
func (p Policy) Realtime() bool {
	return p == PolicyFIFO || p == PolicyRR || p == PolicyDeadline
}

func (p Policy) String() string {
	switch p {
	case PolicyOther:
		return "SCHED_OTHER"
	case PolicyFIFO:
		return "SCHED_FIFO"
	case PolicyRR:
		return "SCHED_RR"
	case PolicyBatch:
		return "SCHED_BATCH"
	case PolicyIdle:
		return "SCHED_IDLE"
	case PolicyDeadline:
		return "SCHED_DEADLINE"
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// Scheduling is how the scheduler treats a thread that had to wait for a CPU, or that ran
// meanwhile.
type Scheduling struct {
	event.Thread
	Policy   Policy
	Nice     int8
	Realtime uint8  // priority, 1 to 99; 0 if the policy has none
	CPUs     string // allowed CPUs, as the kernel lists them (0-3,8); empty if not recorded
	Before   string // those before they last changed; empty if they have not
	Changed  uint64 // Unix ns at which that was seen
}

// Snapshot is the state of the machine at one moment.
type Snapshot struct {
	At             uint64  // Unix ns
	CPUPct         float64 // of all CPUs, 0 to 100, StealPct included
	StealPct       float64 // of all CPUs, taken by the hypervisor while they had work, 0 to 100
	MemPct         float64 // of memory in use, 0 to 100
	MemAvailableMB uint64
	SwapMB         uint64  // in use
	SwapIn         uint64  // bytes read from swap in the second before
	SwapOut        uint64  // bytes written to swap in the second before
	Load           float64 // one-minute load average
	Pressure       Pressure
	CPUs           CPUBusy // busy share of each CPU; empty if not recorded
}

// CPUBusy is how busy each CPU of a machine was in a second: one byte each, by number. It is a
// string so that it can be compared, and is small: 256 bytes a second for 256 CPUs.
type CPUBusy string

// noCPU is the byte for a number without an online CPU. All bytes are ASCII, so that SQL can read
// them (cpu_loads in views.sql).
const noCPU = 127

// NewCPUBusy converts percentages, 0 to 100, by CPU number.
func NewCPUBusy(pct map[int]float64) CPUBusy {
	most := -1
	for cpu := range pct {
		most = max(most, cpu)
	}
	b := make([]byte, most+1)
	for cpu := range b {
		b[cpu] = noCPU
		if v, ok := pct[cpu]; ok {
			b[cpu] = 1 + byte(math.Round(min(100, max(0, v))))
		}
	}
	return CPUBusy(b)
}

// Pct is how busy a CPU was, 0 to 100; false if it was not online or is not recorded.
func (b CPUBusy) Pct(cpu int) (float64, bool) {
	if cpu < 0 || cpu >= len(b) || b[cpu] == noCPU || b[cpu] == 0 {
		return 0, false
	}
	return float64(b[cpu] - 1), true
}

// Pressure is the share of the last second, 0 to 100, in which some of the tasks that were not idle
// waited for a resource, or all of them (Full). Zero if the kernel does not report it.
type Pressure struct {
	CPU, Memory, MemoryFull, IO, IOFull float64
}

// Writer records a session. It is used by one goroutine.
type Writer interface {
	// Write adds a batch. Calls above the raw-row rate are thinned: they are counted in the
	// roll-ups and represented by the Weight of a stored row. Data is durable only after the
	// next Flush.
	Write(b *Batch) error
	// Flush makes everything written durable, including the roll-ups of the current second so
	// far. It is called about once a second.
	Flush(ctx context.Context) error
	// Skip takes a batch that is not to be written, because writing failed (Unwritten). What is kept in
	// memory is: names, what began and ended, and exact statistics. Other rows are lost.
	Skip(b *Batch)
	// Lost is how many rows were lost so far: event.LostStored.
	Lost() uint64
	// Close flushes, marks the session as stopped and closes the file.
	Close() error
}

// Summary is an overview of a recording.
type Summary struct {
	Schema   int
	Node     string
	Sessions []Session
	First    uint64       // Unix ns of the earliest event, 0 if empty
	Last     uint64       // Unix ns of the latest event's end, 0 if empty
	Calls    uint64       // exact, thinned calls included
	Stored   uint64       // rows of calls in the file
	Losses   []event.Loss // non-zero only
}

// liveFor is the maximum age of the last write of a tracer that is still running: it writes once a
// second, but may be delayed on a busy machine.
const liveFor = time.Minute

// Live reports whether the recording still grows. A tracer that was killed has no stop time, but no
// longer writes.
func (s *Summary) Live(now time.Time) bool {
	for i := range s.Sessions {
		e := &s.Sessions[i]
		if wrote := max(e.Flushed, s.Last); e.Stopped == 0 && wrote != 0 && wrote+uint64(liveFor) > uint64(now.UnixNano()) {
			return true
		}
	}
	return false
}

// Reader reads a recording and never changes it. Visitors are called in order of start time and
// stop the read by returning false; the value that they get is reused. Methods may be called by
// several goroutines.
type Reader interface {
	Summary(ctx context.Context) (Summary, error)
	TableReader
	// NotableCalls visits the calls that a diagnosis needs one by one: slow, failed and first
	// ones, large copies, and those in which the thread waited for something that needs no
	// baseline.
	NotableCalls(ctx context.Context, w Window, visit func(*event.Call) bool) error
	// CallTimes visits every stored call: all calls, or a weighted sample where the recording
	// was thinned.
	CallTimes(ctx context.Context, w Window, visit func(*event.CallTime) bool) error
	NotableGaps(ctx context.Context, w Window, visit func(*event.Gap) bool) error
	// Reaching visits calls and gaps that began up to Reach before a time and ended after it.
	Reaching(ctx context.Context, at uint64, call func(*event.Call) bool, gap func(*event.Gap) bool) error
	OffCPU(ctx context.Context, w Window, visit func(*event.OffCPU) bool) error
	ThreadTimes(ctx context.Context, w Window, visit func(*event.ThreadTime) bool) error
	// OpSeries is OpStat in steps of so many seconds, at least 1, in order of time.
	OpSeries(ctx context.Context, w Window, step uint64) ([]OpSecond, error)
	// WaitSeries is the waits of threads in calls and between them, in steps of so many seconds, at
	// least 1, in order of time. It has no rows of time without a wait.
	WaitSeries(ctx context.Context, w Window, step uint64) ([]WaitSecond, error)
	// WaitSites is the statistics of waits for the GPU by call site, in steps of so many
	// seconds, at least 1, in order of time.
	WaitSites(ctx context.Context, w Window, step uint64) ([]SiteSecond, error)
	// Busy returns when each process used which GPU, from the stored calls. It stops after
	// maxCalls of them and returns the time up to which the result is complete, 0 if it read
	// the whole window.
	Busy(ctx context.Context, w Window, maxCalls int) (spans []Busy, until uint64, err error)
	// Footprint returns system calls by the second, and the files, peers, programs and other
	// things that processes touched, as they were at the end.
	Footprint(ctx context.Context, w Window) (event.Footprint, error)
	Stack(ctx context.Context, id uint64) (event.Stack, error)
	Close() error
}

// Merged is a Reader of a recording that may contain several machines. Process ids mean different
// processes on each, so each machine is explained separately.
type Merged interface {
	// Machines returns a reader for each machine, in the order in which they were merged; each
	// must be closed. With one machine, it is the Reader itself.
	Machines(ctx context.Context) ([]Reader, error)
}

// Distinct is a Reader of a recording in which ids may have been used again: it may have several sessions, and the
// kernel gives ids of processes and threads again.
type Distinct interface {
	// Distinct returns a reader in which each process and each thread has an id of its own (event.ReusedID). It must
	// be closed, unless it is the Reader itself, because no id was used again.
	Distinct(ctx context.Context) (Reader, error)
}

// NotableWait is the off-CPU time from which a call or gap is kept and read one by one, even if it
// is not slow for its operation.
const NotableWait = 50 * time.Microsecond

// longGap is the duration from which a gap is, too, as what ran in it is worth naming.
const longGap = 10 * time.Millisecond

// NotableGap reports whether a gap is read one by one.
func NotableGap(g *event.Gap) bool {
	return WaitNS(&g.Ledger) >= uint64(NotableWait) || g.Duration >= uint64(longGap)
}

// SlowExcess and SlowShare say when a call is slow for its thread and operation: when it exceeds
// the median by both.
const (
	SlowExcess = 100 * time.Microsecond
	SlowShare  = 0.20
)

// BulkBytes is the size from which a copy that takes longer than SlowExcess is kept one by one,
// even if that is usual: how the duration grows with the size shows whether it copied pageable
// memory.
const BulkBytes = 1_000_000

// IsBulkCopy reports whether a call is such a copy.
func IsBulkCopy(c *event.Call) bool {
	if c.Duration < uint64(SlowExcess) {
		return false
	}
	i := c.Op.Info()
	return i != nil && i.Role == event.RoleCopy && i.BytesArg() >= 0 && c.Args[i.BytesArg()] >= BulkBytes
}

// IsSlow reports whether a call of the given duration is slow against the
// median duration of its thread and operation, both in ns.
func IsSlow(duration, median uint64) bool {
	if duration <= median {
		return false
	}
	excess := duration - median
	return excess > uint64(SlowExcess) && float64(excess) > SlowShare*float64(median)
}

// KernelStackID is the stack id of a kernel stack given by its addresses, innermost first. A
// resolved stack written under this id has the names for the frames of OffCPU.Kernel.
func KernelStackID(addrs []uint64) uint64 {
	if len(addrs) == 0 {
		return 0
	}
	h := uint64(14695981039346656037) // FNV-1a over 64-bit words
	for _, a := range addrs {
		h = (h ^ a) * 1099511628211
		h ^= h >> 32
	}
	return max(h, 1)
}

// EventKind says which table an event id refers to.
type EventKind string

// The kinds of event ids.
const (
	CallEvent   EventKind = ""
	OffCPUEvent EventKind = "o"
	GapEvent    EventKind = "g"
	LifeEvent   EventKind = "p"
	// CollectiveEvent is a rank's part in a collective operation, when it was queued.
	CollectiveEvent EventKind = "c"
)

// EventID is the id of an event as the public SQL views show it: the node, the
// start time and, for anything but a call, a letter.
func EventID(node string, start uint64, kind EventKind) string {
	return node + ":" + strconv.FormatUint(start, 10) + string(kind)
}
