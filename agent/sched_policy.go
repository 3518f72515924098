package agent

import (
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// schedPolicy lowers the priority of this process (sched(7)). All its threads are SCHED_BATCH:
// their wake-ups never preempt the traced programs. All but the thread that drains the ring also
// have a third of the normal weight and short time slices. They get the normal weight while they
// are behind, and while a client request is pending.
//
// They are not SCHED_IDLE, whose weight is 0.3 % of the normal one: threads of Go's runtime wait
// for each other, for example to collect garbage. Beside programs that used all CPUs, the draining
// thread did not run for up to 13 s, and new processes did not get their probes.
type schedPolicy struct {
	log    *slog.Logger
	fs     proc.FS
	before unix.SchedAttr // of the draining thread, before the change
	drain  int            // the draining thread
	free   bool           // nice values may be lowered again; without CAP_SYS_NICE they may not
	behind bool
	known  map[int]int32 // nice values set, by thread
}

const (
	// giveWay is the nice value with a third of the normal weight (sched_prio_to_weight in
	// kernel/sched/core.c). Beside 4 busy loops on 2 CPUs, forks were handled within 0.12 s;
	// with nice 10 within 0.2 s, with 19 within 3.8 s.
	giveWay = 5
	// shortSlice is the time slice in ns: 0.1 ms, the shortest that sched_setattr(2) accepts.
	// Kernels before 6.12 ignore it.
	shortSlice = 100_000
)

// The fill of the ring from which the recorder is behind, and the fill below which it has caught
// up.
const (
	behindFill = 0.10
	caughtUp   = 0.02
)

// newSchedPolicy lowers the priority of this process. The calling thread must be the one that
// drains, and must be locked (runtime.LockOSThread).
func newSchedPolicy(log *slog.Logger) *schedPolicy {
	g := &schedPolicy{log: log, fs: proc.New(""), drain: unix.Gettid(), free: mayRise(), known: map[int]int32{}}
	if a, err := unix.SchedGetAttr(0, 0); err == nil { // on an error, normal values are assumed
		g.before = *a
		g.before.Runtime = 0 // the default time slice
	}
	g.apply()
	return g
}

// spare gives a program that this process started the policy that it would have had without the
// tracer: children inherit the policy, and SCHED_FLAG_RESET_ON_FORK resets only real-time policies
// and negative nice values (sched(7)).
func (g *schedPolicy) spare(pid int) {
	if err := unix.SchedSetAttr(pid, &g.before, 0); err != nil {
		g.log.Warn("cannot reset the scheduling policy of the started program; it keeps the tracer's", "err", err)
	}
}

// mayRise reports whether this process may lower its nice values.
func mayRise() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// watch is called before each drain with the fill of the ring; urgent work must not wait.
func (g *schedPolicy) watch(fill float64, urgent bool) {
	switch {
	case urgent || fill > behindFill:
		g.hurry()
	case g.behind && fill < caughtUp:
		g.behind = false
	}
	g.apply()
}

// hurry gives all threads the normal weight until they have caught up.
func (g *schedPolicy) hurry() {
	if !g.behind {
		g.behind = true
		g.apply() // at once: the next drain may be much later
	}
}

// apply sets the policy of every thread that has another one. It is called at every drain, as new
// threads inherit from the thread that made them.
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
		if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
			g.log.Debug("set scheduling policy", "tid", tid, "err", err) // the thread may have ended
			continue
		}
		g.known[tid] = attr.Nice
	}
}

// leaveLooks is how often in a row leave must find no other thread. The first pause between these looks is leavePause,
// and each further one twice as long.
const (
	leaveLooks = 5
	leavePause = time.Millisecond
)

// leave restores the process's policy. Meanwhile a thread can start another one, which inherits a policy that is not
// restored yet. Until it is started it is not listed, and a list that is read while threads end may lack some: so leave
// looks again, until it has found no other thread a few times.
func (g *schedPolicy) leave() {
	restored := map[int]bool{}
	for none := 0; none < leaveLooks; {
		if none > 0 {
			time.Sleep(leavePause << (none - 1))
		}
		tids, err := g.fs.Threads(unix.Getpid())
		if err != nil {
			return // the process ends anyway
		}
		none++
		for _, tid := range tids {
			if restored[tid] {
				continue
			}
			none, restored[tid] = 0, true
			if err := unix.SchedSetAttr(tid, &g.before, 0); err != nil {
				g.log.Debug("reset scheduling policy", "tid", tid, "err", err)
			}
		}
	}
}
