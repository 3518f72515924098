package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/collective"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/nvsmi"
	"github.com/ingero-io/ingero/host/owner"
	"github.com/ingero-io/ingero/host/proc"
	"github.com/ingero-io/ingero/memory"
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/probe/all"
	"github.com/ingero-io/ingero/store"
)

// The drain period adapts to how full the ring is: a tenth of a second costs
// nothing, and a full ring loses calls.
const (
	slowDrain = 100 * time.Millisecond
	midDrain  = 20 * time.Millisecond
	fastDrain = 5 * time.Millisecond
	// chunk is how many records are handed on at a time; it bounds memory.
	chunk = 16384
)

// run is one run of the tracer. Its loop owns everything but the recorder.
type run struct {
	opts     Options
	log      *slog.Logger
	began    time.Time
	tracer   *probe.Tracer
	watcher  *probe.MapWatcher
	missed   bool // a mapping was not told of: processes have to be looked for
	blind    bool // the watcher may not watch: processes are looked for by and by
	targets  *targets
	pythons  *pythons
	command  *command
	people   *people
	hostIO   *hostIO
	meter    *meter
	memory   *memory.Tracker
	ranks    *collective.Tracker
	flights  *flights
	prints   *prints
	recorder *recorder
	gpus     *nvsmi.Reader
	guest    *guest
	losses   [event.NumLossKinds]uint64 // last reading of the kernel's counters
	first    time.Duration
	second   time.Time
	stopped  bool // no more calls will come
}

func newRun(o Options) (*run, error) {
	r := &run{opts: o, log: o.Logger, began: time.Now()}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	fs := proc.New(o.ProcRoot)
	for _, pid := range o.PIDs {
		if _, err := fs.Comm(pid, pid); err != nil {
			return nil, noProcess(fs, owner.New(""), pid)
		}
	}
	var err error
	r.tracer, err = probe.Open(probe.Options{Backend: o.Backend, Stack: o.Stack, Proc: fs, RingBytes: o.RingMB << 20, Logger: r.log})
	if err != nil {
		return nil, err
	}
	if err := r.watch(); err != nil {
		r.close()
		return nil, err
	}
	if err := r.watcher.Add(r.tracer.LivesFD()); err != nil {
		r.close()
		return nil, fmt.Errorf("watch processes: %w", err)
	}
	if fd := r.tracer.NamesFD(); fd >= 0 {
		if err := r.watcher.Add(fd); err != nil {
			r.close()
			return nil, fmt.Errorf("watch names: %w", err)
		}
	}
	r.targets = newTargets(r.tracer, all.Libraries(), fs, r.log, &o)
	r.pythons = newPythons(r.tracer, fs, o.Stack, r.log)
	r.people, r.hostIO = newPeople(fs), newHostIO(fs)
	r.prints = newPrints(&o, r.tracer, fs, r.log)
	r.meter, r.memory = newMeter(), memory.NewTracker(memory.MaxLive)
	r.ranks = collective.NewTracker()
	r.flights = newFlights()
	r.setLimits(r.meter.limits(time.Second))
	return r, nil
}

// run starts what is to be traced and loops until the end.
func (r *run) run(ctx context.Context) (Summary, error) {
	runtime.LockOSThread() // a held command knows only the thread that started it
	defer runtime.UnlockOSThread()
	r.guest = newGuest(r.log)
	defer r.guest.leave()
	if err := r.start(); err != nil {
		return Summary{}, err
	}
	end := make(<-chan time.Time)
	if r.opts.Duration > 0 {
		timer := time.NewTimer(r.opts.Duration)
		defer timer.Stop()
		end = timer.C
	}
	var exited chan struct{}
	if r.command != nil {
		exited = r.command.exited
	}
	for {
		select {
		case <-ctx.Done():
			return r.finish()
		case <-end:
			return r.finish()
		case <-exited:
			return r.finish()
		case err := <-r.recorder.failed:
			s, _ := r.finish() // the first error is the one to tell
			return s, err
		default:
		}
		if err := r.turn(); err != nil {
			return Summary{}, errors.Join(err, r.recorder.close())
		}
		if len(r.opts.PIDs) > 0 && len(r.targets.family) == 0 {
			s, err := r.finish()
			s.AllExited = true
			return s, err
		}
	}
}

