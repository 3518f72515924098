// Package agent is the running tracer: it decides which processes are traced, attaches the probes
// as libraries appear, drains them, writes the recording and reports to its sinks. It does not
// print or exit; that is for the command line.
package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/label/socket"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Options configure a run. The zero value traces every process that uses CUDA
// until the context ends, and records nothing.
type Options struct {
	PIDs     []int     // only these processes and their descendants
	UID      int       // only processes of this user, if not AnyUser
	Command  []string  // start this program and trace it from its first instruction
	Stdin    io.Reader // of Command, as are the next two; nil: this process's own
	Stdout   io.Writer
	Stderr   io.Writer
	Duration time.Duration // 0: until the context ends, or Command exits. It does not end Command
	Record   *Recording    // nil: keep nothing
	Backend  probe.Backend
	Stack    probe.StackPolicy
	// Footprint says whose system calls are counted.
	Footprint FootprintPolicy
	// Pages counts page allocations of each process of the machine. Each allocation
	// takes about 40 ns longer.
	Pages bool
	// InnerCalls keeps the probes on launches, waits and copies of the driver also where all
	// these calls are within calls of the runtime. Each costs 0.6 us more.
	InnerCalls bool
	RingMB     int // 0: 16
	// RankEvents appends what was said of ranks since the last call; nil: nothing is said of any. It is
	// called by one goroutine.
	RankEvents func(list []store.RankEvent) []store.RankEvent
	// Labels is where programs send labels; nil: nowhere. The run closes it.
	Labels   *socket.Server
	Sinks    []Sink
	Logger   *slog.Logger
	ProcRoot string   // empty: /proc
	SysRoot  string   // empty: /sys; for which memory nodes there are, and where GPUs are attached
	NVML     []string // folders searched first for NVIDIA's management library
	// Started is called once all libraries that exist are attached to. With Command, it is
	// called just before its first instruction.
	Started func(Start)
	// Leave is closed when a Command that was asked to exit, because the context has ended, is to be left
	// alone. Until then the run goes on until Command has exited.
	Leave <-chan struct{}
	// Busy are functions that report whether a client request is pending. With none pending,
	// the agent runs at idle priority. They are called ten times a second or more, and must not
	// block.
	Busy []func() bool
}

// busy reports whether a client request is pending.
func (o *Options) busy() bool {
	return slices.ContainsFunc(o.Busy, func(f func() bool) bool { return f() })
}

// ErrNoProcess says that a process of Options.PIDs does not exist.
var ErrNoProcess = errors.New("no such process")

// AnyUser is Options.UID for "every user's processes".
const AnyUser = -1

// Recording says where events are kept.
type Recording struct {
	Open func(store.Session) (store.Writer, error)
	Path string
	Node string
	// Version and Flags describe the run in the file.
	Version, Flags string
}

// Start describes the beginning of a run.
type Start struct {
	Backend   probe.Backend
	Processes []Traced
	Libraries []string // files attached to
	Took      time.Duration
	Footprint []Traced // processes whose footprint is taken
}

// Traced is a process that is being traced.
type Traced struct {
	PID  int
	Comm string
}

// Sink receives what is recorded. Its methods are called from one goroutine and must return
// quickly; their arguments are reused afterwards. A sink that is an io.Closer is closed before the
// recording.
type Sink interface {
	Batch(b *store.Batch)
	Second(s *Status)
}

// Status is the last second of a run.
type Status struct {
	At        time.Time
	Elapsed   time.Duration
	Calls     uint64 // since the start
	Syscalls  uint64 // system calls counted since the start, of processes whose footprint is taken
	PerSecond float64
	Ops       []OpStatus       // busiest first
	Unusual   bool             // a call that returned in the last second took far longer than usual
	InFlight  []event.InFlight // calls that had not returned after a second, oldest first
	Where     []string         // for each of InFlight: the place in the program's own code, empty if unknown
	Processes []Traced
	Losses    []event.Loss  // since the start, non-zero only
	Fill      float64       // of the event ring, 0 to 1
	CPU       float64       // of one core, used by this process and its reader of GPUs in the last second
	GPUReader time.Duration // CPU time of the process that reads GPUs, since the start
	RSS       uint64        // bytes
	DBBytes   int64
	Unwritten *Unwritten // nil while the recording is written
}

// Whereabouts is Where of call i in flight, empty if unknown.
func (s *Status) Whereabouts(i int) string {
	if i < len(s.Where) {
		return s.Where[i]
	}
	return ""
}

// OpStatus is one operation of one process over the whole run.
type OpStatus struct {
	PID       uint32
	Comm      string
	Op        event.Op
	Calls     uint64
	PerSecond float64
	Errors    uint64
	P50, P99  time.Duration
	Max       time.Duration
}

// Summary is what a run did.
type Summary struct {
	Elapsed    time.Duration
	Calls      uint64
	Processes  []Traced
	Libraries  []string
	Losses     []event.Loss
	CPU        time.Duration // used by this process and its reader of GPUs
	GPUReader  time.Duration // of CPU: by the process that reads GPUs
	MaxRSS     uint64        // bytes
	Path       string
	DBBytes    int64
	AllExited  bool              // the run ended because every process of Options.PIDs exited
	FirstEvent time.Duration     // from the call of Run to the first drained call; 0 without one
	Began      bool              // Command was started; nothing ends it but itself and the user's wish
	ExitCode   int               // of Command, if it has exited
	Command    *Command          // Command if it still runs; the caller has to wait for it
	Footprint  *report.Footprint // nil if none was taken
}

// Run traces until ctx ends, Duration has passed or Command exits. The end of ctx is not an error. It
// asks Command to exit, and then the run goes on until it has. Nothing else ends Command: if it still runs
// when Run returns, also with an error, it is in the summary.
func Run(ctx context.Context, o Options) (Summary, error) {
	r, err := newRun(o)
	if err != nil {
		return Summary{}, err
	}
	s, err := r.protect(func() (Summary, error) { return r.runLoop(ctx) })
	_, closed := r.protect(func() (Summary, error) {
		r.close()
		return Summary{}, nil
	})
	s.Began = r.command != nil && !r.command.held
	s.Command, s.ExitCode = r.rest()
	return s, errors.Join(err, closed)
}
