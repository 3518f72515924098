package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// claimGPUWait takes what a call that waits for the GPU took beyond its median.
// In a sync call all of it is GPU wait: drivers sleep, poll, wait in an ioctl or
// spin. An asynchronous copy that spins is copying pageable memory; a launch
// waits only if it sleeps, for room in the queue.
func claimGPUWait(_ *scene, a *account) []piece {
	if a.Call == nil {
		return nil
	}
	classes := soft
	switch a.role {
	case event.RoleSync:
		classes = append([]event.Class{event.OnCPU}, soft...)
	case event.RoleCopy:
		if !strings.Contains(a.Op.String(), "Async") {
			classes = append([]event.Class{event.OnCPU}, soft...)
		}
	case event.RoleLaunch, event.RoleFree:
	default:
		return nil
	}
	var v uint64
	for _, c := range classes {
		v += a.take(c, a.left[c])
	}
	if v == 0 {
		return nil
	}
	return []piece{{acc: a, key: key{kind: GPUWait}, class: event.Other, lost: v, explained: v, stall: v}}
}

func tellGPUWait(s *scene, f *finding, c *report.Chain) {
	e := c.Effect
	c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s: %d of %d calls took up to %s instead of %s",
		f.process(s), f.pct(), e.Op, e.SlowCalls, e.Calls, span(e.MaxNS), span(e.P50NS))
	c.Cause.Detail = "nothing on the host held the calls up: the GPU's own work took longer"
	if gpu := f.worst().acc.Call.GPU; gpu != event.NoGPU {
		c.Cause.Detail = fmt.Sprintf("nothing on the host held the calls up: the work of GPU %d took longer", gpu)
	}
	c.Path = []report.Step{f.step(s, "blocked", "GPU work", f.lost)}
	if n := f.nested(); n != nil {
		c.Path = append(c.Path, report.Step{Layer: n.Op.Source().String(), Process: f.process(s), PID: f.sub.PID, TID: f.sub.TID, Thread: e.Thread, State: "blocked", On: n.Op.String(), NS: f.lost})
	}
	c.Recommendations = []string{
		fmt.Sprintf("see which kernels ran before the slow %s: profile a few seconds of pid %d with a GPU profiler around the times in the evidence", e.Op, f.sub.PID),
		"check for others on the same GPU and for clock limits: nvidia-smi --query-compute-apps=pid,name --format=csv; nvidia-smi -q -d PERFORMANCE",
	}
}
