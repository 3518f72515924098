package agent

import (
	"iter"
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

// exiting are threads and processes that have ended, until those that add up calls may be told: ends
// are read before calls, and the last calls of a thread may still be in the ring. Other threads of
// a process may go on when its first one has ended, or be ended a little later: on a busy machine
// that is long enough for the probes to be gone by then.
type exiting struct {
	fs      proc.FS
	threads []event.Life // but first ones
	procs   []event.Life // whose first thread has ended; At is when the last one that is known of did
}

// add notes that a thread has ended.
func (l *exiting) add(end *event.Life) {
	i := l.index(int(end.PID))
	switch {
	case end.PID != end.TID:
		l.threads = append(l.threads, *end)
		if i >= 0 {
			l.procs[i].At = max(l.procs[i].At, end.At)
		}
	case i < 0:
		l.procs = append(l.procs, *end)
	}
}

func (l *exiting) index(pid int) int {
	return slices.IndexFunc(l.procs, func(p event.Life) bool { return int(p.PID) == pid })
}

// remove takes out a process, which is empty if it was not there.
func (l *exiting) remove(pid int) (ends []event.Life) {
	if i := l.index(pid); i >= 0 {
		ends = append(ends, l.procs[i])
		l.procs = slices.Delete(l.procs, i, i+1)
	}
	return ends
}

// gone lists the processes that have no thread left. A thread leaves /proc after its end was
// recorded, so what is drained from now on holds all of it.
func (l *exiting) gone() (gone []int) {
	for i := range l.procs {
		pid := int(l.procs[i].PID)
		tids, err := l.fs.Threads(pid)
		if err != nil || !slices.ContainsFunc(tids, func(tid int) bool { return tid != pid }) {
			gone = append(gone, pid)
		}
	}
	return gone
}

// take takes out the threads that ended, and then the given processes.
func (l *exiting) take(gone []int) (ends []event.Life) {
	ends, l.threads = l.threads, nil
	for _, pid := range gone {
		ends = append(ends, l.remove(pid)...)
	}
	return ends
}

// processesOf are the processes among what has ended.
func processesOf(ends []event.Life) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range ends {
			if l := &ends[i]; l.PID == l.TID && !yield(l.PID) {
				return
			}
		}
	}
}

// ended is told which threads and processes have ended, when all their calls have been.
// A process ends with the end of its first thread.
func (r *run) ended(ends []event.Life) {
	r.followers.ended(ends)
	for pid := range processesOf(ends) {
		r.targets.exited(int(pid))
		r.tracer.ForgetComms(pid)
	}
}
