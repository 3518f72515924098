// Package probe times library calls and accounts for threads with eBPF. It
// loads the programs, attaches them to libraries, drains the ring buffers and
// counts losses. It decides nothing about which processes are of interest (the
// agent does) and keeps nothing.
package probe

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sync/errgroup"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe/gpukernel"
	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
	"github.com/ingero-io/ingero/event"
)

// StackPolicy says which calls get a user stack.
type StackPolicy string

// The policies.
const (
	StackSlow StackPolicy = "slow" // calls past their operation's limit, and 1 in 4096
	StackAll  StackPolicy = "all"
	StackOff  StackPolicy = "off"
)

// Options configure a Tracer. The zero value is the default.
type Options struct {
	Backend   Backend       // empty: the best that works
	RingBytes int           // of the event ring, at least; 0: 16 MiB
	OffMin    time.Duration // shorter off-CPU intervals only count in the ledger; 0: 100 us
	Stack     StackPolicy   // empty: slow
	Proc      proc.FS       // where stacks find what processes have mapped; zero: /proc
	NoLedger  bool          // time calls only, without the scheduler programs
	Empty     bool          // attach programs that do nothing: the floor of the cost
	Logger    *slog.Logger  // nil: silent
}

const (
	defaultRing   = 16 << 20
	defaultOffMin = 100 * time.Microsecond
	stackSample   = 4096 - 1
	// stackQuota is how many stacks a CPU takes in 1.07 s. One costs the traced
	// thread 1 to 5 us, 70 ns more for each KB above 32 KB, and the tracer some 10 us:
	// docs/stacks.md.
	stackQuota = 1000
	// pageQuota is how many pages of 4 KB are copied meanwhile of stacks larger than
	// 32 KB: 64 MB, or 16 pages for each stack. They cost some 5 ms.
	pageQuota = 16384
)

// Tracer is a loaded set of programs. Drain, SetLimit and Losses are for one
// goroutine; Attach and Adopt may be called from another.
type Tracer struct {
	opts     Options
	log      *slog.Logger
	variant  *variant
	types    *btf.Cache // the kernel's, while programs are loaded: reading them takes long
	sched    *ebpf.Collection
	calls    *ebpf.Collection
	probes   []loaded             // those of kernelProbes that could be loaded
	shared   map[string]*ebpf.Map // those of sched that other programs use
	hooks    closers              // of sched
	events   *ring
	lives    *ring
	decode   *decoder
	python   interpreters
	inFlight *inFlightReader // nil until InFlight is called

	mu     sync.Mutex // guards what follows, and calls and probes where files are attached to
	closed bool
	links  map[*Attachment]struct{}
}

// Attachment is a library file that is being timed, in one process or in all.
type Attachment struct {
	Library *Library
	Path    string
	PID     int // 0: every process
	Found   *Found
	close   closers
	inner   map[event.Role]*innerLinks
}

// Open loads the programs and attaches the scheduler's. Nothing is timed before
// Attach.
func Open(opts Options) (*Tracer, error) {
	if opts.RingBytes == 0 {
		opts.RingBytes = defaultRing
	}
	opts.RingBytes = ringBytes(opts.RingBytes, os.Getpagesize())
	if opts.OffMin == 0 {
		opts.OffMin = defaultOffMin
	}
	if opts.Stack == "" {
		opts.Stack = StackSlow
	}
	if opts.Proc == (proc.FS{}) {
		opts.Proc = proc.New("")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	toUnix, err := monotonicToUnix()
	if err != nil {
		return nil, err
	}
	unwinder := unwind.New(opts.Proc)
	unwinder.Refused = limit.NewLog(opts.Logger).Refused
	t := &Tracer{
		opts: opts, log: opts.Logger, decode: newDecoder(toUnix, unwinder, opts.Proc),
		links: map[*Attachment]struct{}{},
	}
	if err := t.load(); err != nil {
		_ = t.Close() // the error to tell is why loading failed
		return nil, explainAge(err, kernelRelease())
	}
	return t, nil
}

// Backend is the way of attaching that was chosen.
func (t *Tracer) Backend() Backend { return t.variant.backend }

// Attach times the library's functions in the file at path, in process pid or,
// if that is 0, in every process.
func (t *Tracer) Attach(lib *Library, path string, pid int) (*Attachment, error) {
	file, err := limit.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read library: %w", err)
	}
	defer file.Close()
	return t.AttachFile(lib, file, pid)
}

