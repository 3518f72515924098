package agent

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

// A program that marks more than can be recorded loses marks, each counted, and only of that second.
func TestMarksOfASecondAreBounded(t *testing.T) {
	const second = 1_000_000_000
	var m marks
	var kept int
	for _, s := range []struct {
		at uint64
		n  int
	}{{5, maxMarks - 1}, {5, 100}, {6, 50}, {5, 3}, {7, maxMarks + 7}} {
		list := make([]event.Mark, s.n)
		for i := range list {
			list[i].Start = s.at*second + uint64(i)
		}
		kept += len(m.bound(list))
	}
	if want := maxMarks + 50 + 3 + maxMarks; kept != want || m.dropped != 99+7 {
		t.Errorf("%d kept and %d dropped, want %d and %d", kept, m.dropped, want, 99+7)
	}
}
