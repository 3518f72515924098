package agent

import (
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/host/proc"
)

// guest makes this process take only what others leave (sched(7)). The thread
// that drains the ring is batch work: its wake-ups never preempt the programs it
// watches. All other threads, which store what was drained, are idle work: a
// waking program takes their CPU at once. If they fall behind because nothing is
// left over, they become batch work too, until they have caught up: on a machine that
// others use up, that is soon. So they do while somebody waits for an answer of this
// process.
type guest struct {
	log    *slog.Logger
	fs     proc.FS
	before unix.SchedAttr // of the thread that drains, before it was set back
	drain  int            // the thread that drains
	free   bool           // idle work may be left again: without CAP_SYS_NICE it may not
	behind bool
	known  map[int]uint32 // policies given, by thread
}

// The fill of the ring from which the recorder is behind, and below which it has
// caught up.
const (
	behindFill = 0.10
	caughtUp   = 0.02
)

// newGuest sets this process back. The calling thread must be the one that
// drains, and locked.
func newGuest(log *slog.Logger) *guest {
	g := &guest{log: log, fs: proc.New(""), drain: unix.Gettid(), free: mayRise(), known: map[int]uint32{}}
	if a, err := unix.SchedGetAttr(0, 0); err == nil { // else it is taken for an ordinary one
		g.before = *a
	}
	g.apply()
	return g
}

// spare gives a program that this process started the policy that it would have had
// without the tracer: children inherit, and SCHED_FLAG_RESET_ON_FORK changes only real-time
// policies and negative nice values (sched(7)).
func (g *guest) spare(pid int) {
	if err := unix.SchedSetAttr(pid, &g.before, 0); err != nil {
		g.log.Warn("the started program has the tracer's scheduling policy", "err", err)
	}
}

// mayRise reports whether this process may leave the idle policy.
func mayRise() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// watch is told, before each drain, how full the ring is and whether there is work that
// must not wait for a CPU to be left over.
func (g *guest) watch(fill float64, urgent bool) {
	switch {
	case urgent || fill > behindFill:
		g.hurry()
	case g.behind && fill < caughtUp:
		g.behind = false
	}
	g.apply()
}

// hurry makes all threads batch work until they have caught up.
func (g *guest) hurry() {
	if !g.behind {
		g.behind = true
		g.apply() // at once: the next drain may be far
	}
}

// apply sets the policy of every thread that has another one. New threads have that of the
// thread that made them, so it is called at every drain.
func (g *guest) apply() {
	tids, err := g.fs.Threads(unix.Getpid())
	if err != nil {
		g.log.Debug("list own threads", "err", err)
		return
	}
	for _, tid := range tids {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		if g.free && !g.behind && tid != g.drain {
			attr.Policy = unix.SCHED_IDLE
		}
		if p, ok := g.known[tid]; ok && p == attr.Policy {
			continue
		}
		g.known[tid] = attr.Policy
		if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
			g.log.Debug("set scheduling policy", "tid", tid, "err", err) // the thread may have ended
		}
	}
}

// leave gives the process its ordinary policy back.
func (g *guest) leave() {
	tids, err := g.fs.Threads(unix.Getpid())
	if err != nil {
		return // nothing more to do for a process that ends
	}
	for _, tid := range tids {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
			g.log.Debug("reset scheduling policy", "tid", tid, "err", err)
		}
	}
}
