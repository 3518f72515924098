package agent

import (
	"iter"
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
)

// exiting holds threads and processes that have ended until all their calls were read: ends are
// read before calls, and the last calls of a thread may still be in the ring. Other threads of a
// process may continue after its first one ended, or end a little later. On a busy machine the
// probes could be gone by then.
type exiting struct {
	fs      proc.FS
	threads []event.Life // all but first threads
	procs   []event.Life // processes whose first thread has ended; At is the end of the last thread known so far
}

// addEnd notes that a thread has ended.
func (l *exiting) addEnd(end *event.Life) {
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

// remove takes out a process. The result is empty if there is none.
func (l *exiting) remove(pid int) (ends []event.Life) {
	if i := l.index(pid); i >= 0 {
		ends = append(ends, l.procs[i])
		l.procs = slices.Delete(l.procs, i, i+1)
	}
	return ends
}

// gone lists the processes that have no thread left. A thread leaves /proc after its end was
// recorded, so the next drain has all its calls.
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

// take takes out the threads that ended, then the given processes.
func (l *exiting) take(gone []int) (ends []event.Life) {
	ends, l.threads = l.threads, nil
	for _, pid := range gone {
		ends = append(ends, l.remove(pid)...)
	}
	return ends
}

// processesOf are the processes in a list of ended threads.
func processesOf(ends []event.Life) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range ends {
			if l := &ends[i]; l.PID == l.TID && !yield(l.PID) {
				return
			}
		}
	}
}

// ended reports threads and processes that have ended to the followers, after all their calls. A
// process ends with its first thread.
func (r *run) ended(ends []event.Life) {
	r.followers.ended(ends)
	for pid := range processesOf(ends) {
		r.targets.exited(int(pid))
		r.tracer.ForgetComms(pid)
	}
}
