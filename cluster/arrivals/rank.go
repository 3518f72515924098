package arrivals

import (
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// rank is the state of a rank in the communicator that its steps are counted by.
type rank struct {
	comm      uint64 // event.Collective.CommID
	rank      int32
	every     uint32             // operations per step
	ops       []event.Collective // by number modulo len(ops), which is a power of two
	newest    uint32             // number of the newest
	needed    uint32             // operations from this number on are needed
	pending   map[uint32]Arrival // by number: sent when their end is seen
	own, wait usual
	off       waits
	before    store.RankStep
	since     uint64 // Unix ns: operations entered earlier are not kept
	stepped   uint64 // Unix ns: the end of its last step
}

// expire gives up pending operations whose end was not seen, and returns their number.
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

// op returns an operation, or nil if it has not ended or is no longer kept.
func (r *rank) op(seq uint32) *event.Collective {
	if x := &r.ops[seq&uint32(len(r.ops)-1)]; seq > 0 && x.Seq == seq {
		return x
	}
	return nil
}

// lost reports whether an operation is no longer kept.
func (r *rank) lost(seq uint32) bool {
	return r.op(seq) == nil && r.newest-min(seq, r.newest) >= uint32(len(r.ops))
}

// enteredBefore returns when the operation before x was entered, 0 if that is not known.
func (r *rank) enteredBefore(x *event.Collective) uint64 {
	if o := r.op(x.Seq - 1); o != nil {
		return o.At
	}
	return 0
}

// steps chooses operations of a row's steps. Step n begins when operation n·Every is entered, and ends when operation
// (n+1)·Every is.
func (c *Chooser) steps(row *store.RankSteps) {
	r := c.ranks[row.PID]
	if r == nil || r.comm != row.Comm || r.rank != row.Rank || r.every != row.Every { // counted differently now
		c.forgetProcess(row.PID)
		r = &rank{
			comm: row.Comm, rank: row.Rank, every: row.Every, ops: make([]event.Collective, minOps),
			pending: map[uint32]Arrival{}, since: row.At,
		}
		c.ranks[row.PID] = r
	}
	stride := uint64(1) // a power of two: ranks with different numbers of steps still choose many of the same
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
		case Late: // late for the operation at the step's end, or for one within the step
			c.send(r, end, r.late(begin, end, s.End), a)
		case Waited: // waited in the operation at the step's begin, or in one within the step
			c.send(r, begin, r.waited(begin, end), a)
		default:
			c.send(r, end, 0, a)
		}
	}
	r.needed = uint32(row.Steps[len(row.Steps)-1].Seq+1) * row.Every
}

// step decides why operations of a step are sent; ok is false if none are.
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
	r.own.addValue(s.OwnNS)
	r.wait.addValue(s.WaitNS)
	r.stepped = s.End
	return a, a.Why != ""
}

// mix spreads the numbers of steps, so that work which a program does every 8th or 100th step is sampled in
// proportion. It is the finaliser of splitmix64.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// send queues an operation, now or when its end is seen; and a second one, which has ended, unless that is 0.
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

// late returns the number of the operation in a step that the rank took longest to reach; 0 if that is not known, or
// the operation has not ended. entered is when it entered the one at the step's end.
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
	if r.op(seq) == nil { // not ended: send keeps the operation at the end pending
		return 0
	}
	return seq
}

// waited returns the number of the operation in a step, without the one at its end, in which the rank waited longest;
// 0 if none is known.
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
	// usualFrom is the fewest steps that the usual values are computed from, usualOf the most.
	usualFrom, usualOf = 16, 64
)

// usual keeps the last values, to compute their median.
type usual struct {
	last   [usualOf]uint64
	n      uint64
	sorted [usualOf]uint64 // scratch
}

func (u *usual) addValue(v uint64) {
	u.last[u.n%usualOf] = v
	u.n++
}

// median returns the median of the last values, 0 if they are too few.
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