func (r *run) start() error {
	var err error
	if len(r.opts.Command) > 0 {
		if r.command, err = startHeld(&r.opts); err != nil {
			return err
		}
		if !r.command.held {
			r.log.Warn("the program could not be held at its start, so its first calls may be missed; ingero check says why and what to do")
		}
		pid := r.command.cmd.Process.Pid
		r.targets.family[pid] = true
		r.targets.installed(r.command.libraryDirs(), pid)
	} else if !r.targets.named {
		r.targets.installed(nil, 0)
	}
	if err := r.targets.scan(); err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	r.pythons.start(r.targets)
	if r.recorder, err = newRecorder(&r.opts, r.tracer.Backend(), r.log); err != nil {
		return err
	}
	r.gpus = nvsmi.Start(r.opts.GPUs, r.log)
	for pid := range r.targets.traced {
		r.people.process(pid, true)
	}
	for pid := range r.watched() {
		r.hostIO.begin(pid, r.command != nil && pid == r.command.cmd.Process.Pid)
	}
	r.prints.start(r.targets, r.opts.PIDs)
	for pid := range r.prints.procs {
		r.people.process(int(pid), true)
	}
	if r.opts.Started != nil {
		r.opts.Started(Start{
			Backend: r.tracer.Backend(), Processes: r.people.traced(),
			Libraries: r.targets.libraries(), Took: time.Since(r.began), Footprint: r.printed(),
		})
	}
	r.second = time.Now()
	if r.command != nil {
		return r.command.release()
	}
	return nil
}

// printed lists the processes whose footprint is taken.
func (r *run) printed() []Traced {
	return slices.DeleteFunc(r.people.traced(), func(t Traced) bool { return r.prints.procs[uint32(t.PID)] == nil })
}

// turn waits a drain period, or for a process or library to appear, and handles
// what has happened.
func (r *run) turn() error {
	t := time.Now()
	if err := r.watcher.Wait(int(r.period() / time.Millisecond)); err != nil {
		return fmt.Errorf("wait for events: %w", err)
	}
	lost := r.watcher.Lost()
	r.mappings()
	r.missed = r.missed || r.watcher.Lost() != lost
	if (r.missed || r.blind) && t.Sub(r.targets.scanned) > blindScan {
		r.missed = false
		if err := r.rescan(); err != nil {
			return err
		}
	}
	r.guest.watch(r.tracer.Fill(), r.recorder.busy())
	r.drain()
	if now := time.Now(); now.Sub(r.second) >= time.Second {
		r.tick(now, false)
	}
	if d := fastDrain - time.Since(t); d > 0 {
		time.Sleep(d) // a storm of new processes must not make us spin
	}
	return nil
}

// mappings handles what was mapped executable.
func (r *run) mappings() {
	var fresh []int
	r.watcher.Drain(func(m probe.Mapped) {
		if r.targets.mapped(m) {
			fresh = append(fresh, m.PID)
		}
		r.prints.mapped(m)
		r.pythons.mapped(m, r.targets)
	})
	for _, pid := range fresh { // by now, all that it has mapped is attached to
		r.people.process(pid, true)
		r.prints.also(pid)
	}
}

func (r *run) period() time.Duration {
	switch f := r.tracer.Fill(); {
	case f > 0.25:
		return fastDrain
	case f > 0.05:
		return midDrain
	}
	return slowDrain
}

