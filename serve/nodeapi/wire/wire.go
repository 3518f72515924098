// Package wire has the answers of a node's API, as JSON: types that package nodeapi, which answers,
// and package fleet, which asks, have in common. Times are Unix nanoseconds, durations nanoseconds.
package wire

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// About is what every answer about a recording has.
type About struct {
	Node   string            `json:"node"` // as in the recording
	Window report.Window     `json:"window"`
	Lost   map[string]uint64 `json:"lost"` // records that the tracer dropped in the whole recording, by kind; never null
}

// Health says that a node is up, and whether its recording can be read.
type Health struct {
	Status  string `json:"status"` // ok, or what is wrong
	Version string `json:"version"`
}

// Time is for measuring clock offsets.
type Time struct {
	ReceivedNS int64 `json:"received_ns"` // when the request was received
	SentNS     int64 `json:"sent_ns"`     // when the answer was sent
}

// Overview is an overview of a recording.
type Overview struct {
	About
	DB       string                 `json:"db"`
	Version  string                 `json:"version"` // of the Ingero that answers
	Schema   int                    `json:"schema"`
	FirstNS  uint64                 `json:"first_ns"` // of the recording
	LastNS   uint64                 `json:"last_ns"`
	Calls    uint64                 `json:"calls"` // of the recording, exact
	Stored   uint64                 `json:"stored_rows"`
	Verdict  string                 `json:"verdict"`  // on the window
	Findings map[event.Severity]int `json:"findings"` // of the window, by severity
	Sessions []Session              `json:"sessions"`
}

// Session is a run of the tracer.
type Session struct {
	StartedNS uint64 `json:"started_ns"`
	StoppedNS uint64 `json:"stopped_ns"` // 0 if it did not stop cleanly
	Node      string `json:"node"`
	Host      string `json:"host"`
	Kernel    string `json:"kernel"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`
	Version   string `json:"version"` // of the Ingero that recorded
}

// Ops are exact statistics, most time first.
type Ops struct {
	About
	Ops []Op `json:"ops"`
}

// Op is an operation of a process.
type Op struct {
	PID     uint32 `json:"pid"`
	Process string `json:"process"`
	Op      string `json:"op"`
	Calls   uint64 `json:"calls"`
	Errors  uint64 `json:"errors"`
	P50NS   uint64 `json:"p50_ns"`
	P95NS   uint64 `json:"p95_ns"`
	P99NS   uint64 `json:"p99_ns"`
	MaxNS   uint64 `json:"max_ns"`
	TotalNS uint64 `json:"total_ns"`
	Bytes   uint64 `json:"bytes"`
}

// Timeline is what threads did, in order of time.
type Timeline struct {
	About
	Calls  []Call   `json:"calls"`
	OffCPU []OffCPU `json:"off_cpu"`
	NextNS uint64   `json:"next_ns"` // ask again from here; 0 if this is all
}

// Call is a call as it is stored.
type Call struct {
	StartNS    uint64            `json:"start_ns"`
	DurationNS uint64            `json:"duration_ns"`
	PID        uint32            `json:"pid"`
	TID        uint32            `json:"tid"`
	Op         string            `json:"op"`
	Depth      uint8             `json:"depth"`
	Ret        int32             `json:"ret_code"`
	Weight     uint32            `json:"weight"`               // calls that this one stands for
	Waited     map[string]uint64 `json:"waited_ns,omitempty"`  // by class
	Stack      string            `json:"stack_hash,omitempty"` // as in the stack_frames view
}

// OffCPU is an interval in which a thread was off the CPU.
type OffCPU struct {
	StartNS    uint64 `json:"start_ns"`
	DurationNS uint64 `json:"duration_ns"`
	RunQueueNS uint64 `json:"run_queue_ns"` // the last part of the interval, in the run queue
	PID        uint32 `json:"pid"`
	TID        uint32 `json:"tid"`
	Op         string `json:"op,omitempty"` // the operation in which it occurred
	Class      string `json:"class"`
	Waker      *Task  `json:"waker,omitempty"`
	Holder     uint32 `json:"holder_tid,omitempty"` // of the awaited lock
	Culprits   []Task `json:"culprits,omitempty"`   // threads that ran instead, most time first
}

// Task is a thread involved in an interval.
type Task struct {
	PID  uint32 `json:"pid"`
	TID  uint32 `json:"tid"`
	Comm string `json:"comm"`
	NS   uint64 `json:"ns,omitempty"` // running time
}

// Stacks are call sites.
type Stacks struct {
	About
	Without uint64 `json:"calls_without_stack"`
	Partial bool   `json:"partial"` // only slow, failed, first and waiting calls, because there are very many
	Total   int    `json:"total"`   // places
	Stacks  []Site `json:"stacks"`
}

