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
	rows  map[int]*lane // how many stored rows begin in each bucket, by machine, and calls without one
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

// What is counted by machine: rows that are stored; and calls that share one, in NS those of
// which it is not known what they took.
const (
	rowKey Key = iota
	sharedKey
)

// row counts a stored row of a machine, which stands for some calls more.
func (s *set) row(machine int, start uint64, shared uint32, known bool) {
	l := s.rows[machine]
	if l == nil {
		l = &lane{}
		s.rows[machine] = l
	}
	s.size -= l.size()
	l.count(start>>s.shift, rowKey, 0, 1)
	unknown := uint64(0)
	if !known {
		unknown = uint64(shared)
	}
	l.count(start>>s.shift, sharedKey, unknown, shared)
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

// between is what was counted from one time to another, in whole buckets.
func (s *set) between(from, to uint64, key Key) (sum Part) {
	for _, l := range s.rows {
		first := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].at >= from>>s.shift })
		for _, c := range l.cells[first:] {
			if c.at<<s.shift >= to {
				break
			}
			if c.key == key {
				sum.NS, sum.N = sum.NS+c.ns, sum.N+uint64(c.n)
			}
		}
	}
	return sum
}
