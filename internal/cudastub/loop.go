package cudastub

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Truth is what a training loop measured of itself. Counts and ids are exact; injected
// time is measured with the dispatching thread's own clock.
type Truth struct {
	PID     int    `json:"pid"`
	TID     int    `json:"tid"`      // the first dispatching thread, which the faults affect
	Comm    string `json:"comm"`     // its name
	MainNS  int64  `json:"main_ns"`  // when the program began, before what it prepares, in ns since 1970
	BeganNS int64  `json:"began_ns"` // when its clock started, in ns since 1970
	Steps   int64  `json:"steps"`
	// PhaseSteps is how many of these were steps of a phase (--phase), which may be other calls.
	PhaseSteps int64 `json:"phase_steps"`

	Seconds float64          `json:"seconds"`
	StepsPS float64          `json:"steps_per_s"`
	Calls   map[string]int64 `json:"calls"` // by function, from the first call of the process to its last

	Made map[string]Made `json:"made,omitempty"` // of these, those that the loop makes itself

	Injection            // the fault
	Also      *Injection `json:"also"` // the second fault, if there is one

	IdleNS      int64  `json:"idle_ns"`      // idle-server: time without a request
	LeakedBytes int64  `json:"leaked_bytes"` // leak
	MajorFaults int64  `json:"major_faults"` // of the first dispatching thread: page faults that read the disk
	ClientPID   int    `json:"client_pid"`   // idle-server
	Cgroup      string `json:"cgroup"`       // throttle, mem-pressure: the group, removed by now

	InvoluntarySwitches int64 `json:"involuntary_switches"` // of the first dispatching thread
	VoluntarySwitches   int64 `json:"voluntary_switches"`
	CPUNS               int64 `json:"cpu_ns"`      // its CPU time
	RunnableNS          int64 `json:"runnable_ns"` // its time without a CPU, though it was runnable

	Threads []ThreadTruth `json:"threads,omitempty"` // those that dispatch, the first one first

	// Dispatchers are further threads of a real program that dispatch, if the first is not alone.
	Dispatchers []int `json:"dispatchers,omitempty"`
}

// ThreadTruth is what a dispatching thread measured of itself.
type ThreadTruth struct {
	TID        int   `json:"tid"`
	Steps      int64 `json:"steps"`
	CPUNS      int64 `json:"cpu_ns"`
	RunnableNS int64 `json:"runnable_ns"` // without a CPU, though it was runnable
}

// inner are the functions that the loop never calls itself: only the runtime's stand-ins call them.
var inner = []string{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}

// Outermost is how many calls the loop made itself.
func (t *Truth) Outermost() (n int64) {
	for name, calls := range t.Calls {
		if !slices.Contains(inner, name) {
			n += calls
		}
	}
	return n
}

// Made are the calls of a function, as the program that made them counted and timed them.
type Made struct {
	Calls  int64  `json:"calls"`
	Errors int64  `json:"errors"` // calls that returned an error
	Bytes  uint64 `json:"bytes"`  // that were passed to them

	// Inside is measured by the stand-in within the function, 0 for a call without a
	// behaviour; Around by the caller. A tracer's duration of each call must be between
	// the two.
	Inside Times `json:"inside"`
	Around Times `json:"around"`
}

// Times are how long calls took, in ns.
type Times struct {
	TotalNS uint64      `json:"total_ns"`
	MaxNS   uint64      `json:"max_ns"`
	Buckets [][2]uint64 `json:"buckets"` // index and count: 32 buckets for each power of two (victim/made.c)
}

// Bounds are the bounds of quantile q, in ns: those of the bucket that holds it. Both are 0
// without calls.
func (t *Times) Bounds(q float64) (low, high uint64) {
	var n, seen uint64
	for _, b := range t.Buckets {
		n += b[1]
	}
	for _, b := range t.Buckets {
		if seen += b[1]; float64(seen) >= q*float64(n) {
			return bucketBegin(b[0]), min(bucketBegin(b[0]+1), t.MaxNS+1) - 1
		}
	}
	return 0, 0
}

func bucketBegin(i uint64) uint64 {
	const bits = 5
	if i>>bits == 0 {
		return i
	}
	octave := i>>bits - 1
	return (i - octave<<bits) << octave
}

