package lanes

import "sort"

const (
	// firstShift is the width of buckets to begin with: 2^16 ns, 66 us.
	firstShift = 16
	// maxCells is how many buckets and long spans of calls are kept, and of waits, of 24 and
	// 32 bytes: beyond, buckets become twice as wide.
	maxCells = 200_000
	maxShift = 50 // 13 days
)

// set holds the calls, or the waits, of a stretch of time.
type set struct {
	shift uint8
	limit int
	size  int
	lanes map[ID]*lane
	rows  map[int]*lane // how many stored rows begin in each bucket, by machine
}

func newSet(shift uint8, limit int) *set {
	return &set{shift: shift, limit: limit, lanes: map[ID]*lane{}, rows: map[int]*lane{}}
}

// add counts a span.
func (s *set) add(id ID, x Span) {
	l := s.lanes[id]
	if l == nil {
		l = &lane{}
		s.lanes[id] = l
	}
	s.size -= l.size()
	l.add(x, s.shift)
	s.size += l.size()
	s.fit()
}

// row counts a stored row of a machine.
func (s *set) row(machine int, start uint64) {
	l := s.rows[machine]
	if l == nil {
		l = &lane{}
		s.rows[machine] = l
	}
	s.size -= l.size()
	l.count(start>>s.shift, 0, 0, 1)
	s.size += l.size()
}

// fit widens buckets until there are few enough. With more threads than cells there is
// no end to it: they are wide enough then.
func (s *set) fit() {
	for s.size > s.limit && s.shift < maxShift {
		s.shift++
		s.size = 0
		for _, l := range s.lanes {
			l.coarsen(s.shift)
			s.size += l.size()
		}
		for _, l := range s.rows {
			l.coarsen(s.shift)
			s.size += l.size()
		}
	}
}

// between is how many rows begin from one time to another, counted in whole buckets.
func (s *set) between(from, to uint64) (n uint64) {
	for _, l := range s.rows {
		first := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].at >= from>>s.shift })
		for _, c := range l.cells[first:] {
			if c.at<<s.shift >= to {
				break
			}
			n += uint64(c.n)
		}
	}
	return n
}
