package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
)

// The drain period depends on how full the ring is: draining ten times a second costs nothing, and
// a full ring drops calls.
const (
	slowDrain = 100 * time.Millisecond
	midDrain  = 20 * time.Millisecond
	fastDrain = 5 * time.Millisecond
	// chunk is the number of records passed on at a time; it bounds memory.
	chunk = 16384
)

// run is one run of the tracer. Its loop owns everything but the recorder. Everything that observes
// the traced processes is a follower.
type run struct {
	shared
	began       time.Time
	watcher     watcher
	command     *Command // nil: no command
	asking      asking
	followers   followers
	recorder    *recorder
	exiting     exiting
	names       *processTable
	ends        unreported
	schedPolicy *schedPolicy
	drained     drained
	seconds     seconds
}

func newRun(o Options) (*run, error) {
	fs := proc.New(o.ProcRoot)
	r := &run{shared: shared{opts: &o, log: o.Logger, fs: fs}, began: time.Now(), exiting: exiting{fs: fs}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	for _, pid := range o.PIDs {
		if _, err := fs.Comm(pid, pid); err != nil {
			return nil, noProcess(fs, owner.New(""), pid)
		}
	}
	var err error
	r.tracer, err = probe.Open(probe.Options{
		Backend: o.Backend, Stack: o.Stack, Proc: fs, RingBytes: o.RingMB << 20, Logger: r.log,
	})
	if err != nil {
		return nil, err
	}
	if err := r.watch(); err != nil {
		r.close()
		return nil, err
	}
	r.targets = newTargets(r.tracer, all.Libraries(), fs, r.log, &o)
	r.names, r.ends = newProcessTable(fs), unreported{fs: fs, absent: map[int]bool{}}
	r.followers = newFollowers(&r.shared, r.names)
	return r, nil
}

// runLoop starts tracing and loops until the end.
func (r *run) runLoop(ctx context.Context) (Summary, error) {
	runtime.LockOSThread() // a held command can be controlled only by the thread that started it
	defer runtime.UnlockOSThread()
	r.schedPolicy = newSchedPolicy(r.log)
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
	var exited <-chan struct{}
	if r.command != nil {
		exited = r.command.exited
	}
	done := ctx.Done()
	for {
		select {
		case <-done:
			if r.command == nil {
				return r.finish()
			}
			r.ask()
			done = nil // this wish is met; the next one is Leave
		case <-r.asking.leave:
			return r.finish()
		case <-end:
			return r.finish()
		case <-exited:
			return r.finish()
		case err := <-r.recorder.failed:
			s, _ := r.finish() // the first error is the one to report
			return s, err
		default:
		}
		if err := r.turn(); err != nil {
			s, after := r.finish()
			return s, errors.Join(err, after)
		}
		r.asking.waiting(r.log, r.command, time.Now())
		if len(r.opts.PIDs) > 0 && len(r.targets.processTree) == 0 {
			s, err := r.finish()
			s.AllExited = true
			return s, err
		}
	}
}

// start attaches to all existing libraries, then lets the command run. The recording is opened first: if
// that fails, no program has been started.
func (r *run) start() error {
	var err error
	if r.recorder, err = newRecorder(r.opts, r.tracer.Backend(), r.log); err != nil {
		return err
	}
	if err := r.attach(); err != nil {
		return err
	}
	b := beginning{command: r.command, started: Start{Backend: r.tracer.Backend()}}
	r.followers.start(&b)
	if r.opts.Started != nil {
		b.started.Libraries, b.started.Took = r.targets.libraries(), time.Since(r.began)
		r.opts.Started(b.started)
	}
	r.seconds.at = time.Now()
	if r.command != nil {
		return r.command.release()
	}
	return nil
}

// attach attaches to the libraries that the wanted processes have mapped, and to those they are
// likely to load.
func (r *run) attach() error {
	if len(r.opts.Command) > 0 {
		var err error
		if r.command, err = startHeld(r.opts); err != nil {
			return err
		}
		pid := r.command.cmd.Process.Pid
		r.schedPolicy.spare(pid)
		if !r.command.held {
			r.log.Warn("cannot stop the program at its first instruction, so its first calls may be missed;" +
				" ingero check says why and what to do")
		}
		r.targets.processTree[pid] = true
		r.targets.installed(r.command.libraryDirs(), pid)
	} else if !r.targets.named {
		r.targets.installed(nil, 0)
	}
	if err := r.targets.scan(); err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	return nil
}

// turn waits for a drain period, or until a process or library appears, and handles what has
// happened.
func (r *run) turn() error {
	t := time.Now()
	if err := r.watcher.Wait(int(r.period() / time.Millisecond)); err != nil {
		return fmt.Errorf("wait for events: %w", err)
	}
	r.targets.files.Wait, r.targets.probing.Wait = patience, attachPatience
	r.mappings()
	r.refresh(t)
	r.rescan(t)
	r.schedPolicy.watch(r.tracer.Fill(), r.recorder.busy() || r.recorder.sent.late(t) || r.opts.busy())
	var due *workItem // for the second; taken before the drain, which may use up all
	if t.Sub(r.seconds.at) >= time.Second {
		due = r.recorder.ready()
	}
	gone := r.exiting.gone()
	empty := r.drain(r.recorder.ready, ringRecords)
	if empty || len(r.exiting.threads) > maxEarly { // else some of their calls are still in the ring
		r.ended(r.exiting.take(gone))
	}
	r.followers.turn(time.Now())
	if due != nil {
		if empty {
			r.unreported()
		}
		r.targets.letGo(t, func(pid int) bool { return r.exiting.index(pid) >= 0 })
		r.tick(due, time.Now(), false)
	}
	if d := fastDrain - time.Since(t); d > 0 {
		time.Sleep(d) // many new processes must not make this a busy loop
	}
	return nil
}
