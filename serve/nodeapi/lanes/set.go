package lanes

import "sort"

const (
	// firstShift is the initial width of buckets: 2^16 ns, 66 us.
	firstShift = 16
	// maxCells bounds the number of buckets and long spans kept of calls, and of waits, of 24
	// and 32 bytes. Beyond it, buckets become twice as wide.
	maxCells = 200_000
	maxShift = 50 // 13 days
)

// set has the calls, or the waits, of a period.
type set struct {
	shift uint8
	limit int
	size  int
	lanes map[ID]*lane
	rows  map[int]*lane // stored rows that begin in each bucket, by machine, and calls without a row
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

// Counts by machine: stored rows; and calls that share one, with NS for those of unknown duration.
const (
	rowKey Key = iota
	sharedKey
)

// row counts a stored row of a machine, which stands for further calls.
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

// fit widens buckets until there are few enough. With more threads than cells that is impossible:
// it stops at the maximum width.
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
