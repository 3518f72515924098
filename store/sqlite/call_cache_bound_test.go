package sqlite

import (
	"math"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestKeptCallsAreBounded(t *testing.T) {
	m := callCache{on: true}
	some := func(from, to int64, n int) cachePart {
		p := cachePart{from: from, to: to}
		for i := range n {
			p.calls = append(p.calls, event.Call{Start: uint64(from) + uint64(i)})
		}
		return p
	}
	// expect says how many calls are known of from..to, where the stretch that is
	// known or unknown from there on ends, and how many are kept in all.
	expect := func(what string, from, to, until int64, known bool, n, size int) {
		t.Helper()
		calls, end, ok := m.next(from, to)
		if len(calls) != n || end != until || ok != known || m.size != size {
			t.Errorf("%s: %d calls, known %v until %d, %d in all; want %d, %v until %d, %d", what, len(calls), ok, end, m.size,
				n, known, until, size)
		}
	}
	expect("nothing", 0, math.MaxInt64, math.MaxInt64, false, 0, 0)
	m.keep(some(0, 99, 100))
	m.keep(some(100, maxCached-1, maxCached-100))
	expect("just as many as may be", 0, math.MaxInt64, 99, true, 100, maxCached)
	expect("the second part", 100, math.MaxInt64, maxCached-1, true, maxCached-100, maxCached)
	m.keep(some(maxCached, maxCached, 1))
	expect("one more: what was kept goes", 0, math.MaxInt64, maxCached-1, false, 0, 1)
	m.keep(some(0, 10, 0))
	expect("nothing happened, and that is known, too", 5, 7, 7, true, 0, 1)
	m.keep(some(10, 20, 5))
	expect("what was added meanwhile is not added again", 0, 15, 10, true, 0, 1)
	expect("and the rest is unknown", 11, 20, 20, false, 0, 1)
	m.keep(some(maxCached+1, math.MaxInt64, 3))
	expect("up to the end of time", maxCached+2, math.MaxInt64, math.MaxInt64, true, 2, 4)
	for i := range int64(2 * maxCacheParts) {
		m.keep(some(100+i, 100+i, 0))
	}
	if len(m.parts) > maxCacheParts {
		t.Errorf("%d parts are kept", len(m.parts))
	}
	expect("the latest part", 99+2*maxCacheParts, math.MaxInt64, 99+2*maxCacheParts, true, 0, 0)
}
