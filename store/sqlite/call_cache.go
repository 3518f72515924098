package sqlite

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// What a memo keeps at most: less than 20 MB of calls.
const (
	maxMemo      = 100_000 // calls
	maxMemoParts = 1000
	memoPartSize = 2048 // calls in a part: growing lists would be copied again and again
)

// callCache keeps the notable calls of stretches of time, so that who looks at neighbouring
// windows of a recording, as people and agents do, reads only what is new. It is right as
// long as the recording does not change, so that it is only used if Remember said so.
type callCache struct {
	mu    sync.Mutex
	on    bool
	parts []memoPart // by time, without overlap
	size  int        // calls in them
}

// memoPart is what a stretch of time holds. It is not changed.
type memoPart struct {
	from, to int64 // inclusive
	calls    []event.Call
}

// next returns what is kept from a time on, and until when; if nothing is, until when so.
// until is at most to.
func (m *callCache) next(from, to int64) (calls []event.Call, until int64, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := sort.Search(len(m.parts), func(i int) bool { return m.parts[i].to >= from })
	if i == len(m.parts) || m.parts[i].from > to {
		return nil, to, false
	}
	p := &m.parts[i]
	if p.from > from {
		return nil, p.from - 1, false
	}
	until = min(p.to, to)
	first := sort.Search(len(p.calls), func(i int) bool { return int64(p.calls[i].Start) >= from })
	end := sort.Search(len(p.calls), func(i int) bool { return int64(p.calls[i].Start) > until })
	return p.calls[first:end], until, true
}

// keep adds a part, unless some of it was added meanwhile. What would be too much with it
// is forgotten.
func (m *callCache) keep(p memoPart) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size+len(p.calls) > maxMemo || len(m.parts) == maxMemoParts {
		m.parts, m.size = nil, 0
	}
	i, _ := slices.BinarySearchFunc(m.parts, p.from, func(q memoPart, from int64) int { return cmp.Compare(q.from, from) })
	if i > 0 && m.parts[i-1].to >= p.from || i < len(m.parts) && m.parts[i].from <= p.to {
		return
	}
	m.parts = slices.Insert(m.parts, i, p)
	m.size += len(p.calls)
}

// Remember says that the recording does not change while it is open here: what was read
// is kept for the next questions.
func (r *Reader) Remember() {
	r.callCache.mu.Lock()
	defer r.callCache.mu.Unlock()
	r.callCache.on = true
}

func (m *callCache) remembers() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}

// NotableCalls implements store.Reader.
func (r *Reader) NotableCalls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error {
	b := bounds(w)
	from, to := b[0], b[1]
	if !r.callCache.remembers() {
		return r.calls(ctx, notableCallQuery, b, visit)
	}
	more := from <= to
	for more {
		calls, until, known := r.callCache.next(from, to)
		var err error
		if !known {
			more, err = r.readAndKeep(ctx, from, until, visit)
		}
		for i := 0; i < len(calls) && more; i++ {
			c := calls[i] // visitors may change what they get
			more = visit(&c)
		}
		if err != nil || until >= to {
			return err
		}
		from = until + 1
	}
	return ctx.Err()
}

// readAndKeep visits the calls of from..to in the file and keeps them, in parts. It
// reports whether the visitor wants more.
func (r *Reader) readAndKeep(ctx context.Context, from, to int64, visit func(*event.Call) bool) (more bool, err error) {
	more = true
	p := memoPart{from: from}
	err = r.calls(ctx, notableCallQuery, []int64{from, to}, func(c *event.Call) bool {
		if len(p.calls) == memoPartSize {
			p.to = int64(c.Start) - 1
			r.callCache.keep(p)
			p = memoPart{from: int64(c.Start)}
		}
		if p.calls == nil {
			p.calls = make([]event.Call, 0, memoPartSize)
		}
		p.calls = append(p.calls, *c)
		more = visit(c)
		return more
	})
	if err == nil && more {
		p.to, p.calls = to, slices.Clone(p.calls) // without the room for more
		r.callCache.keep(p)
	}
	return more, err
}
