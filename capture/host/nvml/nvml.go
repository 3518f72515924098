// Package nvml reads GPUs once a second through NVIDIA's management library, which
// comes with every driver: utilisation, memory, clocks and why they are not higher,
// temperature, power, ECC errors, Xid errors, and who has how much memory.
//
// The library needs glibc, which a static program has not. So it is loaded by a small
// helper that is linked dynamically (helper/helper.c, embedded here), runs only where
// the library is found, without privileges, and ends with this process. A machine
// without a GPU, driver or library gives no readings, which is normal.
package nvml

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Period is the time between two readings.
const Period = time.Second

// How long the helper may be silent before it counts as hanging in the driver: while it loads the
// library and wakes the GPUs, and once it reads.
const (
	startPatience = 30 * time.Second
	readPatience  = 10 * time.Second
)

// How long to wait before the helper is started again: at first, and at most.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Driver is what the library reports about itself.
type Driver struct {
	Version string // of the driver
	NVML    string // of the library
	GPUs    int
}

// Device is one GPU. Values that could not be read are empty.
type Device struct {
	GPU   int // NVML's index, in order of PCI bus ids; a process may number GPUs differently
	Name  string
	UUID  string
	BusID string // PCI address
	Lost  Status // the error if it cannot be opened
}

// Reading is the state of a GPU at one time.
type Reading struct {
	At        time.Time
	GPU       int
	Processes []ProcessMemory // processes on the GPU, if the field Processes could be read
	value     [numFields]uint64
	status    [numFields]Status
}

// Value is the value of a field; false if it could not be read.
func (r *Reading) Value(f Field) (uint64, bool) { return r.value[f], r.status[f] == 0 }

// Status says why a field could not be read, 0 if it was.
func (r *Reading) Status(f Field) Status { return r.status[f] }

// ProcessMemory is the memory of a GPU that a process has.
type ProcessMemory struct {
	PID   uint32
	Bytes uint64
	Known bool // whether the driver says how much: it does not, of what others do on an instance (MIG)
}

// Xid is an error that the driver reported of a GPU
// (https://docs.nvidia.com/deploy/xid-errors).
type Xid struct {
	At   time.Time
	GPU  int // -1: unknown
	Code uint32
}

// Failure is why there are no readings.
type Failure struct {
	Stage Stage
	Code  Status // NVML's error, 0 if it is none of NVML's
	Text  string
}

func (f *Failure) Error() string {
	if f.Code != 0 {
		return fmt.Sprintf("%s: %s (%s)", f.Stage, f.Text, f.Code)
	}
	return fmt.Sprintf("%s: %s", f.Stage, f.Text)
}

// Options say where to look for the library. The zero value searches the machine's folders.
type Options struct {
	Dirs   []string // searched before the machine's folders
	Only   bool     // search nowhere else
	Logger *slog.Logger

	// For tests; zero means the values above.
	Period, StartPatience, ReadPatience, Pause time.Duration
}

func (o *Options) defaults() {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Period, Period)
	set(&o.StartPatience, startPatience)
	set(&o.ReadPatience, readPatience)
	set(&o.Pause, firstPause)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// maxPending bounds what is kept for Take; the oldest are dropped first, and readings that were are counted.
const maxPending = 1024

// Taken is the data since the last Take.
type Taken struct {
	Readings []Reading
	Xids     []Xid
	Devices  []Device // at each start of a helper
	Missed   uint64   // missing readings, after the first one
}

// State is the state of the library and the helper.
type State struct {
	Library string // the file and the user that loads it; empty if there is none
	PID     int    // of the helper, 0 if none runs
	Driver  Driver
	Err     error         // why there are no readings; nil if there are, or if it is too early to know
	Rounds  uint64        // readings of all GPUs by the helper that runs
	CPU     time.Duration // that it used
	First   time.Duration // of CPU: up to the end of its first reading, with loading the library and waking the GPUs
	Used    time.Duration // CPU time of all helpers so far, also of those that ended
}

