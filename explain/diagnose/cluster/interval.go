package cluster

import (
	"cmp"
	"slices"
)

// Interval is a piece of time, Unix ns; To is not part of it.
type Interval struct{ From, To uint64 }

// Joined are intervals in order, made one where they overlap. The list itself is sorted.
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
