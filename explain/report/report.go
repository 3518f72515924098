// Package report is the result of a diagnosis in the one form that text output, JSON, MCP, the
// dashboard and OTLP render. It is data only. Causes are found in package diagnose.
package report

import "github.com/ingero-io/ingero/event"

// Schema is the version of the JSON form. Fields are only ever added to it.
const Schema = 1

// Report is the answer of explain. All times are nanoseconds.
type Report struct {
	Schema int    `json:"schema"`
	DB     string `json:"db"`
	Node   string `json:"node"`
	Window Window `json:"window"`
	// calls in the window, thinned ones included; those within others are not
	Events       uint64            `json:"events"`
	Lost         map[string]uint64 `json:"lost"`    // by kind, never nil
	Verdict      string            `json:"verdict"` // one line
	Chains       []Chain           `json:"chains"`
	NotExplained []NotExplained    `json:"not_explained"`
	InFlight     []InFlight        `json:"in_flight,omitempty"` // calls that had not returned after a second
	Idle         []Idle            `json:"idle,omitempty"`
	QueueWaits   []QueueWait       `json:"queue_waits,omitempty"`
	Ended        []Ended           `json:"ended,omitempty"`
	GPUErrors    []GPUError        `json:"gpu_errors,omitempty"`  // that the driver reported (Xid)
	RankEvents   []RankEvent       `json:"rank_events,omitempty"` // what a fleet said of the ranks
	Workloads    []Workload        `json:"workloads,omitempty"`
	Changes      []Change          `json:"changes,omitempty"`       // steps that took longer from some time on, to the end
	Processes    []Process         `json:"processes,omitempty"`     // with --per-process
	Footprint    *Footprint        `json:"footprint,omitempty"`     // of processes whose system calls were counted
	Notes        []string          `json:"notes,omitempty"`         // what was recorded but cannot be judged
	StoredChains []StoredChain     `json:"stored_chains,omitempty"` // of a recording by an earlier Ingero
}

// Window is the span of Unix time the report covers.
type Window struct {
	FromNS uint64 `json:"from_ns"`
	ToNS   uint64 `json:"to_ns"`
	Note   string `json:"note,omitempty"` // how the window was chosen, if not as asked
}

// Chain is one finding: an effect, its root cause, and the path from one to the other.
type Chain struct {
	ID              string         `json:"id"` // stable for the same data
	Severity        event.Severity `json:"severity"`
	Summary         string         `json:"summary"`
	ExplainedPct    float64        `json:"explained_pct"` // share of LostNS that the evidence assigns to Cause
	LostNS          uint64         `json:"lost_ns"`       // excess time of the effect
	LostPct         float64        `json:"lost_pct"`      // of the dispatching thread's wall time in the window
	Effect          Effect         `json:"effect"`
	Cause           Cause          `json:"cause"`
	Path            []Step         `json:"path"` // effect first, root last; what ran meanwhile: most time first
	Evidence        Evidence       `json:"evidence"`
	Stack           []string       `json:"stack"`
	Recommendations []string       `json:"recommendations"`

	Pattern      *Pattern      `json:"pattern,omitempty"`      // when the time was lost
	PerStep      *PerStep      `json:"per_step,omitempty"`     // if the workload repeats itself
	WhatIf       *WhatIf       `json:"what_if,omitempty"`      // if the workload repeats itself
	Alternatives []Alternative `json:"alternatives,omitempty"` // other kinds considered, most time first
	Rest         []Rest        `json:"rest,omitempty"`         // what of LostNS is not explained, most time first
	// kinds of how the thread waited, if the cause is another
	Also     []string  `json:"also,omitempty"`
	Culprits []Culprit `json:"culprits,omitempty"`         // if there are several, most time first
	Counter  string    `json:"counter_evidence,omitempty"` // what would suggest otherwise, and why it does not
	Owners   []Owner   `json:"owners,omitempty"`           // of the processes named, as far as known
}

