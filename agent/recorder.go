package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/elf"
	"github.com/ingero-io/ingero/capture/symbol/kallsyms"
	"github.com/ingero-io/ingero/capture/symbol/python"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// recorder resolves stacks, writes the recording and feeds the sinks, in a
// goroutine of its own, so that a slow disk does not delay the drain.
type recorder struct {
	writer  store.Writer // nil: nothing is recorded
	path    string
	sinks   []Sink
	log     *slog.Logger
	native  *elf.Resolver
	kernel  *kallsyms.Table
	kernels *kernels
	code    codeStacks
	ranks   *node.Meter
	seen    map[uint64]bool   // resolved stacks
	where   map[uint64]string // by stack of a call in flight: see Status
	spare   *spareItems
	work    chan *workItem
	sent    queueLag
	done    chan struct{}
	failed  chan error // a panic, at most one
	err     error      // the same, set before done is closed
	pause   pause
	lost    uint64 // rows that could not be written
	guarded bool   // there is a command, which must be waited for
	closing sync.Once
}

func newRecorder(o *Options, b probe.Backend, log *slog.Logger) (*recorder, error) {
	fs := proc.New(o.ProcRoot)
	r := &recorder{
		sinks: o.Sinks, log: log, guarded: len(o.Command) > 0, native: elf.New(fs),
		kernel: kallsyms.New(""), seen: map[uint64]bool{}, where: map[uint64]string{}, ranks: node.NewMeter(),
		spare: newSpareItems(time.Now()), work: make(chan *workItem, workItems),
		done: make(chan struct{}), failed: make(chan error, 1),
	}
	r.native.Refused = limit.NewLog(log).Refused
	r.kernels = newKernels(r.native)
	if o.Record != nil {
		w, err := o.Record.Open(session(o, b))
		if err != nil {
			return nil, err
		}
		r.writer, r.path = w, o.Record.Path
	}
	go r.loop()
	return r, nil
}

// session describes this run and machine.
func session(o *Options, b probe.Backend) store.Session {
	rec := o.Record
	s := store.Session{
		Started: uint64(time.Now().UnixNano()), Node: rec.Node, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Version: rec.Version, Flags: rec.Flags, Backend: string(b), PID: uint32(os.Getpid()),
		Nodes: proc.MemoryNodes(o.SysRoot), Boot: proc.Boot(""), Booted: bootTime()(),
	}
	if h, err := os.Hostname(); err == nil {
		s.Host = h
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		s.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		s.Memory = info.Totalram * uint64(info.Unit)
	}
	return s
}

// item returns an empty work item. It blocks while there is none.
func (r *recorder) item() *workItem { return r.spare.take() }

// ready returns an empty work item, nil if there is none.
func (r *recorder) ready() *workItem { return r.spare.takeReady() }

// busy reports whether all work items are in use.
func (r *recorder) busy() bool { return r.spare.used() }

func (r *recorder) reuse(u *workItem) { r.spare.put(u, time.Now()) }

func (r *recorder) send(u *workItem) {
	r.sent.send(time.Now())
	r.work <- u
}

func (r *recorder) loop() {
	defer close(r.done)
	for u := range r.work {
		if r.err == nil {
			r.handle(u)
		}
		r.sent.finished.Add(1)
		r.reuse(u)
	}
}

// handle takes a work item. If it panics, none is taken from then on, and the run ends: it has to wait for
// its command.
func (r *recorder) handle(u *workItem) {
	if r.guarded {
		defer func() {
			if p := recover(); p != nil {
				r.err = panicked(p)
				r.failed <- r.err
			}
		}()
	}
	r.fill(u)
	r.measure(u)
	r.locate(u)
	r.write(u, time.Now())
	for _, s := range r.sinks {
		s.Batch(&u.batch)
		if u.status != nil {
			u.status.DBBytes = r.size()
			s.Second(u.status)
		}
	}
}

// measure adds what was measured of ranks in a second.
func (r *recorder) measure(u *workItem) {
	r.ranks.Batch(&u.batch)
	if u.status != nil {
		u.batch.RankSteps = r.ranks.Second(uint64(u.status.At.UnixNano()), u.batch.RankSteps)
	}
}

// write stores a work item. While the recording cannot be written, it is tried again from time to time.
func (r *recorder) write(u *workItem, now time.Time) {
	if r.writer == nil {
		return
	}
	if r.pause.due(now) {
		err := r.writer.Write(&u.batch)
		if tries := r.pause.on(); err == nil && (u.flush || tries) {
			if err = r.writer.Flush(context.Background()); err == nil {
				r.resumed(now)
			}
		}
		if err != nil {
			r.paused(now, err)
		}
	} else {
		r.writer.Skip(&u.batch)
	}
	if n := r.writer.Lost(); n > r.lost { // the writer has recorded them: this is for the sinks
		u.batch.Losses = append(u.batch.Losses, event.Loss{Kind: event.LostStored, Count: n - r.lost})
		r.lost = n
	}
	if s := u.status; s != nil {
		s.Losses, s.Unwritten = r.allLost(s.Losses), r.pause.unwritten()
	}
}

// paused says that the recording cannot be written, once.
func (r *recorder) paused(now time.Time, err error) {
	why := err.Error()
	if u := new(store.Unwritten); errors.As(err, &u) {
		why = u.Why
	}
	if r.pause.failed(now, why) {
		r.log.Warn("the recording cannot be written: "+why+". Tracing goes on, and what happens meanwhile is counted but "+
			"not recorded; it is tried again until it can be written", "path", r.path, "err", err)
	}
}

