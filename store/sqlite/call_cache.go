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

// The bounds of a cache: less than 20 MB of calls.
const (
	maxCached      = 100_000 // calls
	maxCacheParts  = 1000
	cachePartCalls = 2048 // calls in a part: growing lists would be copied again and again
)

// callCache keeps the notable calls of periods, so that queries for neighbouring windows read only
// new parts. It is valid only while the recording does not change, so it is used only after
// Remember.
type callCache struct {
	mu    sync.Mutex
	on    bool
	parts []cachePart // by time, without overlap
	size  int         // calls in them
}

// cachePart has the calls of a period. It is not changed.
type cachePart struct {
	from, to int64 // inclusive
	calls    []event.Call
}

// next returns the part that covers a time, and where it ends. Without one, it returns the end of
// the uncovered period, at most to.
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

// keep adds a part, unless another goroutine has added some of it. If the cache is full, older
// parts are dropped.
func (m *callCache) keep(p cachePart) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size+len(p.calls) > maxCached || len(m.parts) == maxCacheParts {
		m.parts, m.size = nil, 0
	}
	byFrom := func(q cachePart, from int64) int { return cmp.Compare(q.from, from) }
	i, _ := slices.BinarySearchFunc(m.parts, p.from, byFrom)
	if i > 0 && m.parts[i-1].to >= p.from || i < len(m.parts) && m.parts[i].from <= p.to {
		return
	}
	m.parts = slices.Insert(m.parts, i, p)
	m.size += len(p.calls)
}

// Remember says that the recording does not change while it is open here: what was read is kept for
// later queries.
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
			c := calls[i] // visitors may change the call
			more = visit(&c)
		}
		if err != nil || until >= to {
			return err
		}
		from = until + 1
	}
	return ctx.Err()
}

// readAndKeep visits the calls of from..to in the file and keeps them, in parts. It reports whether
// the visitor wants more.
func (r *Reader) readAndKeep(ctx context.Context, from, to int64, visit func(*event.Call) bool) (more bool, err error) {
	more = true
	p := cachePart{from: from}
	err = r.calls(ctx, notableCallQuery, []int64{from, to}, func(c *event.Call) bool {
		if len(p.calls) == cachePartCalls {
			p.to = int64(c.Start) - 1
			r.callCache.keep(p)
			p = cachePart{from: int64(c.Start)}
		}
		if p.calls == nil {
			p.calls = make([]event.Call, 0, cachePartCalls)
		}
		p.calls = append(p.calls, *c)
		more = visit(c)
		return more
	})
	if err == nil && more {
		p.to, p.calls = to, slices.Clone(p.calls) // without spare capacity
		r.callCache.keep(p)
	}
	return more, err
}
