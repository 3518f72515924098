package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// minPairs is the least number of allocations and frees a second, all the time, of a process that
// could keep its memory instead.
const minPairs = 2.0

// lastingChurn is how long a process must have allocated and freed up to the end, and how long it may take to end
// after that, ns. A program that frees what it has as it ends may take a second.
const lastingChurn = 2_000_000_000

// hostWaits are the classes that have causes of their own, whatever the call.
var hostWaits = []event.Class{
	event.RunQueue, event.Throttled, event.BlockIO, event.Fault, event.Futex, event.Pipe,
	event.Network,
}

// own returns the time of a call of the given duration and ledger without host waits, ns: on a CPU, or
// asleep in the driver.
func own(duration uint64, l *event.Ledger) uint64 {
	var w uint64
	for _, c := range hostWaits {
		w += l.NS[c]
	}
	return duration - min(w, duration)
}

// churning returns the operations by which a thread allocates or frees, if its process does both for
// half of the time, or up to the end for a fifth of it or for lastingChurn, and the thread spends time on it. A loading
// phase does not count: it only allocates, and it ends.
func (as *allocations) churning(t *subject) map[event.Op]bool {
	var allocs, frees uint64
	var last [2]uint64 // of allocating, of freeing
	first := [2]uint64{^uint64(0), ^uint64(0)}
	ops := map[event.Op]bool{}
	var cost uint64
	for _, st := range as.memoryOps(t.PID) {
		role := 0
		if st.Op.Role() == event.RoleFree {
			role = 1
			frees += st.Calls - min(st.Errors, st.Calls)
		} else {
			allocs += st.Calls - min(st.Errors, st.Calls)
		}
		first[role], last[role] = min(first[role], st.First), max(last[role], st.Last)
		if st.Thread == t.Thread {
			ops[st.Op] = true
			cost += own(st.SumNS, &st.Ledger)
		}
	}
	wall := t.wall()
	pairs := min(allocs, frees)
	if pairs < minSample || float64(pairs) < minPairs*float64(wall)/1e9 || frees < allocs/2 ||
		percent(cost, wall) < minPct {
		return nil
	}
	for role := range first {
		took := last[role] - min(first[role], last[role])
		after := t.to - min(last[role], t.to)
		untilEnd := after <= wall/10 && took >= wall/5 || after <= lastingChurn && took >= lastingChurn
		if took < wall/2 && !untilEnd {
			return nil
		}
	}
	return ops
}

// memoryOps returns the statistics of a process's outermost calls that allocate or free. The runtime
// calls the driver inside its own calls: where a process calls the runtime, the driver's calls are
// left out.
func (as *allocations) memoryOps(pid uint32) []*store.OpStat {
	var runtime, driver []*store.OpStat
	for i := range as.in.Ops {
		st := &as.in.Ops[i]
		if r := st.Op.Role(); st.PID != pid || r != event.RoleAlloc && r != event.RoleFree {
			continue
		}
		if st.Op.Source() == event.SourceDriver {
			driver = append(driver, st)
		} else {
			runtime = append(runtime, st)
		}
	}
	if len(runtime) > 0 {
		return runtime
	}
	return driver
}

var causeAllocChurn = cause{
	kind:           event.CauseAllocChurn,
	settings:       []string{"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"},
	takes:          onCPU | waitsOnGPU,
	claimEpisode:   claimChurn,
	claimAggregate: aggregateChurn,
	describe:       describeChurn,
}

// claimChurn takes the whole time of calls that allocate or free again and again.
func claimChurn(_ *evidence, a *account) []claim {
	if a.Call == nil || !a.sub.churn[a.Op] {
		return nil
	}
	var v uint64
	for _, c := range append([]event.Class{event.OnCPU}, soft...) {
		v += a.whole(c, ^uint64(0))
	}
	if v == 0 {
		return nil
	}
	kind := key{kind: event.CauseAllocChurn}
	return []claim{{acc: a, key: kind, class: event.OnCPU, lost: v, explained: v, stall: v, count: 1}}
}

// aggregateChurn takes the time of the calls that allocate or free and were not stored one by one:
// the exact sums without what was claimed of the stored ones.
func aggregateChurn(ev *evidence, t *subject) []claim {
	var claims []claim
	for _, st := range t.ops {
		if t.churn[st.Op] {
			lost := t.take(st, own(st.SumNS, &st.Ledger))
			claims = append(claims,
				ev.calls.aggregateClaims(t, st, event.CauseAllocChurn, event.OnCPU, lost, st.Calls)...)
		}
	}
	return claims
}

func describeChurn(ev *evidence, f *finding, c *report.Chain) {
	var parts []string
	var allocs, bytes uint64
	for _, st := range ev.heaps.memoryOps(f.sub.PID) {
		if st.Thread != f.sub.Thread || !f.sub.churn[st.Op] {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s calls of %s on average", report.Count(st.Calls), st.Op,
			span(own(st.SumNS, &st.Ledger)/max(st.Calls, 1))))
		if st.Op.Role() == event.RoleAlloc {
			allocs, bytes = allocs+st.Calls, bytes+st.Bytes
		}
	}
	slices.Sort(parts)
	c.Summary = fmt.Sprintf("%s lost %s allocating and freeing memory again and again: %.0f allocations a second",
		f.process(ev), f.pct(), float64(allocs)/(float64(max(f.sub.wall(), 1))/1e9))
	c.Cause.Detail = strings.Join(parts, ", ")
	if allocs > 0 {
		c.Cause.Detail += fmt.Sprintf("; an allocation has %s on average", report.Bytes(bytes/allocs))
	}
	if n := freeing(f.claims); n >= f.lost/2 {
		c.Cause.Detail += fmt.Sprintf("; %s of it in freeing, which waits for the device", span(n))
	}
	if h := ev.heaps.heap(f.sub.PID, event.DeviceMemory); h != nil {
		for _, w := range []string{h.fragmentation(), h.failures(ev)} {
			if w != "" {
				c.Cause.Detail += "; " + w
			}
		}
	}
	c.Path = []report.Step{f.step(ev, "running", "allocating and freeing", f.lost)}
	c.Recommendations = ev.procs.advise(f.sub.PID, []string{"process", f.process(ev)}, adviceKeepMemory, adviceAllocator,
		advicePool)
}

// freeing returns the part of the lost time that was in calls that free, ns.
func freeing(claims claimList) uint64 {
	var ns uint64
	for _, cl := range claims {
		if cl.acc.role == event.RoleFree {
			ns += cl.lost
		}
	}
	return ns
}
