package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Some waits look to the tracer like what they are not: a thread that sleeps uninterruptibly in a system call that
// reads no file waits for a lock of the kernel's, not for a disk; one that is stopped outside of a system call waits
// for who stopped it, not in a page fault. Who ended such a wait is who it was for.

// uninterruptible is TASK_UNINTERRUPTIBLE, a task's state at a switch (include/linux/sched.h).
const uninterruptible = 2

// addressSpace are the system calls that change a process's address space. They wait for its lock (mmap_lock), which
// other processes take to read what is mapped, and for no disk.
const addressSpace = "mmap munmap mremap mprotect brk"

// onAddressSpace reports whether a thread waited in a system call for the lock of its address space, which another
// process held. For its own threads see page_fault.go.
func (hs *hostState) onAddressSpace(o *event.OffCPU) bool {
	return o.State == uninterruptible && o.Syscall >= 0 && hs.addressSpace[o.Syscall] && o.Waker.PID != 0 &&
		o.Waker.PID != o.PID && o.WakerSyscall >= 0
}

// readMisread makes waits that are no waits for a disk or a page waits for other threads.
func (ev *evidence) readMisread() {
	in := ev.in
	if in.misread == nil {
		in.misread = map[store.CallKey]event.Class{}
	}
	for i := range in.OffCPU {
		o := &in.OffCPU[i]
		if o.Class != event.Fault && o.Class != event.BlockIO || !ledger.Stopped(o) && !ev.host.onAddressSpace(o) {
			continue
		}
		in.misread[store.CallKey{Thread: o.Thread, Start: o.Start}] = o.Class
		o.Class = event.Other
	}
}

// correct moves the time of such waits of an episode to their class.
func (in *Input) correct(e *ledger.Episode, split *ledger.Split) {
	for _, o := range e.Rows {
		was, ok := in.misread[store.CallKey{Thread: o.Thread, Start: o.Start}]
		if !ok {
			continue
		}
		b, to := ledger.Blocked(o)
		v := min(to-min(b, to), split.NS[was])
		split.NS[was] -= v
		split.NS[event.Other] += v
	}
}
