package agent

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/probe"
)

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
			r.drainAll()
		}
	}
}

// drainAll empties the ring, however long the recorder takes.
func (r *run) drainAll() { r.drain(r.recorder.unit) }

// finish stops the probes, drains what is left and closes the recording.
func (r *run) finish() (Summary, error) {
	r.schedPolicy.hurry()
	r.drainAll() // between two looks, or a call that ended would seem to have been left
	last := r.recorder.unit()
	last.looked = true
	r.look(&last.records) // before what is asked to end does
	r.recorder.send(last)
	if r.command != nil {
		r.endCommand()
	}
	r.watcher.Drain(func(m probe.Mapped) {
		r.footprints.mapped(m)
		r.targets.unnoticed(m)
	})
	r.drainAll() // who began and ended, before their footprints are read
	r.footprints.finish(r.processTable.name)
	err := errors.Join(r.pages.stop(), r.tracer.DetachAll())
	r.drainAll()
	r.accounts.ended(r.exiting.take(r.exiting.gone()))
	r.accounts.inFlightTracker.closed = true
	now := time.Now()
	r.stopped = true
	r.tick(r.recorder.unit(), now, true)
	r.gpus.close()
	err = errors.Join(err, r.recorder.close())
	s := Summary{
		Elapsed: now.Sub(r.began), Calls: r.meter.total, Processes: r.processTable.traced(), Libraries: r.targets.libraries(),
		Losses: lossList(r.losses), FirstEvent: r.first, DBBytes: r.recorder.size(),
	}
	s.CPU, s.MaxRSS = usage()
	s.Footprint = r.footprints.sum.Report()
	if r.opts.Record != nil {
		s.Path = r.opts.Record.Path
	}
	if r.command != nil {
		s.ExitCode = r.command.exitCode()
	}
	return s, err
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
	r.gpus.close()
	if r.recorder != nil {
		if err := r.recorder.close(); err != nil { // nil after finish, which tells it
			r.log.Warn("cannot close the recording", "err", err)
		}
	}
	if r.watcher != nil {
		r.watcher.Close()
	}
	if r.footprints != nil {
		r.footprints.close()
	}
	if r.pages != nil {
		r.pages.close()
	}
	if r.tracer != nil {
		if err := r.tracer.Close(); err != nil { // what stays attached ends with this process
			r.log.Warn("cannot detach", "err", err)
		}
	}
}