// AttachFile is Attach for an open file, whatever has its name by now. The file may be closed afterwards.
func (t *Tracer) AttachFile(lib *Library, file *os.File, pid int) (*Attachment, error) {
	t.mu.Lock()
	calls, names, closed := t.calls, t.probe(gpukernel.Probe), t.closed
	t.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	path := file.Name()
	found, err := lib.find(file)
	if err != nil {
		return nil, err
	}
	targets, leftOut := found.For(t.variant.backend)
	if len(targets) == 0 {
		return nil, fmt.Errorf("%s has none of the %s functions", path, lib.Name)
	}
	attach := t.variant.attach
	if t.opts.Empty {
		attach = t.variant.empty
	}
	rest, inner := t.split(targets)
	c, err := attach(calls, file, rest, pid)
	if err != nil {
		return nil, explain(err)
	}
	in, err := t.attachInner(calls, file, inner, pid)
	if err != nil {
		_ = c.Close() // the error to tell is why attaching failed
		return nil, explain(err)
	}
	learnt, err := t.attachNames(names, lib, file, pid)
	if err != nil {
		t.log.Info("names of kernels are not learnt", "file", path, "err", err)
	}
	a := &Attachment{Library: lib, Path: path, PID: pid, Found: found, close: append(c, learnt...), inner: in}
	t.mu.Lock()
	closed = t.closed
	t.links[a] = struct{}{}
	t.mu.Unlock()
	if closed { // meanwhile: nobody would end it
		return nil, errors.Join(errClosed, t.Detach(a))
	}
	t.log.Debug("attached", "probe", lib.Name, "file", path, "pid", pid, "functions", len(targets),
		"slow", len(found.Slow()), "left_out", len(leftOut))
	return a, nil
}

var errClosed = errors.New("the tracer is closed")

// Detach ends an attachment, if it has not ended yet.
func (t *Tracer) Detach(a *Attachment) error {
	t.mu.Lock()
	_, open := t.links[a]
	delete(t.links, a)
	t.mu.Unlock()
	if !open {
		return nil
	}
	return errors.Join(endInner(a.inner), a.close.Close())
}

// Adopt begins to account for all threads the processes have now. Threads they
// make later are accounted for from birth.
func (t *Tracer) Adopt(pids ...int) error {
	if len(pids) == 0 || t.opts.NoLedger || t.opts.Empty {
		return nil
	}
	for some := range slices.Chunk(pids, int(t.sched.Maps["wanted"].MaxEntries())) {
		if err := t.adopt(some); err != nil {
			return err
		}
	}
	return nil
}

// adopt is Adopt for no more processes than have room in the map.
func (t *Tracer) adopt(pids []int) error {
	wanted := t.sched.Maps["wanted"]
	defer func() {
		for _, pid := range pids {
			_ = wanted.Delete(uint32(pid)) // fails only if it is not there
		}
	}()
	for _, pid := range pids {
		if err := wanted.Put(uint32(pid), uint8(1)); err != nil {
			return fmt.Errorf("mark process %d: %w", pid, err)
		}
	}
	return kernel.Iterate(t.sched.Programs["adopt"])
}

// Drain appends up to limit event records, and all records of births, deaths and
// names, to r. It returns how many event records it read.
func (t *Tracer) Drain(r *Records, limit int) int {
	read := func(b []byte) { t.decode.record(b, r) }
	t.DrainLives(r)
	for i := range t.probes { // before the calls: a kernel has its name when it is launched
		if p := &t.probes[i]; p.ring != nil {
			p.ring.drain(1<<30, read)
		}
	}
	n := t.events.drain(limit, read)
	if n < limit {
		t.decode.forget()
	}
	r.Code = t.decode.unwind.News(r.Code)
	t.sendAgain()
	return n
}

