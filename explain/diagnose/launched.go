package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

type processFunc struct {
	pid uint32
	fn  uint64
}

func (ev *evidence) readKernels() {
	ev.calls.kernels = map[processFunc]string{}
	for i := range ev.in.Kernels {
		k := &ev.in.Kernels[i]
		ev.calls.kernels[processFunc{k.PID, k.Func}] = k.Name
	}
}

// kernelOf returns the name of the kernel that a call launches, empty if it launches none or the name is
// not known.
func (cs *callStats) kernelOf(c *event.Call) string {
	if c == nil || !c.Op.LaunchesKernel() {
		return ""
	}
	return printable(cs.kernels[processFunc{c.PID, c.Args[0]}])
}

// kernel returns the kernel whose launches lost more than half of the time in calls, empty if
// there is none.
func (l claimList) kernel(cs *callStats) string {
	by := map[string]uint64{}
	var all uint64
	for _, cl := range l {
		if c := cl.acc.Call; c != nil && cl.lost >= uint64(store.SlowExcess) {
			by[cs.kernelOf(c)] += cl.lost
			all += cl.lost
		}
	}
	for name, lost := range by {
		if name != "" && lost > all/2 {
			return name
		}
	}
	return ""
}