// Injection is what one fault did, and the processes and threads that did it. The id of
// one that was not involved is 0.
type Injection struct {
	Fault string `json:"fault"`
	// FaultCount is how often it struck: 1 for a hog, the number of steps where
	// every step is hit, and for throttle how often the kernel throttled.
	FaultCount int64 `json:"fault_count"`
	// FirstNS is when it first struck, in ns since 1970: the end of the first lost time or, for hogs and
	// quotas, when faults began. 0: it never struck, or a real program does not report it.
	FirstNS int64 `json:"first_ns,omitempty"`
	// InjectedNS is the time above the healthy duration of the section it hits,
	// for hogs and quotas of the whole step; 0 for leak, which costs no time.
	InjectedNS int64 `json:"injected_ns"`

	CulpritPID  int    `json:"culprit_pid"` // who is to blame
	CulpritTID  int    `json:"culprit_tid"`
	CulpritComm string `json:"culprit_comm"`
	// CulpritPIDs are all processes that are to blame, if they are several; CulpritPID is one of them.
	CulpritPIDs []int `json:"culprit_pids,omitempty"`

	HolderPID  int    `json:"holder_pid"` // lock faults: the thread that holds the lock
	HolderTID  int    `json:"holder_tid"`
	HolderComm string `json:"holder_comm"`
	PeerPID    int    `json:"peer_pid"` // peer and loader faults: the process waited for
	PeerTID    int    `json:"peer_tid"`
	PeerComm   string `json:"peer_comm"`
}

// LoopRun is a running "victim loop", or another program that measures itself.
type LoopRun struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr bytes.Buffer
	begin          func() error
	parse          func(printed []byte, t *Truth) error
}

// StartLoop starts a training loop with the options of "victim loop" (victim/options.c
// lists them). It does nothing until Begin, so that a tracer can attach first.
func (f Files) StartLoop(ctx context.Context, o Options, args ...string) (*LoopRun, error) {
	args = append([]string{"loop", "--wait-stdin"}, args...)
	return StartTruthful(f.command(ctx, o, f.Victim, args...), nil)
}

// StartTruthful starts a program that waits for the end of its standard input before its
// first CUDA call, prints its own measurements on standard output, and ends early on SIGTERM.
// parse reads what it printed; nil: a [Truth] as JSON.
func StartTruthful(cmd *exec.Cmd, parse func(printed []byte, t *Truth) error) (*LoopRun, error) {
	if parse == nil {
		parse = func(printed []byte, t *Truth) error { return json.Unmarshal(printed, t) }
	}
	r := &LoopRun{cmd: cmd, parse: parse}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	r.begin = sync.OnceValue(r.stdin.Close)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, noLoader(cmd.Path, err))
	}
	// A tracer in this process runs at low priority, and children inherit that: a hog
	// started beside a traced program would get no CPU time. A user who runs this at a low priority may not raise it.
	err = unix.SchedSetAttr(r.PID(), &unix.SchedAttr{Policy: unix.SCHED_NORMAL}, 0)
	if err != nil && !errors.Is(err, unix.EPERM) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return nil, fmt.Errorf("give %s the ordinary scheduling policy: %w", cmd.Path, err)
	}
	return r, nil
}

// noLoader says so if the loader that a program is linked to is not there. The kernel has one error for that and for a
// program that is not there, and looks for it only where programs may be started.
func noLoader(program string, err error) error {
	f, e := elf.Open(program)
	if e != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader, e := io.ReadAll(p.Open())
		if e != nil {
			return err
		}
		if _, e := os.Stat(strings.TrimRight(string(loader), "\x00")); errors.Is(e, fs.ErrNotExist) {
			return fmt.Errorf("%w: it is linked to glibc, which is not there", ErrUnsupported)
		}
	}
	return err
}

// PID is the loop's process id.
func (r *LoopRun) PID() int { return r.cmd.Process.Pid }

// Begin lets the loop begin. It may be called twice.
func (r *LoopRun) Begin() error { return r.begin() }

// Stop ends the loop early; Wait still returns its truth.
func (r *LoopRun) Stop() error { return r.cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits for the end of the loop and returns what it printed. A loop ended by
// its context returns both the truth and the context's error.
func (r *LoopRun) Wait() (Truth, error) {
	var t Truth
	if err := r.Begin(); err != nil {
		return t, fmt.Errorf("begin %s: %w", r.cmd.Path, err)
	}
	err := r.cmd.Wait()
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return t, fmt.Errorf("run loop: %w", exitError(err, &r.stderr))
	}
	if jsonErr := r.parse(r.stdout.Bytes(), &t); jsonErr != nil {
		return t, errors.Join(err, fmt.Errorf("read the loop's truth: %w%s", jsonErr, said(&r.stderr)))
	}
	return t, err
}

// Loop runs a training loop to its end.
func (f Files) Loop(ctx context.Context, args ...string) (Truth, error) {
	r, err := f.StartLoop(ctx, Options{}, args...)
	if err != nil {
		return Truth{}, err
	}
	return r.Wait()
}
