package agent

import (
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// schedPolicy makes this process give way to others (sched(7)). All its threads are batch work:
// their wake-ups never preempt the programs it watches. All but the thread that drains the
// ring also have a third of an ordinary thread's weight and short time slices. They have the
// whole weight while they are behind, and while somebody waits for an answer of this process.
//
// They are not SCHED_IDLE, whose weight is 0.3 % of the ordinary one. Go's runtime has its
// threads wait for each other, to collect garbage for one. Beside programs that used all CPUs
// the thread that drains stood still for up to 13 s, and no new process got its probes.
type schedPolicy struct {
	log    *slog.Logger
	fs     proc.FS
	before unix.SchedAttr // of the thread that drains, before it was set back
	drain  int            // the thread that drains
	free   bool           // a nice value may be lowered again: without CAP_SYS_NICE it may not
	behind bool
	known  map[int]int32 // nice values given, by thread
}

const (
	// giveWay is the nice value with a third of the ordinary weight (sched_prio_to_weight in
	// kernel/sched/core.c). Beside 4 busy loops on 2 CPUs, forks were handled after 0.12 s at
	// most; with nice 10 after 0.2 s, with 19 after 3.8 s.
	giveWay = 5
	// shortSlice is the time slice in ns: 0.1 ms, the shortest that sched_setattr(2) gives.
	// Kernels before 6.12 have one length for all.
	shortSlice = 100_000
)

// The fill of the ring from which the recorder is behind, and below which it has
// caught up.
const (
	behindFill = 0.10
	caughtUp   = 0.02
)

// newSchedPolicy sets this process back. The calling thread must be the one that
// drains, and locked.
func newSchedPolicy(log *slog.Logger) *schedPolicy {
	g := &schedPolicy{log: log, fs: proc.New(""), drain: unix.Gettid(), free: mayRise(), known: map[int]int32{}}
	if a, err := unix.SchedGetAttr(0, 0); err == nil { // else it is taken for an ordinary one
		g.before = *a
		g.before.Runtime = 0 // the default time slice
	}
	g.apply()
	return g
}

// spare gives a program that this process started the policy that it would have had
// without the tracer: children inherit, and SCHED_FLAG_RESET_ON_FORK changes only real-time
// policies and negative nice values (sched(7)).
func (g *schedPolicy) spare(pid int) {
	if err := unix.SchedSetAttr(pid, &g.before, 0); err != nil {
		g.log.Warn("the started program has the tracer's scheduling policy", "err", err)
	}
}

// mayRise reports whether this process may lower its nice values.
func mayRise() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// watch is told, before each drain, how full the ring is and whether there is work that
// must not wait.
func (g *schedPolicy) watch(fill float64, urgent bool) {
	switch {
	case urgent || fill > behindFill:
		g.hurry()
	case g.behind && fill < caughtUp:
		g.behind = false
	}
	g.apply()
}

// hurry gives all threads the whole weight until they have caught up.
func (g *schedPolicy) hurry() {
	if !g.behind {
		g.behind = true
		g.apply() // at once: the next drain may be far
	}
}

// apply sets the policy of every thread that has another one. New threads have that of the
// thread that made them, so it is called at every drain.
func (g *schedPolicy) apply() {
	tids, err := g.fs.Threads(unix.Getpid())
	if err != nil {
		g.log.Debug("list own threads", "err", err)
		return
	}
	for _, tid := range tids {
		attr := unix.SchedAttr{
			Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: g.before.Nice,
		}
		if tid != g.drain {
			attr.Runtime = shortSlice
			if g.free && !g.behind {
				attr.Nice = max(attr.Nice, giveWay)
			}
		}
		if n, ok := g.known[tid]; ok && n == attr.Nice {
			continue
		}
		g.known[tid] = attr.Nice
		if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
			g.log.Debug("set scheduling policy", "tid", tid, "err", err) // the thread may have ended
		}
	}
}

// leave gives the process its policy back.
func (g *schedPolicy) leave() {
	tids, err := g.fs.Threads(unix.Getpid())
	if err != nil {
		return // nothing more to do for a process that ends
	}
	for _, tid := range tids {
		if err := unix.SchedSetAttr(tid, &g.before, 0); err != nil {
			g.log.Debug("reset scheduling policy", "tid", tid, "err", err)
		}
	}
}