// drain empties the ring, a chunk at a time.
func (r *run) drain() {
	for {
		if r.recorder.busy() {
			r.guest.hurry() // or nobody frees a unit
		}
		u := r.recorder.unit()
		n := r.tracer.Drain(&u.records, chunk)
		r.hostIO.observe(&u.records, r.watched())
		r.lives(u.records.Lives)
		if len(u.records.Calls) > 0 && r.first == 0 {
			r.first = time.Since(r.began)
		}
		r.meter.calls(u.records.Calls)
		r.memory.Calls(u.records.Calls)
		r.memory.Lives(u.records.Lives)
		r.ranks.Calls(u.records.Calls)
		r.ranks.Lives(u.records.Lives)
		r.forgetComms(u.records.Lives)
		r.flights.calls(u.records.Calls)
		r.flights.lives(u.records.Lives)
		r.people.observe(&u.records)
		r.hostIO.take(&u.batch.IO)
		u.batch.Processes, u.batch.Threads = r.people.take(u.batch.Processes, u.batch.Threads)
		u.batch.Limits = append(u.batch.Limits[:0], r.people.newLimits...)
		r.people.newLimits = r.people.newLimits[:0]
		u.batch.Scheduling = append(u.batch.Scheduling[:0], r.people.sched.fresh...)
		r.people.sched.fresh = r.people.sched.fresh[:0]
		if u.empty() {
			r.recorder.reuse(u)
		} else {
			r.recorder.send(u)
		}
		if n < chunk {
			return
		}
	}
}

func (r *run) lives(lives []event.Life) {
	for i := range lives {
		l := &lives[i]
		pid := int(l.PID)
		isProcess := l.PID == l.TID
		r.prints.life(l)
		switch {
		case l.Kind == event.LifeFork && isProcess:
			r.targets.forked(int(l.Parent.PID), pid)
			r.hostIO.begin(pid, true)
			r.pythons.forked(int(l.Parent.PID), pid)
		case l.Kind == event.LifeExec:
			r.people.process(pid, r.targets.traced[pid] || r.prints.procs[l.PID] != nil)
			r.pythons.executed(pid)
		case l.Kind == event.LifeExit && isProcess:
			r.targets.exited(pid)
			r.hostIO.forget(l.PID)
			r.pythons.exited(pid)
			r.meter.exited(l.PID)
		case l.Kind == event.LifeFirst && r.targets.firstCall(pid):
			r.people.process(pid, true)
			r.prints.also(pid)
			r.pythons.look(pid)
		}
	}
}

// tick does what is done once a second, and at the last.
func (r *run) tick(now time.Time, last bool) {
	span := now.Sub(r.second)
	r.second = now
	u := r.recorder.unit()
	u.flush, u.batch.Limits, u.batch.Scheduling = true, u.batch.Limits[:0], u.batch.Scheduling[:0]
	u.batch.Losses = r.lost(u.batch.Losses[:0])
	u.batch.Throttles = r.people.throttles(u.batch.Throttles[:0], now)
	u.batch.Snapshots = append(u.batch.Snapshots[:0], r.people.snapshot(now)...)
	at := uint64(now.UnixNano())
	if r.stopped {
		at = 0
	}
	u.batch.Collectives = r.ranks.Take(at, u.batch.Collectives)
	u.batch.GPUs = gpuSnapshots(r.gpus.Take())
	u.batch.Memory, u.batch.MemorySites = r.memory.Take(uint64(now.UnixNano()), u.batch.Memory[:0], u.batch.MemorySites[:0])
	r.requests(&u.batch.IO, last)
	u.batch.IO.Memory = r.hostIO.second(u.batch.IO.Memory, r.watched(), now)
	u.batch.Footprint = r.prints.take(now, r.people.name)
	r.setLimits(r.meter.limits(span))
	r.look(&u.records)
	u.batch.InFlight = r.flights.take(u.batch.InFlight[:0])
	u.status = r.status(now, span)
	r.recorder.send(u)
	r.people.prune()
}

// forgetComms drops what the kernel counts for processes that ended.
func (r *run) forgetComms(lives []event.Life) {
	for i := range lives {
		if l := &lives[i]; l.Kind == event.LifeExit && l.PID == l.TID {
			r.tracer.ForgetComms(l.PID)
		}
	}
}

// watched are the processes whose use of the host is of interest: those that use a
// library, and those that were asked for.
func (r *run) watched() map[int]bool {
	if len(r.targets.family) == 0 {
		return r.targets.traced
	}
	all := maps.Clone(r.targets.family)
	maps.Copy(all, r.targets.traced)
	return all
}

