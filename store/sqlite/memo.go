package sqlite

import (
	"context"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// maxMemo bounds the calls that a memo keeps: less than 20 MB.
const maxMemo = 100_000

// memo keeps the notable calls of one stretch of time, so that who looks at neighbouring
// windows of a recording, as people and agents do, reads only what is new. It is right as
// long as the recording does not change, so that it is only used if Remember said so.
type memo struct {
	mu       sync.Mutex
	on       bool
	from, to int64        // inclusive
	calls    []event.Call // nil: nothing is kept
}

// kept returns what is kept of the times from..to, and which times that is, if any.
func (m *memo) kept(from, to int64) (first, last int64, calls []event.Call, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, last = max(from, m.from), min(to, m.to)
	if !m.on || m.calls == nil || first > last {
		return 0, 0, nil, false
	}
	at := func(ts int64) int {
		return sort.Search(len(m.calls), func(i int) bool { return int64(m.calls[i].Start) >= ts })
	}
	end := len(m.calls)
	if last < math.MaxInt64 {
		end = at(last + 1)
	}
	return first, last, m.calls[at(first):end], true
}

// keep adds what was read of from..to. What is kept before it or after it without a gap
// stays, too, unless that would be too much.
func (m *memo) keep(from, to int64, calls []event.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.on, len(calls) > maxMemo:
		return
	case m.calls == nil || len(calls)+len(m.calls) > maxMemo:
	case m.from <= from && to <= m.to:
		return
	case m.to < from && m.to+1 == from:
		calls, from = slices.Concat(m.calls, calls), m.from
	case to < m.from && to+1 == m.from:
		calls, to = slices.Concat(calls, m.calls), m.to
	}
	if calls == nil {
		calls = []event.Call{}
	}
	m.from, m.to, m.calls = from, to, calls
}

// Remember says that the recording does not change while it is open here: what was read
// is kept for the next questions.
func (r *Reader) Remember() {
	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()
	r.memo.on = true
}

// NotableCalls implements store.Reader.
func (r *Reader) NotableCalls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	b := bounds(w)
	from, to := b[0], b[1]
	if from > to {
		return nil
	}
	var all []event.Call
	stopped := false
	pass := func(c *event.Call) bool {
		if len(all) <= maxMemo {
			all = append(all, *c)
		}
		stopped = stopped || !visit(c)
		return !stopped
	}
	read := func(from, to int64) error {
		if stopped || from > to {
			return nil
		}
		return r.calls(ctx, notableCallQuery, []int64{from, to}, pass)
	}
	first, last, kept, ok := r.memo.kept(from, to)
	if !ok {
		if err := read(from, to); err != nil {
			return err
		}
	} else {
		if err := read(from, first-1); err != nil {
			return err
		}
		for i := 0; i < len(kept) && !stopped; i++ {
			c := kept[i] // visitors may change what they get
			pass(&c)
		}
		if last < to {
			if err := read(last+1, to); err != nil {
				return err
			}
		}
	}
	if stopped {
		return nil
	}
	r.memo.keep(from, to, all)
	return ctx.Err()
}
