package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/nvml"
	"github.com/ingero-io/ingero/host/owner"
	"github.com/ingero-io/ingero/host/proc"
	"github.com/ingero-io/ingero/probe"
	"github.com/ingero-io/ingero/probe/all"
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
	opts         Options
	log          *slog.Logger
	began        time.Time
	tracer       *probe.Tracer
	watcher      *probe.MapWatcher
	missed       bool // a mapping was not told of: processes have to be looked for
	blind        bool // the watcher may not watch: processes are looked for by and by
	targets      *targets
	pythons      *pythons
	command      *command
	processTable *processTable
	hostIO       *hostIO
	meter        *meter
	accounts     accounts
	exiting      exiting
	footprints   *footprints
	pages        *pageCounts
	recorder     *recorder
	early        probe.Records // process starts and exits that were handled, but are in no unit yet
	gpus         *gpus
	schedPolicy  *schedPolicy
	losses       [event.NumLossKinds]uint64 // last reading of the kernel's counters
	malformed    uint64                     // records that could not be read
	first        time.Duration
	second       time.Time
	slimmed      time.Time // when memory was given back
	stopped      bool      // no more calls will come
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
	r.accounts = newAccounts()
	r.targets = newTargets(r.tracer, all.Libraries(), fs, r.log, &o)
	if !o.InnerCalls && r.tracer.Backend() != probe.BackendPerf {
		r.accounts.inner = newInnerLinks(r.targets)
	}
	r.pythons = newPythons(r.tracer, fs, o.Stack, r.log)
	r.processTable, r.hostIO = newPeople(fs), newHostIO(fs)
	r.footprints = newPrints(&o, r.tracer, fs, r.log)
	r.meter, r.exiting.fs = newMeter(), fs
	r.setLimits(r.meter.limits(time.Second))
	return r, nil
}

// run starts what is to be traced and loops until the end.
func (r *run) run(ctx context.Context) (Summary, error) {
	runtime.LockOSThread() // a held command knows only the thread that started it
	defer runtime.UnlockOSThread()
	r.schedPolicy = newGuest(r.log)
	defer r.schedPolicy.leave()
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
		if len(r.opts.PIDs) > 0 && len(r.targets.processTree) == 0 {
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
		r.schedPolicy.spare(r.command.cmd.Process.Pid)
		if !r.command.held {
			r.log.Warn("the program could not be held at its start, so its first calls may be missed; ingero check says why and what to do")
		}
		pid := r.command.cmd.Process.Pid
		r.targets.processTree[pid] = true
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
	r.gpus = newGPUs(nvml.Options{Dirs: r.libraryDirs(), Logger: r.log})
	r.gpus.running(r.targets.traced, r.targets.fs)
	for pid := range r.targets.traced {
		r.processTable.process(pid, true)
	}
	for pid := range r.watched() {
		r.hostIO.begin(pid, r.command != nil && pid == r.command.cmd.Process.Pid)
	}
	r.footprints.start(r.targets, r.opts.PIDs)
	r.pages = newPageCounts(r.opts.Pages, r.tracer, r.log)
	for pid := range r.footprints.procs {
		r.processTable.process(int(pid), true)
	}
	if r.opts.Started != nil {
		r.opts.Started(Start{
			Backend: r.tracer.Backend(), Processes: r.processTable.traced(),
			Libraries: r.targets.libraries(), Took: time.Since(r.began), Footprint: r.printed(),
		})
	}
	r.releaseCode(time.Now())
	r.second = time.Now()
	r.processTable.snapshot(r.second) // what the first second is measured from
	if r.command != nil {
		return r.command.release()
	}
	return nil
}

// libraryDirs are where NVIDIA's management library is looked for first: where the
// command's other libraries are.
func (r *run) libraryDirs() []string {
	dirs := slices.Clone(r.opts.NVML)
	if r.command != nil {
		dirs = append(dirs, r.command.libraryDirs()...)
	}
	return dirs
}

// printed lists the processes whose footprint is taken.
func (r *run) printed() []Traced {
	return slices.DeleteFunc(r.processTable.traced(), func(t Traced) bool { return r.footprints.procs[uint32(t.PID)] == nil })
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
	r.schedPolicy.watch(r.tracer.Fill(), r.recorder.busy() || r.recorder.sent.late(t) || r.opts.awaited())
	var due *unit // of the second; got before the drain, which takes all that there are
	if t.Sub(r.second) >= time.Second {
		due = r.recorder.ready()
	}
	gone := r.exiting.gone()
	if r.drain(r.recorder.ready) || len(r.exiting.threads) > maxEarly { // else some of their calls are still in the ring
		r.ended(r.exiting.take(gone))
	}
	r.innerCalls(time.Now())
	if due != nil {
		r.tick(due, time.Now(), false)
	}
	if d := fastDrain - time.Since(t); d > 0 {
		time.Sleep(d) // a storm of new processes must not make us spin
	}
	return nil
}
