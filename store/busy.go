package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
)

// Busy is a period in which a process handed work to a GPU or waited for it.
type Busy struct {
	PID   uint32
	GPU   int8   // in the process's own numbering; event.NoGPU if unknown
	Start uint64 // Unix ns
	End   uint64 // Unix ns
}

// BusyGap is the pause between two calls from which they belong to different periods. It is longer
// than the preparation of a launch, and shorter than waits of interest that another process's work
// causes.
const BusyGap = 5 * time.Millisecond

// BusySpans builds periods from calls. Calls may come in any order, but memory is bounded by the
// number of periods only if they come in order of time.
type BusySpans struct {
	open map[busyKey][]Busy
}

type busyKey struct {
	pid uint32
	gpu int8
}

// Add counts a call if it uses a GPU.
func (b *BusySpans) Add(pid uint32, gpu int8, op event.Op, start, end uint64) {
	switch op.Role() {
	case event.RoleLaunch, event.RoleSync, event.RoleCopy:
	default:
		return
	}
	if b.open == nil {
		b.open = map[busyKey][]Busy{}
	}
	k := busyKey{pid, gpu}
	list := b.open[k]
	if n := len(list); n > 0 {
		if last := &list[n-1]; start >= last.Start && near(last.End, start) {
			last.End = max(last.End, end)
			return
		}
	}
	b.open[k] = append(list, Busy{PID: pid, GPU: gpu, Start: start, End: max(start, end)})
}

// near reports whether a call at the given time continues a period.
func near(end, at uint64) bool { return at <= end || at-end <= uint64(BusyGap) }

// Spans returns the periods by process, GPU and time. Those of one process on one GPU do not
// overlap.
func (b *BusySpans) Spans() []Busy {
	var all []Busy
	for _, list := range b.open {
		slices.SortFunc(list, func(a, b Busy) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
		merged := list[:1]
		for _, s := range list[1:] {
			if last := &merged[len(merged)-1]; near(last.End, s.Start) {
				last.End = max(last.End, s.End)
				continue
			}
			merged = append(merged, s)
		}
		all = append(all, merged...)
	}
	slices.SortFunc(all, func(a, b Busy) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Start, b.Start))
	})
	return all
}
