package agent

import (
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/lists"
)

// unreported finds watched processes that have ended without a record of it: the kernel drops records when nobody reads
// them for seconds. All that is kept of such a process would be kept for ever.
type unreported struct {
	fs     proc.FS
	absent map[int]bool // those that were not there at the last look at them
	asked  int          // the last process that was looked at
}

// maxLooks is how many processes are looked at in a second, some 10 microseconds each.
const maxLooks = 32

// ended looks at some of the traced processes, in turn, and returns those that have ended. Call it once a second, after
// what was recorded has been read: a process that is missed twice has no record left to come.
func (u *unreported) ended(traced map[int]bool, known func(pid int) bool) (ended []int) {
	for range min(maxLooks, len(traced)) {
		pid := lists.InTurn(traced, u.asked)
		u.asked = pid
		switch {
		case known(pid) || !u.fs.Gone(pid):
			delete(u.absent, pid)
		case u.absent[pid]:
			delete(u.absent, pid)
			ended = append(ended, pid)
		default:
			u.absent[pid] = true
		}
	}
	for pid := range u.absent {
		if !traced[pid] {
			delete(u.absent, pid)
		}
	}
	return ended
}

// unreported handles such ends like those that the kernel reports.
func (r *run) unreported() {
	known := func(pid int) bool { return r.exiting.index(pid) >= 0 }
	var ends []event.Life
	for _, pid := range r.ends.ended(r.targets.watched(), known) {
		r.log.Debug("a process has ended without a record of it", "pid", pid)
		threads := r.names.threadsOf(uint32(pid))
		if main := (event.Thread{PID: uint32(pid), TID: uint32(pid)}); !slices.Contains(threads, main) {
			threads = append(threads, main)
		}
		for _, t := range threads {
			ends = append(ends, event.Life{
				At: r.names.now(), Kind: event.LifeExit, Thread: t, Comm: r.names.threads[t].Comm,
			})
		}
	}
	r.drained.early.Lives = append(r.drained.early.Lives, ends...)
	r.lives(ends)
}
