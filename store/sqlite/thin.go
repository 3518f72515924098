package sqlite

// DefaultRawRate is how many calls a second are stored one by one: at 34 bytes and 2 us each, an
// acceptable cost for a recorder that always runs. Notable calls are stored in addition, and
// statistics count every call.
const DefaultRawRate = 10_000

// tick is the time over which the thinner keeps its budget.
const tick = second / 10

// maxGroup bounds how many calls one stored row may stand for: as many as the table tally has
// numbers. A million calls a second are then a thousand rows.
const maxGroup = 1 << 10

// thinner chooses how many calls share a stored row, so that no more than the budget is stored per
// tick. Calls that are always kept use it first.
type thinner struct {
	budget uint64 // rows per tick
	at     uint64 // the current tick
	seen   uint64 // calls in it that may be thinned
	kept   uint64 // calls in it that may not be thinned
	stored uint64 // rows stored for the calls that may be thinned
	base   uint32 // group size computed from the last tick
}

func newThinner(rate int) thinner {
	if rate <= 0 {
		rate = DefaultRawRate
	}
	return thinner{budget: max(uint64(rate)*tick/second, 1), base: 1}
}

// advance is called with the time of each call.
func (t *thinner) advance(now uint64) {
	n := now / tick
	if n <= t.at {
		return
	}
	t.base = 1
	if n == t.at+1 {
		t.base = t.wanted()
	}
	t.at, t.seen, t.kept, t.stored = n, 0, 0, 0
}

// wanted is the group size that would have kept the budget in this tick.
func (t *thinner) wanted() uint32 {
	room := uint64(1)
	if t.budget > t.kept {
		room = t.budget - t.kept
	}
	return uint32(min((t.seen+room-1)/room, maxGroup))
}

// size is how many calls the next stored row may stand for. After a burst has used the budget,
// groups grow with each further budget's worth of calls.
func (t *thinner) size() uint32 {
	used := t.stored + t.kept
	if used < t.budget {
		return max(t.base, 1)
	}
	return max(t.base, t.wanted(), uint32(min(2*used/t.budget, maxGroup)))
}
