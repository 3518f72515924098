package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// families are the allocating operations with the operation that frees their memory. Driver calls
// are left out, because the runtime makes them.
var families = []struct {
	allocs []string
	free   string
}{
	{[]string{"cudaMalloc", "cudaMallocManaged"}, "cudaFree"},
	{[]string{"cudaMallocAsync"}, "cudaFreeAsync"},
	{[]string{"cudaMallocHost", "cudaHostAlloc"}, "cudaFreeHost"},
}

// Thresholds: allocations without a free, and the ratio and the length of a tail (p99) against the
// median.
const (
	minUnfreed = 100
	minTail    = 10
	minTailNS  = 100_000
)

// warnings describe what is unusual in how a process uses memory and graphs.
func (ev *evidence) warnings(p *report.Process) []string {
	by := map[string]*report.Op{}
	for i := range p.Ops {
		by[p.Ops[i].Op] = &p.Ops[i]
	}
	var w []string
	for _, g := range ev.heaps.leaks {
		if g.pid == p.PID {
			w = append(w, fmt.Sprintf("memory leak: %s grows by %s, %s of %s not freed since %s",
				g.memory(), g.perMinute(), plural(int(g.count), "allocation", "allocations"), report.Bytes(g.bytes), g.at()))
		}
	}
	for _, f := range families {
		var allocs, frees uint64
		for _, a := range f.allocs {
			if o := by[a]; o != nil {
				allocs += o.Calls - min(o.Errors, o.Calls)
			}
		}
		if o := by[f.free]; o != nil {
			frees = o.Calls
		}
		if allocs > frees && allocs-frees >= minUnfreed {
			w = append(w, fmt.Sprintf("malloc/free imbalance: %s allocations without corresponding %s",
				report.Count(allocs-frees), f.free))
		}
	}
	var fragmented, failures string
	if h := ev.heaps.heap(p.PID, event.DeviceMemory); h != nil {
		fragmented, failures = h.fragmentation(), h.failures(ev)
	}
	for i := range p.Ops {
		o := &p.Ops[i]
		info, ok := event.ByName(o.Op)
		if !ok || info.Role != event.RoleAlloc || o.P50NS == 0 || o.P99NS < minTailNS || o.P99NS/o.P50NS < minTail {
			continue
		}
		tail := fmt.Sprintf("%s p99 (%s) is %dx p50 (%s)", o.Op, report.Compact(o.P99NS), o.P99NS/o.P50NS,
			report.Compact(o.P50NS))
		if fragmented != "" && info.Space == event.DeviceMemory {
			tail += ": fragmentation pressure"
		}
		w = append(w, tail)
	}
	if fragmented != "" {
		w = append(w, "memory fragmentation: "+fragmented)
	}
	if failures != "" {
		w = append(w, failures)
	}
	return append(w, ev.graphWarnings(p)...)
}
