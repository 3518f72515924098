package event

import (
	"fmt"
	"strings"
)

// Loss counts something the tracer could not record. Losses are stored and
// shown, never silent.
type Loss struct {
	Kind  LossKind
	Count uint64
}

// LossKind names a way to lose events. The numbers are the slots of the kernel
// counters (capture/bpf/include/event.h) and append-only.
type LossKind uint8

// The losses.
const (
	LostCall           LossKind = iota // call: ring full
	LostGap                            // gap ledger: ring full
	LostOffCPU                         // off-CPU interval: ring full
	LostThreadTime                     // thread totals: ring full (the next ones replace them)
	LostLife                           // life-cycle event: ring full
	LostStack                          // stack: ring half full, or too many in a second
	LostNested                         // call nested deeper than the tracer follows
	LostThread                         // no memory for a thread's state
	LostUnmatched                      // return without a recorded entry
	LostUnfinished                     // call that was jumped out of
	LostSwitch                         // context switch the kernel did not report
	LostHealed                         // off-CPU interval rebuilt because its begin or end was not reported
	LostWake                           // wake-up not reported: the wait has no run-queue part
	LostOffCPUThinned                  // off-CPU interval dropped by the per-thread rate limit
	LostStall                          // stall of a CPU: ring full
	LostStored                         // row not written: the disk was full, or the like
	LostLate                           // milliseconds without probes on a library that was already in use
	LostReclaim                        // span of memory reclaim: ring full
	LostSocket                         // socket of a wait: ring full
	LostName                           // name of a kernel: ring full, or too many of them
	LostComm                           // collective not numbered: too many communicators
	LostRequest                        // request to a block device: ring full, or too many in flight
	LostRequestThinned                 // request to a block device left out by the rate limit
	LostConnection                     // event of a TCP connection: ring full, or above the rate limit
	LostFootprint                      // system call, file or socket of a footprint: no room
	LostPages                          // page allocation: too many processes, or counted while another one was
	LostReading                        // reading of the GPUs that was not made in time
	// milliseconds without some probes on the driver's launches, waits and copies within runtime calls
	InnerCalls
	LostMalformed // record of the kernel side that the decoder does not understand
	FootprintOver // footprint that ended, because CUDA was loaded
	LostMark      // mark of the program: ring full, or too many in a second
	LostLabel     // line of labels, or connection: malformed, not allowed, or too many
	LostCode      // sample of code: ring half full, or in the middle of the tracer's own work
	NumLossKinds
)

// LossInfo describes a kind of loss. An approximate loss drops no record, but makes
// some numbers in records estimates.
type LossInfo struct {
	Name        string
	Unit        string
	Approximate bool
	Doc         string
	Short       string // Doc in a few words, with Unit in it
}

// Words returns Short as it reads after the number n.
func (l *LossInfo) Words(n uint64) string {
	if n != 1 {
		return l.Short
	}
	one := strings.TrimSuffix(l.Unit, "s")
	if strings.HasSuffix(l.Unit, "ches") {
		one = strings.TrimSuffix(l.Unit, "es")
	}
	return strings.Replace(l.Short, l.Unit, one, 1)
}

