package ledger

import (
	"cmp"
	"slices"
)

// Key is the sort key of large values, ascending: by the first number, then the second.
type Key [2]uint64

func (k Key) compare(o Key) int { return cmp.Or(cmp.Compare(k[0], o[0]), cmp.Compare(k[1], o[1])) }

// SortStable sorts large values by their keys and, where these are equal, by further, unless that is nil. It reads
// and moves each value once, while slices.SortFunc does both at every step. If a list is already sorted, it only
// reads it.
func SortStable[T any](list []T, key func(*T) Key, further func(a, b *T) int) {
	type place struct {
		key Key
		at  int32
	}
	less := func(a, b place) int {
		if c := a.key.compare(b.key); c != 0 {
			return c // nearly always
		}
		if further != nil {
			if c := further(&list[a.at], &list[b.at]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.at, b.at)
	}
	places := make([]place, len(list))
	for i := range list {
		places[i] = place{key(&list[i]), int32(i)}
	}
	if slices.IsSortedFunc(places, less) {
		return
	}
	slices.SortFunc(places, less)
	old := slices.Clone(list)
	for i, p := range places {
		list[i] = old[p.at]
	}
}