// Site is a call site. Its figures are of calls with a stack: slow ones and few others, unless
// stacks of all calls were recorded. OpCalls and OpTotalNS are of all calls of the operation.
type Site struct {
	PID       uint32   `json:"pid"`
	Process   string   `json:"process"`
	Op        string   `json:"op"`
	Kernel    string   `json:"kernel,omitempty"` // that is launched
	Calls     uint64   `json:"calls"`
	MaxNS     uint64   `json:"max_ns"`
	TotalNS   uint64   `json:"total_ns"`
	OpCalls   uint64   `json:"op_calls"`    // exact, of whole seconds
	OpTotalNS uint64   `json:"op_total_ns"` // as above
	Frames    []string `json:"frames"`      // innermost first
}

// Processes are the processes of a recording.
type Processes struct {
	Node      string    `json:"node"`
	Processes []Process `json:"processes"`
}

// Process is a traced process, or one that was seen.
type Process struct {
	PID       uint32   `json:"pid"`
	Parent    uint32   `json:"parent_pid"`
	Name      string   `json:"name"`
	Command   string   `json:"command"`
	Traced    bool     `json:"traced"`
	Rank      int      `json:"rank"` // -1 if it has none
	LocalRank int      `json:"local_rank"`
	Framework string   `json:"framework,omitempty"` // PyTorch, llama.cpp, …; CUDA: none; absent: not recorded
	WorldSize int      `json:"world_size"`
	Threads   []Thread `json:"threads"`
}

// Thread is one whose name is known.
type Thread struct {
	TID      uint32 `json:"tid"`
	Name     string `json:"name"`
	Dispatch bool   `json:"dispatch"` // it has made traced calls
}

// Snapshots are readings of the machine and its GPUs.
type Snapshots struct {
	About
	Machine []System `json:"machine"`
	GPUs    []GPU    `json:"gpus"`
}

// System is a reading of the machine.
type System struct {
	AtNS           uint64  `json:"at_ns"`
	CPUPct         float64 `json:"cpu_pct"`
	StealPct       float64 `json:"steal_pct"`
	MemPct         float64 `json:"mem_pct"`
	MemAvailableMB uint64  `json:"mem_available_mb"`
	SwapMB         uint64  `json:"swap_mb"`
	Load           float64 `json:"load"`
}

// GPU is a reading of a GPU.
type GPU struct {
	AtNS     uint64 `json:"at_ns"`
	GPU      int    `json:"gpu"`
	TempC    int    `json:"temp_c"`
	ClockMHz int    `json:"clock_mhz"`
	MaxMHz   int    `json:"max_mhz"`
	UtilPct  int    `json:"util_pct"`
	Reasons  uint64 `json:"throttle_reasons"` // bits, as in NVML
	MemMB    uint64 `json:"mem_mb"`
	TotalMB  uint64 `json:"total_mb"`
}

// Recording is an overview of a recording without a diagnosis.
type Recording struct {
	Node     string            `json:"node"`
	DB       string            `json:"db"`
	Version  string            `json:"version"` // of the Ingero that answers
	Schema   int               `json:"schema"`
	FirstNS  uint64            `json:"first_ns"`
	LastNS   uint64            `json:"last_ns"`
	Calls    uint64            `json:"calls"` // exact
	Stored   uint64            `json:"stored_rows"`
	Sessions []Session         `json:"sessions"`
	Lost     map[string]uint64 `json:"lost"` // records that the tracer dropped, by kind; never null
	// Baselines are the names of recordings that it may be compared with.
	Baselines []string `json:"baselines"`
}

// Ledgers are how threads spent their time, those with most time in calls first.
type Ledgers struct {
	About
	Threads []ThreadLedger `json:"threads"`
}

// ThreadLedger is a thread that makes calls. The sums are exact, of whole seconds; calls and gaps
// that cross an end of the window count with the part in it.
type ThreadLedger struct {
	PID       uint32            `json:"pid"`
	TID       uint32            `json:"tid"`
	Process   string            `json:"process"`
	Thread    string            `json:"thread"`
	WallNS    uint64            `json:"wall_ns"` // from its first call to its last one's end
	Calls     uint64            `json:"calls"`
	CallsNS   uint64            `json:"calls_ns"`         // in them
	InCalls   map[string]uint64 `json:"in_calls_ns"`      // by class, on_cpu too
	BetweenNS map[string]uint64 `json:"between_calls_ns"` // by class
}

// Question is a statement of SQL.
type Question struct {
	SQL   string `json:"sql"`
	Limit int    `json:"limit,omitempty"` // maximum number of rows
}

// Rows are its answer.
type Rows struct {
	About                  // of the whole recording
	Columns   []string     `json:"columns"`
	Rows      [][]any      `json:"rows"`            // blobs in hexadecimal
	Truncated bool         `json:"truncated"`       // there are more
	Notes     []store.Note `json:"notes,omitempty"` // for sums over views that show only a part, or have time twice
}

// Failure is an answer with a status of 400 or more.
type Failure struct {
	Error string `json:"error"`
}
