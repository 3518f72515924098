package ledger_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
)

func TestSortStableIsTheStandardLibrarysStableSort(t *testing.T) {
	type value struct {
		key, then, last uint64
		n               int
	}
	further := func(a, b *value) int { return cmp.Compare(a.last, b.last) }
	rng := rand.New(rand.NewPCG(1, 2))
	for size := range 60 {
		list := make([]value, size)
		for i := range list {
			list[i] = value{rng.Uint64N(uint64(size)/4 + 1), rng.Uint64N(2), rng.Uint64N(2), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b value) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.then, b.then), further(&a, &b))
		})
		for range 2 { // the second time it is already sorted
			ledger.SortStable(list, func(v *value) ledger.Key { return ledger.Key{v.key, v.then} }, further)
			if !slices.Equal(list, want) {
				t.Fatalf("%v, want %v", list, want)
			}
		}
	}
}
