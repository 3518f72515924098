package lanes

import (
	"cmp"
	"maps"
	"slices"
	"sort"
)

// Pyramid is the sums of a recording.
type Pyramid struct {
	settled stretch // rows that begin before until; more rows may still come after them
	fresh   stretch // the rest, read again each time
	until   uint64
	done    bool     // everything was read
	read    []uint64 // end of the part that was read, by machine
}

// stretch is a period. Calls and waits are read one after the other, each in order, so they are
// separate.
type stretch struct{ calls, waits *set }

func newStretch(calls, waits uint8, limit int) stretch {
	return stretch{newSet(calls, limit), newSet(waits, limit)}
}

func (p *Pyramid) sets() []*set {
	return []*set{p.settled.calls, p.settled.waits, p.fresh.calls, p.fresh.waits}
}

// Read is the time up to which the recording has been read; 0 if all of it.
func (p *Pyramid) Read() uint64 {
	if p.done {
		return 0
	}
	return max(1, slices.Min(p.read))
}

// Lanes are the threads with calls or waits, in order.
func (p *Pyramid) Lanes() []ID {
	ids := map[ID]bool{}
	for _, s := range p.sets() {
		for id := range s.lanes {
			ids[id] = true
		}
	}
	return slices.SortedFunc(maps.Keys(ids), func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
}

// Depth is the maximum nesting of a thread's calls; -1 if it made none.
func (p *Pyramid) Depth(id ID) int {
	d := -1
	for _, s := range []*set{p.settled.calls, p.fresh.calls} {
		if l := s.lanes[id]; l != nil {
			d = max(d, int(l.depth))
		}
	}
	return d
}

// Rows is about how many stored calls and waits begin between two times: exact between multiples of
// Shift's width.
func (p *Pyramid) Rows(from, to uint64) (n uint64) {
	for _, s := range p.sets() {
		n += s.between(from, to, rowKey).N
	}
	return n
}

// Shared is about how many calls between two times have no row of their own, and how many of these
// have an unknown duration.
func (p *Pyramid) Shared(from, to uint64) (n, unknown uint64) {
	for _, s := range p.sets() {
		shared := s.between(from, to, sharedKey)
		n, unknown = n+shared.N, unknown+shared.NS
	}
	return n, unknown
}

// Shift is the smallest width of buckets, as a power of two.
func (p *Pyramid) Shift() (shift uint8) {
	for _, s := range p.sets() {
		shift = max(shift, s.shift)
	}
	return shift
}

// Reach is how long before a time a span that lasts up to it may have begun, unless Before has it.
func (p *Pyramid) Reach() uint64 { return longCells << p.Shift() }

// Before are the spans of a thread that began more than Reach before from and last longer.
func (p *Pyramid) Before(id ID, from uint64) (out []Span) {
	reach := p.Reach()
	for _, s := range p.sets() {
		l := s.lanes[id]
		if l == nil {
			continue
		}
		for _, x := range l.long {
			if x.Start+min(reach, from) < from && x.Start+x.Duration > from {
				out = append(out, x)
			}
		}
	}
	return out
}

// Buckets are n buckets of a thread, from one that begins at a multiple of its width 2^shift, which
// is not below Shift.
func (p *Pyramid) Buckets(id ID, from uint64, shift uint8, n int) [][]Part {
	out := make([][]Part, n)
	for _, s := range p.sets() {
		if l := s.lanes[id]; l != nil {
			l.into(out, from>>shift, shift, s.shift)
		}
	}
	return out
}

// into adds a lane's cells, whose width is 2^own, to buckets from the one numbered first.
func (l *lane) into(out [][]Part, first uint64, shift, own uint8) {
	up := shift - own
	last := first + uint64(len(out))
	i := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].at>>up >= first })
	for _, c := range l.cells[i:] {
		at := c.at >> up
		if at >= last {
			break
		}
		b := &out[at-first]
		*b = plus(*b, Part{c.key, c.ns, uint64(c.n)})
	}
	for _, s := range l.long {
		end := s.Start + s.Duration
		if s.Depth > 0 || end <= first<<shift || s.Start >= last<<shift {
			continue
		}
		for at := max(first, s.Start>>shift); at < last && at<<shift < end; at++ {
			b := &out[at-first]
			*b = plus(*b, Part{s.Key, s.within(max(s.Start, at<<shift), min(end, (at+1)<<shift)), 0})
		}
	}
}

func plus(b []Part, p Part) []Part {
	for i := range b {
		if b[i].Key == p.Key {
			b[i].NS, b[i].N = b[i].NS+p.NS, b[i].N+p.N
			return b
		}
	}
	return append(b, p)
}
