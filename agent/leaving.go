package agent

import (
	"slices"

	"github.com/ingero-io/ingero/host/proc"
)

// leaving are processes whose first thread has ended. Others of their threads may go
// on, or be ended a little later: on a busy machine that is long enough for the probes
// to be gone by then, and nobody would know how their calls ended.
type leaving struct {
	fs   proc.FS
	pids []int
}

// add notes that the first thread of a process has ended.
func (l *leaving) add(pid int) {
	if !slices.Contains(l.pids, pid) {
		l.pids = append(l.pids, pid)
	}
}

// remove takes out a process, and reports whether it was there.
func (l *leaving) remove(pid int) bool {
	before := len(l.pids)
	l.pids = slices.DeleteFunc(l.pids, func(p int) bool { return p == pid })
	return len(l.pids) < before
}

// gone lists those that have no thread left. A thread leaves /proc after its end was
// recorded, so what is drained from now on holds all of it.
func (l *leaving) gone() (gone []int) {
	for _, pid := range l.pids {
		tids, err := l.fs.Threads(pid)
		if err != nil || !slices.ContainsFunc(tids, func(tid int) bool { return tid != pid }) {
			gone = append(gone, pid)
		}
	}
	return gone
}

// ended forgets a process that has no thread any more.
func (r *run) ended(pid int) {
	r.targets.exited(pid)
	r.hostIO.forget(uint32(pid))
	r.pythons.exited(pid)
	r.meter.exited(uint32(pid))
}
