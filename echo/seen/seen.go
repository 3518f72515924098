// Package seen knows which rows a store already has, so that a row sent twice is kept once, however late it is
// repeated. It has no clock and no I/O.
//
// Keys are grouped by the second of the rows' own time. If a second's keys are in memory, they are complete: any
// other key is not in the store. If a row of another second comes, that second's keys are read from the store: see
// Read. After a crash nothing else is needed. So memory is bounded, and nothing is forgotten.
package seen

import (
	"container/heap"

	"github.com/ingero-io/ingero/echo/row"
)

// perSecond is the cost of a second without keys, in keys.
const perSecond = 32

// Set has the keys of some seconds. It is for one goroutine.
type Set struct {
	most    int // keys
	keys    int
	seconds map[int64]*second
	used    uint64  // counts calls of Missing
	parts   []int64 // seconds of which only a part is known; see Read
	// last is the second of the last row, since most rows come in order; nil: none, or it was dropped.
	last   *second
	lastAt int64
}

type second struct {
	keys map[uint64]struct{}
	used uint64 // when its rows came last
	part bool   // the keys are not complete
}

// New returns a set that keeps at most so many keys between batches, in 20 bytes of memory each.
func New(most int) *Set { return &Set{most: most, seconds: map[int64]*second{}} }

// Missing appends to dst the seconds of rows that are not in memory. Before Add is called with a row of such a
// second, its keys in the store must be passed to Load.
func (s *Set) Missing(dst []int64, rows []row.Row) []int64 {
	s.used++
	for end := 0; end < len(rows); {
		begin, at := end, rows[end].Second()
		for end < len(rows) && rows[end].Second() == at { // most rows have the second of the row before
			end++
		}
		if sec, ok := s.seconds[at]; ok {
			sec.used = s.used
			continue
		}
		s.seconds[at] = &second{keys: make(map[uint64]struct{}, end-begin), used: s.used}
		s.keys += perSecond
		dst = append(dst, at)
	}
	return dst
}

// Load adds a key that is in the store.
func (s *Set) Load(at int64, key uint64) { s.addKey(at, key) }

// Add adds a row, and reports whether it is new.
func (s *Set) Add(r *row.Row) bool { return s.addKey(r.Second(), r.Key) }

func (s *Set) addKey(at int64, key uint64) bool {
	if s.last == nil || s.lastAt != at {
		s.last, s.lastAt = s.seconds[at], at
	}
	sec := s.last
	if sec == nil {
		panic("seen: a key of a second that was not asked for by Missing")
	}
	before := len(sec.keys)
	sec.keys[key] = struct{}{}
	if len(sec.keys) == before {
		return false
	}
	s.keys++
	return true
}

// Drop forgets the seconds of rows that could not be stored: their keys are read from the store again.
func (s *Set) Drop(rows []row.Row) {
	for i := range rows {
		s.drop(rows[i].Second())
	}
}

// DropAll forgets everything.
func (s *Set) DropAll() {
	clear(s.seconds)
	s.keys, s.last, s.parts = 0, nil, nil
}

func (s *Set) drop(at int64) {
	if sec, ok := s.seconds[at]; ok {
		s.keys -= len(sec.keys) + perSecond
		delete(s.seconds, at)
		s.last = nil
	}
}

// Trim forgets what is not complete, and the least recently used seconds until no more keys are left than New allows.
func (s *Set) Trim() {
	s.forgetParts()
	if s.keys <= s.most {
		return
	}
	h := make(byUse, 0, len(s.seconds))
	for at, sec := range s.seconds {
		h = append(h, use{at, sec.used})
	}
	heap.Init(&h)
	for s.keys > s.most && len(h) > 0 {
		s.drop(heap.Pop(&h).(use).second)
	}
}

// Len returns how many keys are in memory, including the cost of seconds.
func (s *Set) Len() int { return s.keys }

// use is a second and when it was used.
type use struct {
	second int64
	used   uint64
}

// byUse is a heap with the least recently used second on top; among equals, the oldest.
type byUse []use

func (h byUse) Len() int { return len(h) }
func (h byUse) Less(i, j int) bool {
	return h[i].used < h[j].used || h[i].used == h[j].used && h[i].second < h[j].second
}
func (h byUse) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byUse) Push(x any)   { *h = append(*h, x.(use)) }
func (h *byUse) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
