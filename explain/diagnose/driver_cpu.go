package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeDriverCPU = cause{
	kind:         event.CauseDriverCPU,
	takes:        onCPU,
	claimEpisode: claimDriverCPU,
	complete:     (*evidence).discount,
	describe:     describeDriverCPU,
}

// claimDriverCPU takes the on-CPU time of a call beyond its median that is neither GPU wait nor
// cold start. It is counted at the outermost call, which includes the driver calls that it makes.
func claimDriverCPU(_ *evidence, a *account) []claim {
	v := a.take(event.OnCPU, a.left[event.OnCPU])
	if v == 0 {
		return nil
	}
	return []claim{{acc: a, key: key{kind: event.CauseDriverCPU}, class: event.OnCPU, lost: v, explained: v, stall: v}}
}

// discount subtracts from what a finding explains the on-CPU time that the hypervisor probably
// stole during the same operations: steal hits all work alike, in pieces too short to show as
// stalls. Steal within the excess only made the excess longer; so the estimate is taken from the
// usual work of the operations. For waits that are compared with waits for the same work, that is
// all their time but the lost time.
func (ev *evidence) discount(f *finding) {
	share := ev.host.stealShare()
	if share == 0 {
		return
	}
	var usual uint64
	done, lost := map[event.Op]bool{}, map[event.Op]uint64{}
	for _, cl := range f.claims {
		lost[cl.acc.Op] += cl.lost
	}
	for _, cl := range f.claims {
		st := ev.calls.stats[threadOp{f.sub.Thread, cl.acc.Op}]
		if st == nil || st.Hist == nil || done[cl.acc.Op] {
			continue
		}
		done[cl.acc.Op] = true
		if cl.acc.ofWork() {
			usual += st.SumNS - min(st.SumNS, lost[cl.acc.Op])
			continue
		}
		usual += st.Calls * ev.calls.median(st)
	}
	f.explained -= min(f.explained, uint64(share*float64(usual)))
}

func describeDriverCPU(ev *evidence, f *finding, c *report.Chain) {
	e := c.Effect
	c.Summary = fmt.Sprintf("%s lost %s on CPU inside %s: %s",
		f.process(ev), f.pct(), e.Op, f.tookLonger(&e))
	c.Cause.Detail = "the library itself ran; the thread was neither blocked nor short of a CPU"
	c.Path = []report.Step{f.step(ev, "running", "inside "+e.Op, f.lost)}
	if n := f.worst.nested(); n != nil {
		c.Cause.Detail += ", most of it in " + n.Op.String()
		c.Path = append(c.Path, report.Step{
			Layer: n.Op.Source().String(), Process: f.process(ev), PID: f.sub.PID,
			TID: f.sub.TID, Thread: e.Thread, State: "running", On: n.Op.String(), NS: f.claims.nestedNS(),
		})
	}
	switch f.worst.acc.role {
	case event.RoleLaunch:
		c.Recommendations = []string{
			fmt.Sprintf("let %s have fewer launches in flight: a full launch queue makes %s spin; synchronise every few "+
				"hundred launches, or use CUDA graphs", f.process(ev), e.Op),
			"or the kernels were loaded on their first launch: CUDA_MODULE_LOADING=EAGER moves that to the start",
		}
	case event.RoleCopy:
		c.Recommendations = []string{
			fmt.Sprintf("let %s have fewer copies and launches in flight: a full queue makes %s spin", f.process(ev), e.Op),
		}
		c.Recommendations = append(c.Recommendations, ev.procs.advise(f.sub.PID, nil, advicePinned)...)
	case event.RoleAlloc, event.RoleFree:
		c.Recommendations = []string{fmt.Sprintf("keep and reuse device memory instead of calling %s in the loop: "+
			"cudaMallocAsync with a pool, or the framework's caching allocator", e.Op)}
	default:
		c.Recommendations = []string{fmt.Sprintf("see where %s spends the time: perf record -g -t %d", e.Op, f.sub.TID)}
	}
}
