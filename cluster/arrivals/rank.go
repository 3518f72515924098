package arrivals

import (
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// rank is what is kept of a rank: of the communicator by which its steps are counted.
type rank struct {
	comm      uint64 // event.Collective.CommID
	rank      int32
	every     uint32             // operations of a step
	ops       []event.Collective // by number modulo their count, which is a power of two
	newest    uint32             // number of the newest
	needed    uint32             // number from which on they are needed
	pending   map[uint32]Arrival // that are to be sent when their end is seen, by number
	own, wait usual
	off       waits
	before    store.RankStep
	since     uint64 // Unix ns: operations entered before are not kept
	stepped   uint64 // Unix ns: the end of its last step
}

// expire gives up operations whose end was not seen, and returns how many.
func (r *rank) expire(at uint64) (n uint64) {
	for seq := range r.pending {
		if a := r.pending[seq]; at-min(a.At, at) > pendingFor {
			delete(r.pending, seq)
			n++
		}
	}
	return n
}

// put keeps an operation.
func (r *rank) put(x *event.Collective) {
	for x.Seq-min(r.needed, x.Seq) >= uint32(len(r.ops)) && len(r.ops) < maxOps {
		grown := make([]event.Collective, 2*len(r.ops))
		for i := range r.ops {
			if at := &grown[r.ops[i].Seq&uint32(len(grown)-1)]; r.ops[i].Seq > at.Seq {
				*at = r.ops[i]
			}
		}
		r.ops = grown
	}
	r.ops[x.Seq&uint32(len(r.ops)-1)] = *x
	r.newest = max(r.newest, x.Seq)
}

// op is an operation, nil if it has not ended or is not kept any more.
func (r *rank) op(seq uint32) *event.Collective {
	if x := &r.ops[seq&uint32(len(r.ops)-1)]; seq > 0 && x.Seq == seq {
		return x
	}
	return nil
}

// lost reports whether an operation is not kept any more.
func (r *rank) lost(seq uint32) bool {
	return r.op(seq) == nil && r.newest-min(seq, r.newest) >= uint32(len(r.ops))
}

// enteredBefore is when the operation before x was entered, 0 if that is not known.
func (r *rank) enteredBefore(x *event.Collective) uint64 {
	if o := r.op(x.Seq - 1); o != nil {
		return o.At
	}
	return 0
}

// steps chooses of the steps in a row. Step n begins when operation n·Every is entered, and ends when operation
// (n+1)·Every is.
func (c *Chooser) steps(row *store.RankSteps) {
	r := c.ranks[row.PID]
	if r == nil || r.comm != row.Comm || r.rank != row.Rank || r.every != row.Every { // its steps are others
		c.forget(row.PID)
		r = &rank{
			comm: row.Comm, rank: row.Rank, every: row.Every, ops: make([]event.Collective, minOps),
			pending: map[uint32]Arrival{}, since: row.At,
		}
		c.ranks[row.PID] = r
	}
	stride := uint64(1) // a power of two, so that ranks whose counts of steps differ still choose many alike
	for stride < uint64(len(row.Steps)) {
		stride *= 2
	}
	notable := 0
	for i := range row.Steps {
		s := &row.Steps[i]
		a, ok := r.step(s, stride)
		if !ok || s.End <= r.since {
			continue
		}
		if a.Why != Sample {
			if notable++; notable > maxNotable {
				c.leftOut++
				continue
			}
		}
		begin := uint32(s.Seq) * row.Every
		end := begin + row.Every
		switch a.Why {
		case Late: // it enters the operation at the end late, or one between
			c.send(r, end, r.late(begin, end, s.End), a)
		case Waited: // for the operation at the begin, or one between
			c.send(r, begin, r.waited(begin, end), a)
		default:
			c.send(r, end, 0, a)
		}
	}
	r.needed = uint32(row.Steps[len(row.Steps)-1].Seq+1) * row.Every
}

// step says why operations of a step are sent; ok is false if none are.
func (r *rank) step(s *store.RankStep, stride uint64) (a Arrival, ok bool) {
	a = Arrival{OneOf: 1, OwnNS: s.OwnNS, UsualOwnNS: r.own.median()}
	a.At = s.End // until its operation is known
	switch {
	case r.own.exceeded(s.OwnNS, a.UsualOwnNS):
		a.Why = Late
	case r.wait.exceeded(s.WaitNS, a.UsualOwnNS):
		a.Why, a.WaitNS, a.UsualWaitNS, a.OwnNS = Waited, s.WaitNS, r.wait.median(), 0
		if s.Seq == r.before.Seq+1 {
			a.OwnNS = r.before.OwnNS
		}
	case mix(s.Seq)%stride == 0:
		a.Why, a.OneOf = Sample, stride
	}
	r.before = *s
	r.own.add(s.OwnNS)
	r.wait.add(s.WaitNS)
	r.stepped = s.End
	return a, a.Why != ""
}

// mix spreads the numbers of steps: what a program does in every 8th or 100th step is in as many samples as it should
// be. It is the finaliser of splitmix64.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// send has an operation sent, later if it has not been seen to end; and a second one, which has, unless that is 0.
func (c *Chooser) send(r *rank, seq, second uint32, a Arrival) {
	switch x := r.op(seq); {
	case x != nil:
		c.choose(r, x, a)
	case r.lost(seq):
		c.leftOut++
	default:
		r.pending[seq] = a
	}
	if second != 0 && second != seq {
		c.choose(r, r.op(second), a)
	}
}

// late is the number of the operation of a step before which the rank took longest, which may be the one at the end,
// entered at a time; 0 if none is known.
func (r *rank) late(begin, end uint32, entered uint64) (seq uint32) {
	most := uint64(0)
	for n := begin + 1; n <= end; n++ {
		before, at := r.op(n-1), entered
		if n < end {
			x := r.op(n)
			if x == nil {
				continue
			}
			at = x.At
		}
		if before == nil {
			continue
		}
		if ns := at - min(before.At, at); ns > most {
			most, seq = ns, n
		}
	}
	if r.op(seq) == nil { // it has not ended: send waits for it
		return 0
	}
	return seq
}

// waited is the number of the operation of a step, without the one at its end, for which the rank waited longest; 0 if
// none is known.
func (r *rank) waited(begin, end uint32) (seq uint32) {
	most := uint64(0)
	for n := begin; n < end; n++ {
		if x := r.op(n); x != nil {
			if ns, _ := x.Wait(); ns > most {
				most, seq = ns, n
			}
		}
	}
	return seq
}

// How much more than usual is notable: a tenth of the usual own work, 2 ms, and six times the usual deviation.
const (
	notableShare      = 10
	notableNS         = uint64(2e6)
	notableDeviations = 6
	// usualFrom is of how many steps it must be known what is usual, usualOf of how many it is taken.
	usualFrom, usualOf = 16, 64
)

// usual keeps the last values.
type usual struct {
	last   [usualOf]uint64
	n      uint64
	sorted [usualOf]uint64 // scratch
}

func (u *usual) add(v uint64) {
	u.last[u.n%usualOf] = v
	u.n++
}

// median is that of the last values, 0 if they are too few.
func (u *usual) median() uint64 {
	if u.n < usualFrom {
		return 0
	}
	n := copy(u.sorted[:], u.last[:min(u.n, usualOf)])
	slices.Sort(u.sorted[:n])
	return u.sorted[n/2]
}

// exceeded reports whether a value is notably more than the last ones; own is the usual own work of a step.
func (u *usual) exceeded(v, own uint64) bool {
	if u.n < usualFrom {
		return false
	}
	m := u.median()
	if v < m+max(own/notableShare, notableNS) {
		return false
	}
	n := copy(u.sorted[:], u.last[:min(u.n, usualOf)])
	for i, x := range u.sorted[:n] {
		u.sorted[i] = max(x, m) - min(x, m)
	}
	slices.Sort(u.sorted[:n])
	return v >= m+notableDeviations*u.sorted[n/2]
}
