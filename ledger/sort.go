package ledger

import (
	"cmp"
	"slices"
)

// SortStable sorts large values: it moves each of them once, where slices.SortFunc
// moves them at every step and copies both for each comparison. Sorted lists cost
// one look at each value.
func SortStable[T any](list []T, compare func(a, b *T) int) {
	sorted := true
	for i := 1; i < len(list) && sorted; i++ {
		sorted = compare(&list[i-1], &list[i]) <= 0
	}
	if sorted {
		return
	}
	at := make([]int32, len(list))
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortFunc(at, func(a, b int32) int {
		if c := compare(&list[a], &list[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	old := slices.Clone(list)
	for i, from := range at {
		list[i] = old[from]
	}
}
