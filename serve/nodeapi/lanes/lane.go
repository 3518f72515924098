package lanes

import (
	"cmp"
	"math"
	"slices"
)

// longCells is the number of buckets from which a span is kept as a whole: a call of an hour would
// otherwise fill millions.
const longCells = 64

// cell is a key's share of a bucket.
type cell struct {
	at  uint64 // number of the bucket since 1970
	ns  uint64
	n   uint32 // saturating
	key Key
}

func order(a cell, at uint64, key Key) int {
	return cmp.Or(cmp.Compare(a.at, at), cmp.Compare(a.key, key))
}

// lane is a thread. Cells are in order of bucket and key, long spans in order of start.
type lane struct {
	cells []cell
	long  []Span
	depth uint8 // of the innermost call
}

func (l *lane) size() int { return len(l.cells) + len(l.long) }

// add counts a span. Those of a thread come nearly in order of their start.
func (l *lane) add(s Span, shift uint8) {
	if s.Key&waitBit == 0 {
		l.depth = max(l.depth, s.Depth)
	}
	if s.Duration > longCells<<shift {
		l.long = append(l.long, s)
		if s.Depth == 0 {
			l.count(s.Start>>shift, s.Key, 0, s.Weight)
		}
		return
	}
	if s.Depth == 0 {
		l.spread(s, shift, s.Weight)
	}
}

// spread distributes a span's time over its buckets.
func (l *lane) spread(s Span, shift uint8, n uint32) {
	end := s.Start + s.Duration
	for at := s.Start >> shift; ; at++ {
		from, to := max(s.Start, at<<shift), min(end, (at+1)<<shift)
		l.count(at, s.Key, s.within(from, to), n)
		if n = 0; to == end {
			return
		}
	}
}

func (l *lane) count(at uint64, key Key, ns uint64, n uint32) {
	if ns == 0 && n == 0 {
		return
	}
	i := len(l.cells)
	for i > 0 && order(l.cells[i-1], at, key) > 0 {
		i--
	}
	if i > 0 && order(l.cells[i-1], at, key) == 0 {
		c := &l.cells[i-1]
		c.ns, c.n = c.ns+ns, saturating(c.n, n)
		return
	}
	l.cells = slices.Insert(l.cells, i, cell{at, ns, n, key})
}

func saturating(a, b uint32) uint32 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint32
}

// coarsen makes buckets twice as wide; shift is the new width.
func (l *lane) coarsen(shift uint8) {
	kept := l.cells[:0]
	for i := 0; i < len(l.cells); {
		at, begin := l.cells[i].at>>1, len(kept)
		for ; i < len(l.cells) && l.cells[i].at>>1 == at; i++ {
			c := l.cells[i]
			c.at = at
			if j, found := slices.BinarySearchFunc(kept[begin:], c.key,
				func(a cell, k Key) int { return cmp.Compare(a.key, k) }); found {
				k := &kept[begin+j]
				k.ns, k.n = k.ns+c.ns, saturating(k.n, c.n)
			} else {
				kept = slices.Insert(kept, begin+j, c) // never more than were read
			}
		}
	}
	l.cells = kept
	long := l.long
	l.long = l.long[:0]
	var short []Span
	for _, s := range long {
		switch {
		case s.Duration > longCells<<shift:
			l.long = append(l.long, s)
		case s.Depth == 0:
			short = append(short, s)
		}
	}
	if len(short) == 0 {
		return
	}
	folded := lane{}
	for _, s := range short { // counted already where they begin
		folded.spread(s, shift, 0)
	}
	l.cells = merge(l.cells, folded.cells)
}

// merge adds up two lists of cells.
func merge(a, b []cell) []cell {
	out := make([]cell, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order(a[0], b[0].at, b[0].key) {
		case -1:
			out, a = append(out, a[0]), a[1:]
		case 1:
			out, b = append(out, b[0]), b[1:]
		default:
			c := a[0]
			c.ns, c.n = c.ns+b[0].ns, saturating(c.n, b[0].n)
			out, a, b = append(out, c), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
