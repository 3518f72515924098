package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// A kernel's code is loaded at its first launch (CUDA_MODULE_LOADING=LAZY, the default on Linux
// since CUDA 12.2). So a first step with many kernels takes long at each of them, not only at the
// first.

// Not all loads are recorded one by one: while most launches are slow, a slow launch is not
// notable.
const (
	minLoad     = 1_000_000 // ns; a shorter launch loads little
	loadTime    = 0.25      // least share of recorded loads in the time since the first, while a process begins
	fewLaunches = 1000      // most launches of a process in the seconds before its first load
)

// readKernelLoads finds the first launches of kernels while a process begins. Later, a slow launch
// of a kernel may have any reason.
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

// launchesBefore returns the number of a process's launches in the seconds before a time, Unix ns.
func (ev *evidence) launchesBefore(pid uint32, at uint64) (n uint64) {
	step := max(ev.in.SeriesStep, 1)
	for second, v := range ev.launchesOf(pid) {
		if second < at/1e9/step*step {
			n += v
		}
	}
	return n
}