// PerReading is the mean CPU time of the readings after the first, of all GPUs; false if there were
// none.
func (s *State) PerReading() (time.Duration, bool) {
	if s.Rounds < 2 {
		return 0, false
	}
	return (s.CPU - s.First) / time.Duration(s.Rounds-1), true
}

// Reader keeps a helper running.
type Reader struct {
	opts   Options
	cancel context.CancelFunc
	done   chan struct{} // closed when the last helper ended
	found  chan struct{} // another library was found

	mu      sync.Mutex // guards what follows
	pending Taken
	state   State
	ended   time.Duration // CPU time of the helpers that ended
	// of the latest round, or up to which missed ones were counted, CLOCK_MONOTONIC ns; 0 before the first
	last    uint64
	unread  func() bool // whether the helper's pipe has unread data; nil without a helper
	further []string    // libraries that traced processes use, the latest last
}

// Start looks for the library and reads until Close. It returns at once. Without a library, or on
// failure, there are no readings, and State says why.
func Start(o Options) *Reader {
	o.defaults()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Reader{opts: o, cancel: cancel, done: make(chan struct{}), found: make(chan struct{}, 1)}
	go r.runHelpers(ctx)
	return r
}

// maxFurther bounds the number of libraries in use by others that are kept.
const maxFurther = 8

// Also adds a copy of the library that some process uses: it is tried if the machine has none. It must be a file of
// this machine, not one of a container: it is loaded outside.
func (r *Reader) Also(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.further, path) {
		return
	}
	r.further = append(r.further, path)
	r.further = r.further[max(0, len(r.further)-maxFurther):]
	select {
	case r.found <- struct{}{}:
	default: // it is known that there is one
	}
}

// runHelpers starts helpers, one after the other.
func (r *Reader) runHelpers(ctx context.Context) {
	defer close(r.done)
	// When the thread that started the helper ends, the kernel kills the helper
	// (PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	pause := r.opts.Pause
	for ctx.Err() == nil {
		began := time.Now()
		r.attempt(ctx)
		if time.Since(began) > lastPause {
			pause = r.opts.Pause
		}
		select {
		case <-ctx.Done():
		case <-r.found:
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// attempt tries the ways to load the library until one works, and reads while it does. Another way
// is tried only after a failure before the first GPU was found: a library that crashes, or hangs,
// gets no more rights.
func (r *Reader) attempt(ctx context.Context) {
	ways := r.ways()
	if len(ways) == 0 {
		r.failed(ErrNoLibrary)
	}
	var first error // later ones are of the same library with more rights, or of a worse one
	for _, w := range ways {
		err := r.readHelper(ctx, w)
		if ctx.Err() != nil {
			return
		}
		if first == nil {
			first = err
		}
		var f *Failure
		if !errors.As(err, &f) || f.Stage == StageRead {
			first = err
			break
		}
	}
	if first != nil {
		r.failed(first)
	}
}

// failed stores why there are no readings, and logs it when that changes.
func (r *Reader) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state.Err
	r.state.Err = err
	switch {
	case before != nil && before.Error() == err.Error():
	case r.last == 0:
		r.opts.Logger.Debug("no readings of GPUs", "err", err)
	default:
		r.opts.Logger.Warn("no readings of GPUs for now", "err", err)
	}
}

// State returns the current state.
func (r *Reader) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Take returns the data since the last call. It never waits for the helper.
func (r *Reader) Take() Taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread == nil || !r.unread() { // else the next data says when it was
		r.miss(monotonic())
	}
	t := r.pending
	r.pending = Taken{}
	return t
}

// patience is how long Close waits for the helper to end: one that hangs in the driver cannot be
// killed.
const patience = time.Second

// Close ends the helper. It may be called twice.
func (r *Reader) Close() {
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.opts.Logger.Warn("the process that reads GPUs does not end; it will when the driver lets it")
	}
}
