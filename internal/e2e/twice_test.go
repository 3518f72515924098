package e2e_test

import (
	"testing"

	"github.com/ingero-io/ingero/internal/e2e"
)

func TestWhatFailsOnceIsTriedOnceMore(t *testing.T) {
	runs := 0
	e2e.Twice(t, func(t testing.TB) {
		runs++
		if runs == 1 {
			t.Fatalf("run %d", runs)
		}
	})
	e2e.Twice(t, func(testing.TB) { runs += 10 })
	if runs != 12 {
		t.Errorf("%d runs, want two of the first and one of the second", runs)
	}
}
