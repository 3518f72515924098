package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// hangFix is what to do about a call, or a program, that hangs.
func (gs *gpuReadings) hangFix(f *inFlightCall) []string {
	var fix []string
	switch {
	case f.gil:
		fix = append(fix, "let the interpreter lock go before the call (Py_BEGIN_ALLOW_THREADS; ctypes.CDLL, not PyDLL), or "+
			"take it in nothing that the driver calls back; the stacks of both threads: select * from calls_in_flight, "+
			"lock_holders")
	case f.cycle:
		fix = append(fix, "take these locks in the same order in every thread, or release the one before waiting for the "+
			"other; the stacks of both threads: select * from calls_in_flight, lock_holders")
	case f.last().Stuck:
		fix = append(fix, "a lock that was taken when the process was forked stays taken in the child: start workers before "+
			"threads that take locks, or by spawn or forkserver instead of fork (multiprocessing.set_start_method)",
			fmt.Sprintf("where it waits: ingero query \"select f.depth, f.symbol, f.file, f.line, f.module from lock_holders h "+
				"join stack_frames f on f.stack_hash = h.stack_hash where h.tid = %d order by f.depth\"", f.last().TID))
	case len(f.chain) > 0:
		last := f.last()
		fix = append(fix, fmt.Sprintf("see what %s (tid %d) does while it holds the lock: ingero query \"select f.depth, "+
			"f.symbol, f.module from lock_holders h join stack_frames f on f.stack_hash = h.stack_hash where h.tid = %[2]d "+
			"order by f.depth\"", printable(last.Comm), last.TID))
	case f.Doing == event.Blocked && f.Class == event.Futex:
		fix = append(fix, "find who was to wake it: its stack below says what it waits for; a notification that was lost, "+
			"or a thread that died, looks like this")
	case f.File != "" && f.Class != event.Ioctl:
		fix = append(fix, fmt.Sprintf("find who is at the other end of %s, and why it does not answer: ls -l /proc/*/fd | "+
			"grep, ss -xp", printable(f.File)))
	}
	alone := len(f.chain) == 0 && !f.cycle
	if f.Op.Role() == event.RoleSync && alone && gs.xidOf(f) == nil {
		fix = append(fix, "the GPU did not finish: look for an Xid in the kernel's log (dmesg | grep -i xid), and at "+
			"nvidia-smi for whether it still works on something")
	}
	if alone && (f.Op.Role() == event.RoleSync || f.Op.Source() == event.SourceNCCL) {
		fix = append(fix, "where several processes work together, find the one that did not reach the same collective: "+
			"run ingero there too; with NCCL, NCCL_DEBUG=INFO and a timeout (TORCH_NCCL_ASYNC_ERROR_HANDLING=1) name it")
	}
	view := "calls_in_flight"
	if f.Silent {
		view = "silent_threads"
	}
	return append(fix, fmt.Sprintf("where it is in the code: ingero query \"select f.depth, f.kind, f.symbol, f.file, "+
		"f.line, f.module from %s c join stack_frames f on f.stack_hash = c.stack_hash where c.tid = %d "+
		"order by f.depth\"", view, f.TID))
}