// resumed says that the recording is written again.
func (r *recorder) resumed(now time.Time) {
	if u := r.pause.wrote(); u != nil {
		r.log.Warn("the recording is written again", "path", r.path, "after", now.Sub(u.Since).Round(time.Second),
			"rows_lost", r.writer.Lost())
	}
}

// allLost is a list of losses with the rows that were not written. After close it has those that close lost.
func (r *recorder) allLost(list []event.Loss) []event.Loss {
	list = slices.DeleteFunc(slices.Clone(list), func(l event.Loss) bool { return l.Kind == event.LostStored })
	if r.lost > 0 {
		list = append(list, event.Loss{Kind: event.LostStored, Count: r.lost})
	}
	return list
}

// fill converts records to a batch.
func (r *recorder) fill(u *workItem) {
	b, rec := &u.batch, &u.records
	b.Records = rec.Records
	r.know(rec)
	for i := range rec.Stacks {
		s := &rec.Stacks[i]
		if s.Code {
			r.code.keep(s.ID, python.Merge(r.native.Resolve(int(s.PID), s.Addrs), s.Python))
		} else if r.first(s.ID) {
			frames := python.Merge(r.native.Resolve(int(s.PID), s.Addrs), s.Python)
			b.Stacks = append(b.Stacks, event.Stack{ID: s.ID, PID: s.PID, Frames: frames, Cut: s.Cut})
		}
	}
	for i := range rec.OffCPU {
		k := rec.OffCPU[i].Kernel
		if len(k) == 0 {
			continue
		}
		if id := store.KernelStackID(k); r.first(id) {
			b.Stacks = append(b.Stacks, event.Stack{ID: id, Frames: r.kernel.Resolve(k)})
		}
	}
	r.code.name(r, b)
	for i := range b.InFlight {
		if k := b.InFlight[i].Kernel; len(k) > 0 {
			if id := store.KernelStackID(k); r.first(id) {
				b.Stacks = append(b.Stacks, event.Stack{ID: id, Frames: r.kernel.Resolve(k)})
			}
		}
	}
	b.Kernels = r.kernels.observe(rec, b.Ended, b.Kernels)
	if u.flush {
		if n := r.kernels.missed(); n > 0 {
			b.Losses = append(b.Losses, event.Loss{Kind: event.LostName, Count: n})
		}
	}
	r.forget(rec)
}

// know passes on the mappings of processes as they were when the stacks were drained: this
// goroutine may run late, and the processes may have ended.
func (r *recorder) know(rec *probe.Records) {
	for i := range rec.Code {
		switch n := &rec.Code[i]; {
		case len(n.Code) > 0:
			r.native.Know(n.PID, n.Code)
		case n.File != nil:
			r.native.Lend(n.Of, n.File)
		}
	}
	for i := range rec.Lives {
		if l := &rec.Lives[i]; l.PID == l.TID && l.Kind == event.LifeFork {
			r.native.Fork(int(l.Parent.PID), int(l.PID))
		}
	}
}

// forget drops processes whose last stacks are resolved.
func (r *recorder) forget(rec *probe.Records) {
	for i := range rec.Code {
		if n := &rec.Code[i]; len(n.Code) == 0 && n.File == nil {
			r.native.Forget(n.PID)
		}
	}
	r.native.Return()
}

// locate finds the places in the code of calls in flight. If a stack has changed, it comes with the
// same reading.
func (r *recorder) locate(u *workItem) {
	if !u.looked {
		return
	}
	if len(r.where) > maxWhere {
		clear(r.where)
	}
	for i := range u.batch.Stacks {
		s := &u.batch.Stacks[i]
		if f := event.Site(s.Frames); f != nil {
			r.where[s.ID] = report.ShortName(f.String(), report.NameWidth)
		}
	}
	for i := 0; u.status != nil && i < len(u.status.InFlight); i++ {
		u.status.Where = append(u.status.Where, r.where[u.status.InFlight[i].Stack])
	}
}

const maxWhere = 4096

// maxSeen bounds the memory for resolved stacks. When it is full, it is cleared; the store drops
// duplicates.
const maxSeen = 1 << 14

func (r *recorder) first(id uint64) bool {
	if r.seen[id] {
		return false
	}
	if len(r.seen) >= maxSeen {
		clear(r.seen)
	}
	r.seen[id] = true
	return true
}

// size is the size of the recording with its write-ahead log, in bytes.
func (r *recorder) size() int64 {
	var n int64
	for _, p := range []string{r.path, r.path + "-wal"} {
		if i, err := os.Stat(p); err == nil && r.path != "" {
			n += i.Size()
		}
	}
	return n
}

// close ends the goroutine and closes the recording. It may be called twice.
func (r *recorder) close() error {
	var err error
	r.closing.Do(func() {
		close(r.work)
		<-r.done
		err = r.err
		r.native.Close()
		for _, s := range r.sinks {
			if c, ok := s.(io.Closer); ok {
				err = errors.Join(err, c.Close())
			}
		}
		if r.writer != nil {
			if e := r.writer.Close(); e != nil {
				err = errors.Join(err, fmt.Errorf("close %s: %w", r.path, e))
			}
			r.lost = r.writer.Lost()
		}
	})
	return err
}
