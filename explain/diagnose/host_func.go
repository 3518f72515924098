package diagnose

import (
	"strings"

	"github.com/ingero-io/ingero/event"
)

// A program may let the driver call a function of its own when the GPU has reached it (cuLaunchHostFunc), and wait
// for that on a condition variable: JAX waits for its results this way only. The wait is for the GPU, although it
// only shows that a thread of the program ended it.

// tellsHost reports whether calls of an operation queue a function that the driver calls on the host.
func tellsHost(op event.Op) bool {
	return strings.HasSuffix(op.String(), "LaunchHostFunc") || strings.HasSuffix(op.String(), "StreamAddCallback")
}

// settleHostFuncs finds a thread's waits between calls for something that the GPU had to reach: a thread that gives
// the GPU no work ended them through a futex without an owner, no more often than host functions were queued.
func (ps *processes) settleHostFuncs(t *subject) {
	if ps.hostFuncs[t.PID] == 0 {
		return
	}
	announced := func(o *event.OffCPU, r *root) bool {
		return r.between && causeOf(r.kind).hostFunc != "" && r.behind(o) != 0 && !ps.workers[r.chain[1].Thread]
	}
	waits := map[uint32]uint64{}
	for o, r := range t.waits {
		if announced(o, &r) {
			waits[r.behind(o)]++
		}
	}
	for o, r := range t.waits {
		if announced(o, &r) && waits[r.behind(o)] <= ps.hostFuncs[t.PID] {
			r.kind = causeOf(r.kind).hostFunc
			t.waits[o] = r
		}
	}
}
