package sqlite

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestFewCallsAreKept(t *testing.T) {
	m := memo{on: true}
	some := func(from, n int) (out []event.Call) {
		for i := range n {
			out = append(out, event.Call{Start: uint64(from + i)})
		}
		return out
	}
	m.keep(0, maxMemo, some(0, maxMemo+1))
	if _, _, _, ok := m.kept(0, 10); ok {
		t.Error("more was kept than is allowed")
	}
	m.keep(0, 99, some(0, 100))
	m.keep(100, maxMemo-1, some(100, maxMemo-100)) // together just as many as may be
	if first, last, calls, ok := m.kept(0, 1<<40); !ok || first != 0 || last != maxMemo-1 || len(calls) != maxMemo {
		t.Errorf("%d to %d: %d calls", first, last, len(calls))
	}
	m.keep(maxMemo, maxMemo, some(maxMemo, 1)) // one more: what was kept goes
	if first, last, calls, ok := m.kept(0, 1<<40); !ok || first != maxMemo || last != maxMemo || len(calls) != 1 {
		t.Errorf("%d to %d: %d calls", first, last, len(calls))
	}
	m.keep(0, 10, nil) // nothing happened then; that is known, too
	if first, last, calls, ok := m.kept(5, 7); !ok || first != 5 || last != 7 || len(calls) != 0 {
		t.Errorf("%d to %d: %d calls", first, last, len(calls))
	}
}