// Pattern is when a chain's time was lost.
type Pattern struct {
	Kind string `json:"kind"` // once, periodic, growing, irregular, constant, burst
	// when time was lost first, since 1970; of a constant loss it may be the window's start
	FromNS   uint64    `json:"from_ns"`
	Times    int       `json:"times"`     // periods of lost time
	PeriodNS uint64    `json:"period_ns"` // of periodic ones, else 0
	Timeline []float64 `json:"timeline"`  // share of each equal part of the window that was lost, 0 to 1

	// end of what happened once, and of a burst: the part of the time in which most was lost, though some was
	// lost all the time; since 1970
	ToNS     uint64  `json:"to_ns,omitempty"`
	BurstPct float64 `json:"burst_pct,omitempty"` // share of the lost time in a burst
}

// PerStep is a chain's loss in the workload's own measure.
type PerStep struct {
	LostNS   uint64 `json:"lost_ns"`  // mean over all steps
	Steps    uint64 `json:"steps"`    // in the window
	Affected uint64 `json:"affected"` // steps with lost time, as far as recorded one by one
}

// WhatIf is the mean duration of a step without the cause. The error band is lost time that the
// evidence does not assign to the cause.
type WhatIf struct {
	NowNS    uint64  `json:"now_ns"`
	StepNS   uint64  `json:"step_ns"`
	LowNS    uint64  `json:"low_ns"`
	HighNS   uint64  `json:"high_ns"`
	FasterBy float64 `json:"faster_pct"`        // throughput gained, percent
	Remains  string  `json:"remains,omitempty"` // what is still lost then
}

// Alternative is a cause that was considered for the same lost time.
type Alternative struct {
	Kind string  `json:"kind"`
	Pct  float64 `json:"pct"` // share of the time lost to all causes in the same calls
	Why  string  `json:"why"` // what speaks against it being the cause
}

// Rest is lost time beside the cause. Its shares and the explained share make up all lost time.
type Rest struct {
	Of   string `json:"of"` // hold: of a lock; wait; lost time
	What string `json:"what"`
	// what the thread that was waited for did: on_cpu or a class of waiting; empty if not known
	Class string  `json:"class,omitempty"`
	NS    uint64  `json:"ns"`
	Pct   float64 `json:"pct"` // of LostNS
}

// FollowedPct returns the share of LostNS for which it is known what the thread at the end of the path
// did: the cause, or something else. For a lock that was held during a write it is the whole hold,
// of which the disk, the cause, is a part.
func (c *Chain) FollowedPct() float64 {
	pct := c.ExplainedPct
	for i := range c.Rest {
		if c.Rest[i].Class != "" {
			pct += c.Rest[i].Pct
		}
	}
	return pct
}

// Culprit is one of several threads in a finding: one that was waited for, or one that used the CPU
// of a runnable thread.
type Culprit struct {
	Process string  `json:"process"`
	PID     uint32  `json:"pid"`
	TID     uint32  `json:"tid"`
	Thread  string  `json:"thread"`
	NS      uint64  `json:"ns"`
	Pct     float64 `json:"pct"` // of the lost time; for CPU users, of the time with a known running thread
}

