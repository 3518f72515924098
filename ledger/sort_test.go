package ledger_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/ledger"
)

func TestSortStableIsTheStandardLibrarysStableSort(t *testing.T) {
	type value struct{ key, n int }
	rng := rand.New(rand.NewPCG(1, 2))
	for size := range 60 {
		list := make([]value, size)
		for i := range list {
			list[i] = value{rng.IntN(size/2 + 1), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b value) int { return cmp.Compare(a.key, b.key) })
		for range 2 { // the second time it is sorted already
			ledger.SortStable(list, func(a, b *value) int { return cmp.Compare(a.key, b.key) })
			if !slices.Equal(list, want) {
				t.Fatalf("%v, want %v", list, want)
			}
		}
	}
}
