package cluster

import (
	"cmp"
	"slices"
)

// Interval is a span of time in Unix ns, without To.
type Interval struct{ From, To uint64 }

// Joined sorts the intervals and merges those that overlap. The list itself is sorted, too.
func Joined(list []Interval) []Interval {
	slices.SortFunc(list, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	var out []Interval
	for _, v := range list {
		if n := len(out); n > 0 && v.From < out[n-1].To {
			out[n-1].To = max(out[n-1].To, v.To)
			continue
		}
		out = append(out, v)
	}
	return out
}
