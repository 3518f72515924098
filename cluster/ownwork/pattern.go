package ownwork

import "github.com/ingero-io/ingero/event"

// A step is one round of the pattern in which a communicator's operations repeat: the least number of
// operations after which the same ones come, of the same size. NCCL demands the same operations in the
// same order of all ranks, so that all find the same pattern; and because steps are counted by the
// operations' numbers, all have the same steps, whatever their hosts wait for and when. A training step
// with gradient accumulation is one up to its reduction; one of a sharded model has all its gathers.
//
// If sizes never repeat, as with sequences of different lengths, only the kinds of operations are
// compared.

const (
	// maxOps is how many operations of a communicator are kept: a pattern is found if it has a third of
	// them at most.
	maxOps = 4096
	// firstOps is how many operations a first pattern must be seen in, otherOps another one: a
	// validation of fewer operations does not change what a step is.
	firstOps, otherOps = 16, 512
	// rounds is how often a pattern must repeat.
	rounds = 3
	// lookEvery is how many operations come between two searches, by their numbers, so that all ranks
	// search at the same ones.
	lookEvery = 64
	// onlyKind are the bits of a sign that tell the operation without its size.
	onlyKind = 0xff
)

// signOf tells operations apart: in the lower 8 bits by what they do, in the others also by their size.
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

// pattern looks for the communicator's pattern if it is not known or does not repeat any more. It is
// called with every Take; what it finds depends only on the operations up to the last multiple of
// lookEvery. It reports whether the pattern changed.
func (m *communicator) pattern(f *finder) bool {
	if m.every != 0 && m.matched >= max(2*m.every, lookEvery) {
		return false
	}
	last := m.last - m.last%lookEvery
	if m.every == 0 { // the sooner it is known, the better
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
	// A shorter pattern of which the present one is a multiple, as in a validation, does not matter.
	if every == 0 || m.every%every == 0 && m.every != 0 {
		return false
	}
	m.every, m.matched, m.next = every, 0, 0
	return true
}

// finder finds patterns. Its memory is used again.
type finder struct{ border []uint32 }

// period is the least number of operations in which those up to a number repeat, of the longest stretch
// of at least so many operations that repeats rounds times; 0: none does. It computes the borders of
// Knuth, Morris and Pratt of the operations in reverse order: the period of a stretch is its length less
// its border.
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