// Losses describes every LossKind, in order.
var Losses = [NumLossKinds]LossInfo{
	LostCall: {
		"call", "calls", false, "calls not recorded because the ring buffer was full",
		"calls (ring buffer full)",
	},
	LostGap: {
		"gap", "gaps", false,
		"ledgers of the time between calls not recorded because the ring buffer was full",
		"gaps between calls (ring buffer full)",
	},
	LostOffCPU: {
		"off_cpu", "intervals", false, "off-CPU intervals not recorded because the ring buffer was full",
		"off-CPU intervals (ring buffer full)",
	},
	LostThreadTime: {
		"thread_time", "records", true,
		"thread totals not recorded because the ring buffer was full; the next ones replace them",
		"records of thread totals (ring buffer full)",
	},
	LostLife: {
		"life", "events", false, "life-cycle events not recorded because their ring buffer was full",
		"life-cycle events (ring buffer full)",
	},
	LostStack: {
		"stack", "stacks", true,
		"stacks not taken because the ring buffer was filling, or because a CPU had taken 1000 in the second",
		"stacks (ring buffer filling, or too many in a second)",
	},
	LostNested: {"nested", "calls", false, "calls nested deeper than the tracer follows", "calls nested too deep"},
	LostThread: {
		"thread", "calls", false, "calls of threads the kernel had no memory to account for",
		"calls of threads the kernel had no memory for",
	},
	LostUnmatched: {
		"unmatched", "returns", false,
		"returns whose entry was not seen: calls in progress when tracing began, or in a forked child",
		"returns whose entry was not seen",
	},
	LostUnfinished: {
		"unfinished", "calls", false,
		"calls that were left by a jump, as by an exception, and never returned; those in which a thread ended are " +
			"recorded, see calls_in_flight", "calls left by a jump",
	},
	LostSwitch: {
		"switch", "switches", true, "context switches the kernel did not report",
		"context switches the kernel did not report",
	},
	LostHealed: {
		"healed", "intervals", true,
		"off-CPU intervals whose begin or end was rebuilt from the scheduler's own clock",
		"intervals rebuilt from the scheduler's clock",
	},
	LostWake: {
		"wake", "intervals", true,
		"off-CPU intervals whose wake-up was not reported; their run-queue part is unknown",
		"intervals whose wake-up was not reported",
	},
	LostOffCPUThinned: {
		"off_cpu_thinned", "intervals", true,
		"off-CPU intervals left out by the per-thread rate limit; the ledgers still hold their time",
		"off-CPU intervals above the rate limit",
	},
	LostStall: {
		"stall", "stalls", true, "stalls of a CPU not recorded because the ring buffer was full",
		"stalls of a CPU (ring buffer full)",
	},
	LostStored: {
		"stored", "rows", false,
		"rows not written because the recording could not be, as while the disk was full; the view `pauses` says when and " +
			"why, and exact statistics go on", "rows (the recording could not be written)",
	},
	LostLate: {
		"late", "milliseconds", false,
		"milliseconds between the moment a process mapped a library and that at which its probes were in place; calls it " +
			"made meanwhile are not recorded, and how many is not known",
		"milliseconds in which a library was mapped and not probed yet (calls unknown)",
	},
	LostReclaim: {
		"reclaim", "spans", true, "spans of memory reclaim not recorded because the ring buffer was full",
		"spans of memory reclaim (ring buffer full)",
	},
	LostSocket: {
		"socket", "sockets", true,
		"sockets that a thread waited for, not recorded because the ring buffer was full; the wait itself is",
		"sockets waited for (ring buffer full)",
	},
	LostName: {
		"kernel_name", "names", true,
		"names of GPU kernels not recorded because the ring buffer was full or a process has too many of them; " +
			"the launches are", "names of GPU kernels (too many at once)",
	},
	LostComm: {
		"communicator", "calls", true,
		"collective operations not numbered because there are too many communicators; they are recorded, but not matched " +
			"with those of other ranks", "calls of collectives (too many communicators)",
	},
	LostRequest: {
		"block_request", "requests", true,
		"requests to block devices not recorded, or missing in the sums, because the ring buffer was full, too many were " +
			"under way, or the kernel did not tell of their end",
		"requests to block devices (too many at once, or not reported by the kernel)",
	},
	LostRequestThinned: {
		"block_request_thinned", "requests", true,
		"requests to block devices left out by the rate limit; the sums per second still hold them",
		"requests to block devices above the rate limit",
	},
	LostConnection: {
		"tcp", "events", true,
		"events of TCP connections not recorded because the ring buffer was full or there were more than 1000 in a " +
			"second; the next one of a connection has its count of retransmissions",
		"events of TCP connections (too many at once)",
	},
	LostFootprint: {
		"footprint", "entries", false,
		"entries of footprints not recorded because a table was full: counts of system calls, files, sockets, " +
			"programs or their names", "entries of footprints (tables full)",
	},
	LostPages: {
		"pages", "allocations", false,
		"allocations of pages not counted because they interrupted the counting of another one, " +
			"or because there were too many processes", "allocations of pages (one at a time is counted on a CPU)",
	},
	LostReading: {
		"gpu_reading", "readings", true,
		"readings of the GPUs that did not come, one a second, after there had been some: the driver did not answer, or " +
			"the process that asks it ended", "readings of the GPUs (the driver did not answer)",
	},
	InnerCalls: {
		"inner_calls", "milliseconds", true,
		"milliseconds in which launches, waits or copies of the driver (`cuLaunchKernel`, `cuStreamSynchronize` and the " +
			"like) were not counted separately, because each was within a call of the runtime, which is recorded; " +
			"`--inner-calls` counts them",
		"milliseconds in which driver calls within runtime calls were not counted separately",
	},
	LostMalformed: {
		"malformed", "records", false,
		"records of the kernel side that the tracer could not read, which is a bug", "records that could not be read (a bug)",
	},
	FootprintOver: {
		"footprint_over", "footprints", true,
		"footprints that ended because a process loaded CUDA, whose calls cost less without; `--footprint` goes on",
		"footprints that ended as CUDA was loaded",
	},
	LostCode: {
		"code", "samples", true,
		"samples of code whose stack was not taken because the ring buffer was filling, or because the tracer itself " +
			"worked on the thread's call just then", "samples of code",
	},
	LostMark: {
		"mark", "marks", true,
		"ranges and marks of NVTX not recorded because the ring buffer was full or there were more than 10,000 in a " +
			"second; ranges about them may be reported with another one's end", "marks of NVTX (too many at once)",
	},
	LostLabel: {
		"label", "lines", true,
		"lines of labels that were refused: malformed, about a process that the sender may not label, or too many at " +
			"once; those that programs could not send; and connections that were refused",
		"lines of labels (malformed, not allowed, or too many at once)",
	},
}

// Counts reports whether a loss of this kind counts missing records: it is not
// approximate, not counted in time, and did not begin before tracing.
func (k LossKind) Counts() bool {
	return k < NumLossKinds && !Losses[k].Approximate && k != LostUnmatched && k != LostLate
}

// String returns the name used in SQL and JSON.
func (k LossKind) String() string {
	if k < NumLossKinds {
		return Losses[k].Name
	}
	return fmt.Sprintf("loss-%d", uint8(k))
}

// LossCounts adds up losses by the name of their kind; those that are zero are left out.
func LossCounts(list []Loss) map[string]uint64 {
	m := map[string]uint64{}
	for _, l := range list {
		if l.Count > 0 {
			m[l.Kind.String()] += l.Count
		}
	}
	return m
}
