package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causePeerWait = cause{
	kind:         event.CausePeerWait,
	takes:        blocked,
	claimEpisode: claimPeer,
	joinsThreads: true,
	place:        sameChildren,
	counts:       atWork,
	describe:     describePeer,
	saysHow:      true,
}

// claimPeer takes waits for data from another process that was computing.
func claimPeer(_ *evidence, a *account) []claim { return a.through(event.CausePeerWait) }

// sameChildren is the place of waits for children of one name: a program that starts compilers waits for each of them.
// Other waits are for one process.
func sameChildren(ev *evidence, f *finding) (string, bool) {
	if _, o := f.worst.ended(); ev.host.children[o.Syscall] || ev.procs.startedFor(f.worst.last().Thread.PID, o) {
		return "child " + f.worst.last().Comm, true
	}
	return sameProcess(ev, f)
}

func describePeer(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	who := f.about(ev)
	did := f.claims.doing()
	was := f.parts.was() + " " + did.short("computing")
	if op := ev.calls.during(f.claims); op != "" {
		was = f.parts.was() + " in " + op
	}
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.worst.proof(), did.long())
	c.Path = f.path(ev, did.state(), did.on())
	c.Recommendations = []string{fmt.Sprintf("make %s faster or let %s do something else until its answer comes; see "+
		"what it does: perf top -p %d", who, f.process(ev), t.PID)}
	waiter, o := f.worst.ended()
	waits := fmt.Sprintf("%s lost %s waiting", f.process(ev), f.pct())
	by := f.process(ev)
	if waiter != f.sub.Thread {
		by = ev.procs.who(waiter, f.sub.PID)
		waits += fmt.Sprintf(" for %s, which waited", by)
	}
	started := ev.host.children[o.Syscall] || ev.procs.startedFor(f.worst.last().Thread.PID, o)
	switch {
	case started && f.parts.several():
		c.Summary = fmt.Sprintf("%s lost %s waiting for %d child processes (%s) to end, which %s",
			f.process(ev), f.pct(), len(f.parts), printable(f.worst.last().Comm), was)
		c.Cause.Detail = fmt.Sprintf("%s and those that started them waited in %s; they %s meanwhile", f.process(ev),
			ev.syscall(o.Syscall), did.long())
		c.Recommendations = []string{fmt.Sprintf("start %s before its result is needed, or from a thread that does not "+
			"launch the GPU's work; keep its results if they are needed again", printable(f.worst.last().Comm))}
	case started:
		c.Summary = fmt.Sprintf("%s for its child %s to end, which %s", waits, who, was)
		c.Cause.Detail = fmt.Sprintf("%s waited in %s; %s %s meanwhile", by, ev.syscall(o.Syscall), who, did.long())
		c.Recommendations = []string{fmt.Sprintf("start %s before its result is needed, or from a thread that does not "+
			"launch the GPU's work; keep its result if it is needed again", who)}
	case ev.host.sends(o) && ev.host.signals[o.WakerSyscall]:
		c.Summary = fmt.Sprintf("%s for room in a %s that nobody read, until %s ended it", waits, carrier(o), who)
		c.Cause.Detail = fmt.Sprintf("%s waited in %s until %s sent a signal; it %s meanwhile", by, ev.syscall(o.Syscall),
			who, did.long())
		c.Recommendations = []string{
			fmt.Sprintf("read what %s writes, or send it to a file or to /dev/null: a pipe has room for 64 KiB", f.process(ev)),
		}
	case ev.host.sends(o):
		c.Summary = fmt.Sprintf("%s for room in a %s that %s did not read: it %s", waits, carrier(o), who, was)
		c.Cause.Detail = fmt.Sprintf("%s waited in %s until %s read; it %s meanwhile", by, ev.syscall(o.Syscall), who,
			did.long())
		c.Recommendations = []string{
			fmt.Sprintf("let %s read sooner, or write less: what is written must not wait for its reader", who),
			fmt.Sprintf("or write from another thread than %d, through a queue that drops what nobody takes", f.sub.TID),
		}
	case !followable(o.Class):
		describeKernelWait(ev, f, c, o, waits, was)
	default:
		c.Summary = fmt.Sprintf("%s lost %s waiting for data from %s, which %s", f.process(ev), f.pct(), who, was)
	}
}

// describeKernelWait describes a wait in the kernel that another process ended. waits is who lost how much, was what
// that process did.
func describeKernelWait(ev *evidence, f *finding, c *report.Chain, o *event.OffCPU, waits, was string) {
	who, did := f.about(ev), f.claims.doing()
	switch {
	case ledger.Stopped(o):
		c.Summary = fmt.Sprintf("%s lost %s stopped, until %s let it go on", f.process(ev), f.pct(), who)
		c.Cause.Detail = fmt.Sprintf("%s stops its threads, by ptrace as debuggers and sampling profilers do, or by a "+
			"signal; it %s meanwhile", who, did.long())
		c.Recommendations = []string{fmt.Sprintf("end %s, or let it look without stopping the program (py-spy "+
			"--nonblocking, perf), or less often", who)}
	case ev.host.onAddressSpace(o):
		c.Summary = fmt.Sprintf("%s in %s for the lock of its address space (mmap_lock), which %s held: it %s", waits,
			ev.syscall(o.Syscall), who, was)
		c.Cause.Detail = fmt.Sprintf("the waits ended when %s was in %s; who reads what a process has mapped "+
			"(/proc/%d/smaps, maps), or its memory, holds that lock; it %s meanwhile", who, ev.syscall(o.WakerSyscall),
			f.sub.PID, did.long())
		c.Recommendations = []string{
			fmt.Sprintf("let %s read that less often, or /proc/PID/status and statm, which need no lock", who),
			fmt.Sprintf("map and unmap less in %s: keep buffers, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of mallopt(3) "+
				"keep malloc from it", f.process(ev)),
		}
	default:
		c.Summary = fmt.Sprintf("%s in %s for %s, which %s", waits, ev.syscall(o.Syscall), who, was)
		c.Cause.Detail = fmt.Sprintf("the waits ended when %s was in %s: it served them, or held what they were for; it %s "+
			"meanwhile", who, ev.syscall(o.WakerSyscall), did.long())
	}
}

// carrier names what a thread waited for room in.
func carrier(o *event.OffCPU) string {
	if o.Class == event.Network {
		return "socket"
	}
	return "pipe"
}

// syscall names a system call of the machine. One that does not say what it is counts as x86-64.
func (ev *evidence) syscall(nr int16) string {
	arch := ev.in.Arch
	if event.Syscalls[arch] == nil {
		arch = "amd64"
	}
	return event.SyscallName(arch, int(nr))
}

// onAddressSpace reports whether a thread waited in a system call for the lock of its address space, which another
// process held. For its own threads see page_fault.go.
func (hs *hostState) onAddressSpace(o *event.OffCPU) bool {
	const uninterruptible = 2 // TASK_UNINTERRUPTIBLE, a task's state at a switch (include/linux/sched.h)
	return o.State == uninterruptible && o.Syscall >= 0 && hs.addressSpace[o.Syscall] && o.Waker.PID != 0 &&
		o.Waker.PID != o.PID && o.WakerSyscall >= 0
}