// Refresh reads what a process that has mapped something has mapped now, so that its stacks can be
// unwound even if they are drained when it has ended.
func (t *Tracer) Refresh(pid int) { t.decode.unwind.Refresh(pid) }

// Unmapped lets go of files that a process has unmapped.
func (t *Tracer) Unmapped(pid int) { t.decode.unwind.Unmapped(pid) }

// Recheck lets go of the files of processes that have ended without a record of it. Call it once a second.
func (t *Tracer) Recheck() { t.decode.unwind.Recheck() }

// DrainLives appends to r only process starts, exits and programs executed. They belong
// before what Drain reads next.
func (t *Tracer) DrainLives(r *Records) {
	t.lives.drain(1<<30, func(b []byte) { t.decode.record(b, r) })
}

// Fill is how full the event ring is, 0 to 1.
func (t *Tracer) Fill() float64 { return t.events.fill() }

// LivesFD is readable when a process was born or executed a program; for epoll.
func (t *Tracer) LivesFD() int { return t.sched.Maps["lives"].FD() }

// SetLimit says from which duration calls of op get a stack, and from which
// length device waits inside op are recorded one by one. Zero means never and
// always.
func (t *Tracer) SetLimit(op event.Op, stack, off time.Duration) error {
	if t.opts.Stack != StackSlow {
		stack = 0
	}
	v := struct{ Stack, Off uint64 }{uint64(stack), uint64(off)}
	return t.sched.Maps["limits"].Put(uint32(op.Slot()), v)
}

// Losses reads the kernel's loss counters: totals since Open.
func (t *Tracer) Losses() (n [event.NumLossKinds]uint64, err error) {
	var perCPU []uint64
	for k := range min(int(event.NumLossKinds), int(bpf.WireLossNLOSS)) {
		if err := t.sched.Maps["losses"].Lookup(uint32(k), &perCPU); err != nil {
			return n, fmt.Errorf("read loss counters: %w", err)
		}
		for _, v := range perCPU {
			n[k] += v
		}
	}
	n[event.LostStack] += t.decode.python.missed
	for i := range t.probes {
		if p := &t.probes[i]; len(p.Counted) > 0 {
			n[p.Lost] += p.Missed(p.Counted...)
		}
	}
	return n, nil
}

// Followed is how many threads outside the traced processes are accounted for
// because they woke a traced one.
func (t *Tracer) Followed() (uint32, error) {
	var n uint32
	err := t.sched.Variables["followed"].Get(&n)
	return n, err
}

// DetachAll ends every attachment, so that what Drain returns next is the end.
func (t *Tracer) DetachAll() error {
	t.mu.Lock()
	links := t.links
	t.links = map[*Attachment]struct{}{}
	t.mu.Unlock()
	errs := []error{endAll(links)}
	for i := range t.probes {
		errs = append(errs, t.probes[i].Detach())
	}
	errs = append(errs, t.hooks.Close())
	t.hooks = nil
	return errors.Join(errs...)
}

// atATime is how many attachments are ended at a time: each waits until no CPU runs the program any more, some 50 ms,
// and those that wait at the same time wait for the same.
const atATime = 64

// endAll ends attachments.
func endAll(links map[*Attachment]struct{}) error {
	var all errgroup.Group
	all.SetLimit(atATime)
	for a := range links {
		all.Go(func() error { return errors.Join(endInner(a.inner), a.close.Close()) })
	}
	return all.Wait()
}

// Close detaches and unloads everything. It may be called twice.
func (t *Tracer) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	err := t.DetachAll()
	for i := range t.probes {
		if p := &t.probes[i]; p.ring != nil {
			p.ring.close()
		}
		err = errors.Join(err, t.probes[i].Close())
	}
	t.mu.Lock()
	t.probes, t.inFlight = nil, nil
	t.mu.Unlock()
	for _, r := range []*ring{t.events, t.lives} {
		if r != nil {
			r.close()
		}
	}
	t.events, t.lives = nil, nil
	t.decode.unwind.Close()
	for _, c := range []*ebpf.Collection{t.calls, t.sched} {
		if c != nil {
			c.Close()
		}
	}
	t.mu.Lock()
	t.calls, t.sched = nil, nil
	t.mu.Unlock()
	return err
}