// requests reads what processes did at block devices.
func (r *run) requests(to *store.HostIO, last bool) {
	var err error
	if to.Sums, err = r.tracer.Requests(to.Sums, last); err != nil {
		r.log.Warn("cannot read sums of block I/O", "err", err)
	}
	for i := range to.Sums {
		r.hostIO.device(to.Sums[i].Device)
	}
	r.hostIO.take(to)
}

func (r *run) setLimits(limits map[event.Op]limit) {
	for op, l := range limits {
		if err := r.tracer.SetLimit(op, l.stack, l.off); err != nil {
			r.log.Warn("cannot set limits", "op", op, "err", err)
		}
	}
}

// lost appends the increments of the kernel's counters.
func (r *run) lost(l []event.Loss) []event.Loss {
	n, err := r.tracer.Losses()
	if err != nil {
		r.log.Warn("cannot read loss counters", "err", err)
		return l
	}
	const ms = uint64(time.Millisecond)
	n[event.LostFootprint] += r.prints.missed
	n[event.LostLate] = (uint64(r.targets.late) + ms - 1) / ms
	for k, v := range n {
		if d := v - r.losses[k]; d > 0 {
			l = append(l, event.Loss{Kind: event.LossKind(k), Count: d})
		}
	}
	r.losses = n
	return l
}

// endCommand asks the command to end and records it until it has. One that
// ignores SIGTERM gets SIGKILL after a while: the recording must be closed in
// any case, and who asked for the end must not wait for ever.
func (r *run) endCommand() {
	r.command.stop()
	late := time.After(patience)
	for {
		select {
		case <-r.command.exited:
			return
		case <-late:
			r.log.Warn("the command does not end; killing it", "pid", r.command.cmd.Process.Pid)
			r.command.kill()
		case <-time.After(r.period()):
			r.drain()
		}
	}
}

// finish stops the probes, drains what is left and closes the recording.
func (r *run) finish() (Summary, error) {
	r.guest.hurry()
	last := r.recorder.unit()
	r.look(&last.records) // before what is asked to end does
	r.recorder.send(last)
	if r.command != nil {
		r.endCommand()
	}
	r.watcher.Drain(r.prints.mapped)
	r.drain() // who began and ended, before their footprints are read
	r.prints.finish(r.people.name)
	err := r.tracer.DetachAll()
	r.drain()
	r.flights.closed = true
	now := time.Now()
	r.stopped = true
	r.tick(now, true)
	r.gpus.Close()
	err = errors.Join(err, r.recorder.close())
	s := Summary{
		Elapsed: now.Sub(r.began), Calls: r.meter.total, Processes: r.people.traced(), Libraries: r.targets.libraries(),
		Losses: lossList(r.losses), FirstEvent: r.first, DBBytes: r.recorder.size(),
	}
	s.CPU, s.MaxRSS = usage()
	s.Footprint = r.prints.sum.Report()
	if r.opts.Record != nil {
		s.Path = r.opts.Record.Path
	}
	if r.command != nil {
		s.ExitCode = r.command.exitCode()
	}
	return s, err
}

func lossList(n [event.NumLossKinds]uint64) []event.Loss {
	var l []event.Loss
	for k, v := range n {
		if v > 0 {
			l = append(l, event.Loss{Kind: event.LossKind(k), Count: v})
		}
	}
	return l
}

// usage is the CPU time and the peak resident memory of this process.
func usage() (time.Duration, uint64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), uint64(u.Maxrss) << 10
}

// close releases what newRun and start made. After finish there is only the
// tracer left to unload.
func (r *run) close() {
	if r.command != nil && r.command.held {
		r.command.cmd.Process.Kill()
	}
	if r.gpus != nil {
		r.gpus.Close()
	}
	if r.recorder != nil {
		if err := r.recorder.close(); err != nil { // nil after finish, which tells it
			r.log.Warn("cannot close the recording", "err", err)
		}
	}
	if r.watcher != nil {
		r.watcher.Close()
	}
	if r.prints != nil {
		r.prints.close()
	}
	if r.tracer != nil {
		if err := r.tracer.Close(); err != nil { // what stays attached ends with this process
			r.log.Warn("cannot detach", "err", err)
		}
	}
}
