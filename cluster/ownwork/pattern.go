package ownwork

import "github.com/ingero-io/ingero/event"

// A step is one period of the pattern in which a communicator's operations repeat: the smallest number of operations
// after which the same ones follow, with the same sizes. NCCL requires all ranks to make the same operations in the
// same order, so all ranks find the same pattern. Steps are counted by the operations' numbers, so all ranks have the
// same steps, whatever their hosts wait for and when. A training step with gradient accumulation is one step up to
// its reduction; a step of a sharded model has all its gathers.
//
// If sizes never repeat, as with sequences of different lengths, only the kinds of operations are compared.

const (
	// maxOps is how many operations of a communicator are kept. A pattern may have up to a third of them.
	maxOps = 4096
	// firstOps is how many operations must show the first pattern, otherOps how many must show another one: a validation
	// of fewer operations does not change what a step is.
	firstOps, otherOps = 16, 512
	// rounds is how many periods of a pattern must be seen.
	rounds = 3
	// lookEvery is the number of operations between two searches. Searches are at multiples of it, so that all ranks
	// search at the same operations.
	lookEvery = 64
	// onlyKind masks the bits of a sign that do not depend on the size.
	onlyKind = 0xff
)

// signOf returns a hash of an operation: the lower 8 bits of its kind, the others of its kind and size.
func signOf(x *event.Collective) uint32 {
	what := uint64(x.Op)<<24 ^ uint64(x.DataType)<<16 ^ uint64(x.ReduceOp)<<8 ^ uint64(uint32(x.Peer))
	return uint32(mix(what))&onlyKind | uint32(mix(what^mix(x.Bytes+1)))&^onlyKind
}

// mix is the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pattern searches the communicator's pattern if it is not known or no longer repeats. It is called with every Take,
// but what it finds depends only on the operations up to the last multiple of lookEvery. It reports whether the
// pattern changed.
func (m *communicator) pattern(f *finder) bool {
	if m.every != 0 && m.matched >= max(2*m.every, lookEvery) {
		return false
	}
	last := m.last - m.last%lookEvery
	if m.every == 0 { // without a pattern, search at once
		last = m.last
	}
	if last < m.first || last <= m.looked {
		return false
	}
	m.looked = last
	least := uint32(otherOps)
	if m.every == 0 {
		least = firstOps
	}
	n := last - m.first + 1
	m.full = n >= maxOps-lookEvery
	if n < least {
		return false
	}
	every := f.period(m, last, ^uint32(0), least)
	if every == 0 {
		every = f.period(m, last, onlyKind, least)
	}
	// Ignore a shorter pattern that divides the present one, as in a validation.
	if every == 0 || m.every%every == 0 && m.every != 0 {
		return false
	}
	m.every, m.matched, m.next = every, 0, 0
	return true
}

// finder finds patterns. It keeps its memory for the next search.
type finder struct{ border []uint32 }

// period returns the smallest period of the operations up to last, over the longest stretch of at least least
// operations that has rounds periods; 0: there is none. It computes the Knuth-Morris-Pratt borders of the operations
// in reverse order: the period of a stretch is its length less its border.
func (f *finder) period(m *communicator, last, mask, least uint32) (every uint32) {
	n := last - m.first + 1
	if uint32(cap(f.border)) < n {
		f.border = make([]uint32, n)
	}
	b := f.border[:n]
	b[0] = 0
	at := func(i uint32) uint32 { return m.op(last-i).sign & mask }
	k := uint32(0)
	for i := uint32(1); i < n; i++ {
		s := at(i)
		for k > 0 && at(k) != s {
			k = b[k-1]
		}
		if at(k) == s {
			k++
		}
		b[i] = k
		if length := i + 1; length >= least && rounds*(length-k) <= length {
			every = length - k
		}
	}
	return every
}
