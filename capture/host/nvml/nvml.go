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

// How long the helper may be silent before it counts as stuck in the driver: while it
// loads the library and wakes the GPUs, and once it reads.
const (
	startPatience = 30 * time.Second
	readPatience  = 10 * time.Second
)

// How long to wait before the helper is started again: at first, and at most.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Driver is what the library says of itself.
type Driver struct {
	Version string // of the driver
	NVML    string // of the library
	GPUs    int
}

// Device is one GPU. What could not be read is empty.
type Device struct {
	GPU   int // NVML's index: PCI bus order, which a process's own numbers may differ from
	Name  string
	UUID  string
	BusID string // PCI address
	Lost  Status // the error if it cannot be opened
}

// Reading is the state of a GPU at a moment.
type Reading struct {
	At        time.Time
	GPU       int
	Processes []ProcessMemory // who uses it, if the field Processes could be read
	value     [numFields]uint64
	status    [numFields]Status
}

// Value is what was read of a field; it is false if that could not be read.
func (r *Reading) Value(f Field) (uint64, bool) { return r.value[f], r.status[f] == 0 }

// Status says why a field could not be read, 0 if it was.
func (r *Reading) Status(f Field) Status { return r.status[f] }

// ProcessMemory is what a process has of a GPU's memory.
type ProcessMemory struct {
	PID   uint32
	Bytes uint64
	Known bool // whether the driver says how much: it does not, of what others do on an instance (MIG)
}

// Xid is an error that the driver reported of a GPU
// (https://docs.nvidia.com/deploy/xid-errors).
type Xid struct {
	At   time.Time
	GPU  int // -1: of which, is not known
	Code uint32
}

// Failure is why there are no readings.
type Failure struct {
	Stage Stage
	Code  Status // NVML's error, 0 if it has no part in this
	Text  string
}

func (f *Failure) Error() string {
	if f.Code != 0 {
		return fmt.Sprintf("%s: %s (%s)", f.Stage, f.Text, f.Code)
	}
	return fmt.Sprintf("%s: %s", f.Stage, f.Text)
}

// Options say where the library is looked for. The zero value is the machine's.
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

// maxPending bounds the readings kept for Take; the oldest go first, and are counted.
// Errors are few and all kept.
const maxPending = 1024

// Taken is what came since the last Take.
type Taken struct {
	Readings []Reading
	Xids     []Xid
	Devices  []Device // whenever a helper was started
	Missed   uint64   // readings that did not come, after there had been some
}

// State is what is known of the library and the helper.
type State struct {
	Library string // the file and as whom it is loaded; empty if there is none
	PID     int    // of the helper, 0 if none runs
	Driver  Driver
	Err     error         // why there are no readings: nil if there are, or if it is too early to tell
	Rounds  uint64        // readings of all GPUs by the helper that runs
	CPU     time.Duration // that it used
}

// Reader keeps a helper running.
type Reader struct {
	opts   Options
	cancel context.CancelFunc
	done   chan struct{} // closed when the last helper ended
	found  chan struct{} // there is a further library

	mu      sync.Mutex // guards what follows
	pending Taken
	state   State
	// of the latest round, or up to which missed ones were counted, CLOCK_MONOTONIC ns; 0 before the first
	last    uint64
	unread  func() bool // whether the helper wrote what was not heard yet; nil without one
	further []string    // libraries that others use, the latest last
}

// Start looks for the library and reads until Close. It returns at once; without a
// library, or where it fails, there are no readings, and State says why.
func Start(o Options) *Reader {
	o.defaults()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Reader{opts: o, cancel: cancel, done: make(chan struct{}), found: make(chan struct{}, 1)}
	go r.run(ctx)
	return r
}

// maxFurther bounds how many libraries that others use are remembered.
const maxFurther = 8

// Also names a copy of the library that some process uses, such as the one in a
// container: if the machine has none, it is tried. The path is opened as it is.
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

// run starts helpers, one after the other.
func (r *Reader) run(ctx context.Context) {
	defer close(r.done)
	// The kernel takes the end of the thread that started the helper for the end of
	// this process, at which the helper is killed.
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

// attempt tries the ways to load the library until one works, and reads while it does.
// Only what fails before there is a GPU is tried in another way: what crashes, or
// hangs, is not given more rights.
func (r *Reader) attempt(ctx context.Context) {
	ways := r.ways()
	if len(ways) == 0 {
		r.failed(ErrNoLibrary)
	}
	var first error // the others are the same library with more rights, or a worse one
	for _, w := range ways {
		err := r.read(ctx, w)
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

// failed remembers why there are no readings, and says so when that changes.
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

// State is what is known at the moment.
func (r *Reader) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Take returns what came since the last call. It never waits for the helper.
func (r *Reader) Take() Taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread == nil || !r.unread() { // else its word says when it was
		r.miss(monotonic())
	}
	t := r.pending
	r.pending = Taken{}
	return t
}

// patience is how long Close waits for the helper to end: one that is stuck in the
// driver cannot be killed.
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
