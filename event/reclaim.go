package event

import "fmt"

// ReclaimKind says why a thread had to make room before it got memory.
type ReclaimKind uint8

// The kinds of reclaim.
const (
	ReclaimDirect     ReclaimKind = 1 + iota // the machine was short of free memory
	ReclaimCgroup                            // its control group was at its limit
	ReclaimCompaction                        // free memory was too fragmented
)

var reclaimNames = [...]string{"", "direct", "cgroup", "compaction"}

// String returns the name used in SQL and text.
func (k ReclaimKind) String() string {
	if int(k) < len(reclaimNames) && k > 0 {
		return reclaimNames[k]
	}
	return fmt.Sprintf("reclaim-%d", uint8(k))
}

// ReclaimByName is the inverse of String.
func ReclaimByName(name string) (ReclaimKind, bool) {
	for k, n := range reclaimNames {
		if n == name && k > 0 {
			return ReclaimKind(k), true
		}
	}
	return 0, false
}

// Reclaim is a span in which an accounted thread that asked for memory first had to
// free some (reclaim) or move some (compaction). Reclaims of one kind that follow
// each other within a millisecond are one span.
type Reclaim struct {
	Start    uint64 // Unix ns
	Duration uint64 // ns
	NS       uint64 // ns of Duration in reclaim; the rest is between its parts
	Thread
	Kind  ReclaimKind
	Parts uint32 // reclaims in the span
}

// End is the Unix time in ns at which the span ended.
func (r *Reclaim) End() uint64 { return r.Start + r.Duration }
