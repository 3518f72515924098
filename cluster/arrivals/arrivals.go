// Package arrivals chooses what a node sends of the collective operations of its ranks: for each second, how many there
// were and how long they waited; and single operations. Whether a rank was late is known only where the operations of
// all ranks come together, so each node sends those that may be needed there: of steps in which its rank worked longer
// than usual, of steps in which it waited longer than usual, and now and then an operation that all ranks choose alike.
// The package has no clock and no I/O.
package arrivals

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Why is why a single operation is sent.
type Why string

// The reasons.
const (
	// Late: the rank had worked longer than usual before it.
	Late Why = "late"
	// Waited: the rank waited for others longer than usual.
	Waited Why = "waited"
	// Sample: about one a second of which all ranks choose the same.
	Sample Why = "sample"
)

// Bounds. A rank sends at most maxNotable steps a second, and for each of them two operations.
const (
	maxNotable = 4
	// minOps and maxOps are how many operations of a rank are kept: as many as come between two rows of its steps, in a
	// second. Both are powers of two.
	minOps, maxOps = 256, 1 << 13
	// maxOff is how many waits of a rank's threads are kept.
	maxOff = 512
	// pendingFor is how long an operation that was chosen may take to be waited for.
	pendingFor = uint64(10e9)
	// before is up to how long before a late operation it is said what its thread waited for: as in findings.
	before = uint64(500e6)
	// silentFor is after how long without steps a rank is forgotten.
	silentFor = uint64(60e9)
)

// Sum is the operations of a kind that a rank finished in a second, in one communicator.
type Sum struct {
	From, To    uint64 // Unix ns
	PID         uint32
	Rank, Ranks int32  // -1 and 0: not known
	Comm        uint64 // event.Collective.CommID; 0: not known
	Op          event.Op
	Count       uint64
	Bytes       uint64
	// Waits is how many of them were waited for, as far as that was seen. WaitNS is the sum of those waits
	// (event.Collective.Wait), and WaitMin and WaitMax the shortest and longest, in ns.
	Waits, WaitNS, WaitMin, WaitMax uint64
}

// Arrival is a single operation of a rank.
type Arrival struct {
	event.Collective
	Why Why
	// OneOf is for how many steps a sample stands: 1 of a step that is sent for itself.
	OneOf uint64
	// OwnNS is the rank's own work in the step that ends with it, or of which it is the one before which the rank took
	// longest. WaitNS is, if the rank waited longer than usual, for how long it waited for others in the step that begins
	// with it, or of which it is the one that it waited for longest. UsualOwnNS and UsualWaitNS are the medians of the
	// steps before. 0: not known.
	OwnNS, WaitNS, UsualOwnNS, UsualWaitNS uint64
	// Off is for how long the thread was off the CPU in the last BeforeNS before it entered, in ns by class. Only of a
	// late operation.
	Off      [event.NumClasses]uint64
	BeforeNS uint64
}

// Chooser follows the ranks on a node. It is not safe for concurrent use.
type Chooser struct {
	from    uint64           // Unix ns: when the second in progress began; 0: not known
	ranks   map[uint32]*rank // by process
	sums    map[sumKey]*Sum
	chosen  []Arrival
	leftOut uint64
}

// sumKey is what operations are added up by. A process may be several ranks.
type sumKey struct {
	pid  uint32
	comm uint64
	rank int32
	op   event.Op
}

// NewChooser returns a chooser that knows of no rank.
func NewChooser() *Chooser { return &Chooser{ranks: map[uint32]*rank{}, sums: map[sumKey]*Sum{}} }

// LeftOut is of how many operations that should have been sent nothing is sent: because there were too many, or because
// they were not seen to end.
func (c *Chooser) LeftOut() uint64 { return c.leftOut }

// Batch takes what was recorded. It keeps nothing of b.
func (c *Chooser) Batch(b *store.Batch) {
	for i := range b.Collectives {
		x := &b.Collectives[i]
		if x.Ret == 0 {
			c.add(x)
		}
	}
	c.waits(b)
	for i := range b.RankSteps {
		row := &b.RankSteps[i]
		if row.Rank >= 0 && row.Every > 0 && len(row.Steps) > 0 {
			c.steps(row)
		}
		if row.Ended {
			c.forget(row.PID)
		}
	}
}

// Second ends a second. It appends what was finished in it, in a fixed order, and the operations that were chosen.
func (c *Chooser) Second(at uint64, sums []Sum, chosen []Arrival) ([]Sum, []Arrival) {
	first := len(sums)
	for _, s := range c.sums {
		s.From, s.To = min(cmp.Or(c.from, at-min(at, 1e9)), at), at
		sums = append(sums, *s)
	}
	slices.SortFunc(sums[first:], func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.Op, b.Op))
	})
	clear(c.sums)
	c.from = at
	for pid, r := range c.ranks {
		c.leftOut += r.expire(at)
		if at-min(r.stepped, at) > silentFor {
			c.forget(pid)
		}
	}
	chosen = append(chosen, c.chosen...)
	c.chosen = c.chosen[:0]
	return sums, chosen
}

// forget forgets the rank of a process.
func (c *Chooser) forget(pid uint32) {
	if r := c.ranks[pid]; r != nil {
		c.leftOut += uint64(len(r.pending))
		delete(c.ranks, pid)
	}
}

// add takes an operation.
func (c *Chooser) add(x *event.Collective) {
	k := sumKey{x.PID, x.CommID, x.Rank, x.Op}
	s := c.sums[k]
	if s == nil {
		s = &Sum{PID: x.PID, Rank: x.Rank, Ranks: x.Ranks, Comm: x.CommID, Op: x.Op}
		c.sums[k] = s
	}
	s.Count++
	s.Bytes += x.Bytes
	if ns, ok := x.Wait(); ok {
		if s.Waits++; s.Waits == 1 {
			s.WaitMin = ns
		}
		s.WaitNS, s.WaitMin, s.WaitMax = s.WaitNS+ns, min(s.WaitMin, ns), max(s.WaitMax, ns)
	}
	r := c.ranks[x.PID]
	if r == nil || x.CommID != r.comm || x.Rank != r.rank || x.Seq == 0 || x.PairWise() {
		return
	}
	r.put(x)
	if a, ok := r.pending[x.Seq]; ok {
		delete(r.pending, x.Seq)
		c.choose(r, x, a)
	}
}

// choose has an operation sent.
func (c *Chooser) choose(r *rank, x *event.Collective, a Arrival) {
	a.Collective = *x
	if a.Why == Late {
		a.BeforeNS = min(before, x.At-min(r.enteredBefore(x), x.At))
		a.Off = r.off.within(x.TID, x.At-a.BeforeNS, x.At)
	}
	c.chosen = append(c.chosen, a)
}