// Workload is the repetition found in one dispatching thread's calls.
type Workload struct {
	Process  string  `json:"process"`
	PID      uint32  `json:"pid"`
	TID      uint32  `json:"tid"`
	Steps    uint64  `json:"steps"`
	PerStep  string  `json:"per_step"`  // the calls of a step, in words
	WarmupNS uint64  `json:"warmup_ns"` // left out at the start
	P50NS    uint64  `json:"p50_ns"`
	P99NS    uint64  `json:"p99_ns"`
	Trend    float64 `json:"trend_pct"` // change of the step's duration from the first quarter to the last

	// MeanNS is the mean step from the first whole second of steps to the last, and Account where its time went: the
	// parts add up to it. Both are missing if there is no whole second.
	MeanNS  uint64     `json:"mean_ns,omitempty"`
	Account []StepPart `json:"account,omitempty"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// StepPart is a part of a mean step.
type StepPart struct {
	What string  `json:"what"`
	NS   uint64  `json:"ns"` // of a step
	Pct  float64 `json:"pct"`
}

// StoredChain is a chain as an earlier version of Ingero recorded it, with what the data supports.
type StoredChain struct {
	ID              string         `json:"id"`
	Severity        event.Severity `json:"severity"`
	Summary         string         `json:"summary"`
	RootCause       string         `json:"root_cause"`
	Explanation     string         `json:"explanation"`
	Op              string         `json:"op"`
	AtNS            uint64         `json:"at_ns"` // Unix ns at which it was detected
	Node            string         `json:"node"`
	Recommendations []string       `json:"recommendations"`
	Supported       string         `json:"supported"` // what the rows of the file say about it
}

// Effect is what was slow, compared with its usual duration.
type Effect struct {
	Op        string  `json:"op"` // the operation that lost most; "between calls" for gaps
	Process   string  `json:"process"`
	PID       uint32  `json:"pid"`
	TID       uint32  `json:"tid"`
	Thread    string  `json:"thread"`
	Calls     uint64  `json:"calls"`
	SlowCalls uint64  `json:"slow_calls"`
	P50NS     uint64  `json:"p50_ns"`
	P99NS     uint64  `json:"p99_ns"`
	MaxNS     uint64  `json:"max_ns"`
	TailRatio float64 `json:"tail_ratio"` // p99 / p50

	Kinds []OpKind `json:"kinds,omitempty"` // as of Op

	Kernel string `json:"kernel,omitempty"` // whose launches lost most of the time, if one's did
	Waits  *Code  `json:"waits,omitempty"`  // where in its code the thread waited between calls, if that was sampled

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Cause is the root.
type Cause struct {
	Kind    string `json:"kind"` // one of event.Causes
	Process string `json:"process"`
	PID     uint32 `json:"pid"`
	TID     uint32 `json:"tid"`
	Thread  string `json:"thread"`
	Detail  string `json:"detail"`
	Code    *Code  `json:"code,omitempty"` // what it ran meanwhile on a CPU, if that was sampled

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Step is one link of a chain.
type Step struct {
	Layer   string `json:"layer"` // CUDA, DRIVER, HOST, IO, NET
	Process string `json:"process"`
	PID     uint32 `json:"pid"`
	TID     uint32 `json:"tid"`
	Thread  string `json:"thread"`
	State   string `json:"state"` // running, runnable, throttled, blocked
	On      string `json:"on"`    // what it was blocked on, or what ran instead
	NS      uint64 `json:"ns"`

	Beside bool `json:"beside,omitempty"` // it was waited for as the step before it was, not by it

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Evidence is where to look in the recording.
type Evidence struct {
	// id in the view events, of gaps (g) ledger, of collective operations (c) collectives; the longest
	// first, at most 10
	EventIDs []string `json:"event_ids"`
	Sample   int      `json:"sample"` // number of episodes that the finding is based on
}

// NotExplained is time that was lost but whose cause the evidence does not show.
type NotExplained struct {
	Effect       Effect  `json:"effect"`
	LostNS       uint64  `json:"lost_ns"`
	LostPct      float64 `json:"lost_pct"`
	ExplainedPct float64 `json:"explained_pct"`
	Why          string  `json:"why"`
}

// Idle is a thread that waited for work. This is not lost time.
type Idle struct {
	Process string  `json:"process"`
	PID     uint32  `json:"pid"`
	TID     uint32  `json:"tid"`
	NS      uint64  `json:"ns"`
	Pct     float64 `json:"pct"` // of its wall time
	On      string  `json:"on"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// QueueWait is a thread that waited for room in a full launch queue: the GPU is the limit. This is not lost
// time.
type QueueWait struct {
	Process string  `json:"process"`
	PID     uint32  `json:"pid"`
	TID     uint32  `json:"tid"`
	NS      uint64  `json:"ns"`  // beyond what its launches usually take
	Pct     float64 `json:"pct"` // of its wall time
	// UtilPct is the GPU's utilisation meanwhile; 0 if it was not read. Then the queue is assumed to have been
	// full because so many launches were made for each wait for the GPU.
	UtilPct float64 `json:"util_pct,omitempty"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// InFlight is a call that had not returned when last seen. Those that hang also have a chain.
type InFlight struct {
	Op        string   `json:"op"`
	Inner     string   `json:"inner_op,omitempty"` // the call inside it, if any
	Process   string   `json:"process"`
	PID       uint32   `json:"pid"`
	TID       uint32   `json:"tid"`
	Thread    string   `json:"thread"`
	SinceNS   uint64   `json:"since_ns"`        // Unix ns, start
	AgeNS     uint64   `json:"age_ns"`          // until it was last seen, or its thread ended
	Doing     string   `json:"doing"`           // running, runnable, blocked
	WaitsFor  string   `json:"waits_for"`       // in words
	Class     string   `json:"class,omitempty"` // of the wait, if blocked
	Holder    string   `json:"holder,omitempty"`
	HolderTID uint32   `json:"holder_tid,omitempty"` // of the lock it waits for
	File      string   `json:"file,omitempty"`       // behind the descriptor it waits for
	Outcome   string   `json:"outcome"`              // in_flight; died: its thread ended in it
	Hangs     bool     `json:"hangs"`                // far longer than usual
	Stack     []string `json:"stack"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Ended is a process that the kernel killed because memory ran out.
type Ended struct {
	Process string `json:"process"`
	PID     uint32 `json:"pid"`
	AtNS    uint64 `json:"at_ns"` // Unix ns
	Why     string `json:"why"`

	Node string `json:"node,omitempty"` // in a report of several machines
}

// Process is the per-process table.
type Process struct {
	PID     uint32 `json:"pid"`
	Process string `json:"process"`
	Node    string `json:"node"`
	Rank    *int   `json:"rank"`
	Ops     []Op   `json:"ops"`

	Framework string `json:"framework,omitempty"` // PyTorch, llama.cpp, …; CUDA: none; empty: not recorded

	Owner    *Owner   `json:"owner,omitempty"`
	Memory   *Memory  `json:"memory,omitempty"`   // device memory, if any was allocated
	Warnings []string `json:"warnings,omitempty"` // what is unusual in its use of memory, in words
}

// Memory is a process's device memory according to its own calls.
type Memory struct {
	LiveBytes uint64 `json:"live_bytes"` // allocated and not freed at the end of the window
	LiveCount uint64 `json:"live_count"`
	PeakBytes uint64 `json:"peak_bytes"`
	Allocs    uint64 `json:"allocs"`
	Frees     uint64 `json:"frees"`
	Failed    uint64 `json:"failed"` // allocations that returned an error
	Bytes     uint64 `json:"bytes"`  // allocated in the window
}

// Op is one line of the per-process table; counts are exact.
type Op struct {
	Op      string `json:"op"`
	Calls   uint64 `json:"calls"`
	P50NS   uint64 `json:"p50_ns"`
	P95NS   uint64 `json:"p95_ns"`
	P99NS   uint64 `json:"p99_ns"`
	MaxNS   uint64 `json:"max_ns"`
	TotalNS uint64 `json:"total_ns"`
	Bytes   uint64 `json:"bytes"`
	Errors  uint64 `json:"errors"`

	// Kinds are short and long calls, if there are two kinds with hardly any in between: then
	// P50NS is usual only for the larger kind.
	Kinds []OpKind `json:"kinds,omitempty"`
}

// OpKind is a group of an operation's calls with similar durations.
type OpKind struct {
	Calls uint64 `json:"calls"`
	P50NS uint64 `json:"p50_ns"` // of these
}
