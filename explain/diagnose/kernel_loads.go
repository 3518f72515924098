package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// The code of a kernel is loaded when it is launched first (CUDA_MODULE_LOADING=LAZY, on Linux the
// default since CUDA 12.2). A first step of many kernels takes long for all of them, not only for the
// first.

// Not all loads are listed one by one: as long as most launches are slow, one more is not notable.
const (
	minLoad     = 1_000_000 // ns; a shorter launch loads little
	loadTime    = 0.25      // share of the time since the first of them that listed loads take while a process begins
	fewLaunches = 1000      // launches of a process at most, in the seconds before that
)

// readKernelLoads finds the first launches of kernels while a process begins. Later, one slow
// launch of each of several kernels may have any reason.
func (ev *evidence) readKernelLoads() {
	ev.calls.kernelLoads = map[callStart]bool{}
	slow := map[uint32][]*event.Call{}
	for i := range ev.in.Calls {
		if c := &ev.in.Calls[i]; c.Depth == 0 && c.Op.LaunchesKernel() && c.Args[0] != 0 && c.Duration >= minLoad {
			slow[c.PID] = append(slow[c.PID], c)
		}
	}
	for pid, list := range slow {
		slices.SortFunc(list, func(a, b *event.Call) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Op, b.Op))
		})
		if ev.launchesBefore(pid, list[0].Start) > fewLaunches {
			continue
		}
		launched := map[uint64]bool{}
		var loads uint64
		for _, c := range list {
			if launched[c.Args[0]] {
				continue
			}
			launched[c.Args[0]] = true
			loads += c.Duration
			if share(loads, c.End()-list[0].Start) < loadTime {
				break
			}
			ev.calls.kernelLoads[callStart{c.Thread, c.Start}] = true
		}
	}
}

// launchesBefore is how many launches of a process are known in the seconds before a time, Unix ns.
func (ev *evidence) launchesBefore(pid uint32, at uint64) (n uint64) {
	step := max(ev.in.SeriesStep, 1)
	for second, v := range ev.launchesOf(pid) {
		if second < at/1e9/step*step {
			n += v
		}
	}
	return n
}
