package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

// heap is what a process had allocated in one space over the window.
type heap struct {
	pid   uint32
	space event.Space
	rows  []event.Memory     // by time
	sites []event.MemorySite // by time
}

// readHeaps sorts the records of memory by process and space.
func (ev *evidence) readHeaps() {
	type place struct {
		pid   uint32
		space event.Space
	}
	by := map[place]*heap{}
	for _, m := range ev.in.Memory {
		k := place{m.PID, m.Space}
		if by[k] == nil {
			by[k] = &heap{pid: m.PID, space: m.Space}
			ev.heaps.list = append(ev.heaps.list, by[k])
		}
		by[k].rows = append(by[k].rows, m)
	}
	for _, m := range ev.in.MemorySites {
		if h := by[place{m.PID, m.Space}]; h != nil {
			h.sites = append(h.sites, m)
		}
	}
	slices.SortFunc(ev.heaps.list,
		func(a, b *heap) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.space, b.space)) })
	for _, h := range ev.heaps.list {
		slices.SortFunc(h.rows, func(a, b event.Memory) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.LiveBytes, b.LiveBytes), cmp.Compare(a.Allocs, b.Allocs))
		})
		slices.SortFunc(h.sites, func(a, b event.MemorySite) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Stack, b.Stack),
				cmp.Compare(a.LiveBytes, b.LiveBytes))
		})
	}
}

func (as *allocations) heap(pid uint32, space event.Space) *heap {
	for _, h := range as.list {
		if h.pid == pid && h.space == space {
			return h
		}
	}
	return nil
}

// figures returns a process's device memory for the report, nil if it had none.
func (as *allocations) figures(pid uint32) *report.Memory {
	h := as.heap(pid, event.DeviceMemory)
	if h == nil {
		return nil
	}
	last := &h.rows[len(h.rows)-1]
	m := &report.Memory{LiveBytes: last.LiveBytes, LiveCount: last.LiveCount, PeakBytes: last.PeakBytes}
	for i := range h.rows {
		r := &h.rows[i]
		m.Allocs += r.Allocs
		m.Frees += r.Frees
		m.Failed += r.Failed
		m.Bytes += r.Bytes
	}
	return m
}

// Memory counts as fragmented if allocations take longer the more of them are live: over at least
// minSeconds records with allocations, comparing the last quarter of them with the first.
const (
	minSeconds    = 8
	minSlowdown   = 1.5
	minMore       = 1.2
	minSlowdownNS = 10_000 // on average
)

// fragmentation says how allocations became slower as more were live, empty if they did not.
func (h *heap) fragmentation() string {
	var live, mean []float64
	for i := range h.rows {
		if r := &h.rows[i]; r.Allocs > 0 {
			live = append(live, float64(r.LiveCount))
			mean = append(mean, float64(r.AllocNS)/float64(r.Allocs+r.Failed))
		}
	}
	n := len(live)
	if n < minSeconds || correlation(live, mean) < minCorrelation {
		return ""
	}
	q := n / 4
	before, after := stats.Middle(mean[:q]), stats.Middle(mean[n-q:])
	few, many := stats.Middle(live[:q]), stats.Middle(live[n-q:])
	if after < minSlowdown*before || after < before+minSlowdownNS || many < minMore*few {
		return ""
	}
	return fmt.Sprintf("the more allocations were live, the longer one took: %s on average with %.0f live, %s with "+
		"%.0f, as with fragmented memory",
		span(uint64(before)), few, span(uint64(after)), many)
}

// failures describes allocations that failed although the process had had more memory before.
func (h *heap) failures(ev *evidence) string {
	var failed uint64
	var at *event.Memory
	for i := range h.rows {
		if r := &h.rows[i]; r.Failed > 0 && r.LiveBytes < r.PeakBytes {
			failed += r.Failed
			at = r
		}
	}
	if at == nil {
		return ""
	}
	used := ev.memoryUsed(h.pid, at.At)
	if used != "" {
		used = "; " + used
	}
	return fmt.Sprintf("%s failed with %s live, below the peak of %s: free memory is fragmented, or another "+
		"process has taken it%s",
		plural(int(failed), "allocation", "allocations"), report.Bytes(at.LiveBytes), report.Bytes(at.PeakBytes), used)
}
