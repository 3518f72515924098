package agent

import (
	"errors"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
)

// ringRecords is more than the records that a ring of the usual size holds: the smallest has 40 bytes.
const ringRecords = 16 << 20 / 40

// drainAll handles what is in the ring now, and waits for the recorder as long as needed.
func (r *run) drainAll() { r.drain(r.recorder.item, ringRecords) }

// finish stops the probes, drains what is left and closes the recording. A command that runs goes on.
func (r *run) finish() (Summary, error) {
	r.schedPolicy.hurry()
	r.drainAll() // between two looks, or a call that returned would seem unfinished
	if !r.asking.asked() {
		r.ending()
	}
	r.watcher.Drain(func(m probe.Mapped) {
		r.followers.mapped(m)
		r.targets.unnoticed(m)
	})
	for _, m := range r.targets.mapping.first {
		r.targets.unnoticed(m)
	}
	r.drainAll() // process starts and exits, before their counters are read
	var s Summary
	err := errors.Join(r.followers.stop(&s), r.tracer.DetachAll())
	for !r.drain(r.recorder.item, ringRecords) { // nobody adds any more
	}
	r.followers.ended(r.exiting.take(r.exiting.gone()))
	last := r.recorder.item()
	status := r.tick(last, time.Now(), true)
	r.followers.close()
	err = errors.Join(err, r.recorder.close()) // from here on, no other goroutine uses the status
	s.Elapsed, s.Calls, s.Processes, s.Losses = status.Elapsed, status.Calls, status.Processes, status.Losses
	s.Losses = r.recorder.allLost(s.Losses)
	s.Libraries, s.FirstEvent, s.DBBytes = r.targets.libraries(), r.drained.first, r.recorder.size()
	s.CPU, s.MaxRSS = usage()
	s.GPUReader = status.GPUReader
	s.CPU += s.GPUReader
	if r.opts.Record != nil {
		s.Path = r.opts.Record.Path
	}
	return s, err
}

// ending records what would be over if the command had ended.
func (r *run) ending() {
	last := r.recorder.item()
	r.followers.ending(last)
	r.recorder.send(last)
}

// close releases what newRun and start made. After finish, only the tracer is left to unload.
func (r *run) close() {
	if r.command != nil && r.command.held {
		r.command.kill()
	}
	r.followers.close()
	if r.recorder != nil {
		if err := r.recorder.close(); err != nil { // nil after finish, which returns the error
			r.log.Warn("cannot close the recording", "err", err)
		}
	}
	if r.watcher.MapWatcher != nil {
		r.watcher.Close()
	}
	if r.tracer != nil {
		if err := r.tracer.Close(); err != nil { // what stays attached ends with this process
			r.log.Warn("cannot detach", "err", err)
		}
	}
}
