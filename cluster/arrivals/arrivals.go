// Package arrivals chooses what a node sends about the collective operations of its ranks: for each second their
// number and waits, and single operations. Only where the operations of all ranks come together is it known whether a
// rank was late. So each node sends those that may be needed there: of steps in which its rank worked longer than
// usual, of steps in which it waited longer than usual, and samples that all ranks choose alike. The package has no
// clock and no I/O.
package arrivals

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Why is the reason for sending a single operation.
type Why string

// The reasons.
const (
	// Late: the rank had worked longer than usual before it.
	Late Why = "late"
	// Waited: the rank waited for others longer than usual.
	Waited Why = "waited"
	// Sample: about one operation a second; all ranks choose the same ones.
	Sample Why = "sample"
)

// Bounds. A rank sends at most maxNotable steps a second, and for each of them two operations.
const (
	maxNotable = 4
	// minOps and maxOps bound how many operations of a rank are kept: all between two rows of its steps, a second apart.
	// Both are powers of two.
	minOps, maxOps = 256, 1 << 13
	// maxOff is how many off-CPU intervals of a rank's threads are kept.
	maxOff = 512
	// pendingFor is how long a chosen operation may take to end, in ns.
	pendingFor = uint64(10e9)
	// before bounds the time before a late operation for which its thread's waits are sent, in ns: the same as in
	// findings.
	before = uint64(500e6)
	// silentFor is the time without steps after which a rank is forgotten, in ns.
	silentFor = uint64(60e9)
)

// Sum adds up the operations of one kind that a rank finished in a second, in one communicator.
type Sum struct {
	From, To    uint64 // Unix ns
	PID         uint32
	Rank, Ranks int32  // -1 and 0: not known
	Comm        uint64 // event.Collective.CommID; 0: not known
	Op          event.Op
	Count       uint64
	Bytes       uint64
	// Waits counts the operations whose wait was measured. WaitNS is the sum of those waits (event.Collective.Wait),
	// WaitMin and WaitMax the shortest and longest, in ns.
	Waits, WaitNS, WaitMin, WaitMax uint64
}

// Arrival is a single operation of a rank.
type Arrival struct {
	event.Collective
	Why Why
	// OneOf is how many steps a sample stands for; 1 for a step that is notable itself.
	OneOf uint64
	// OwnNS is the rank's own work in the step that ends with this operation, or, if the rank was late for one within
	// the step, in that step. WaitNS is set if the rank waited longer than usual: its wait for others in the step that
	// begins with this operation, or that contains it. UsualOwnNS and UsualWaitNS are the medians of the steps before.
	// 0: not known.
	OwnNS, WaitNS, UsualOwnNS, UsualWaitNS uint64
	// Off is the thread's off-CPU time in the BeforeNS before it entered the operation, in ns by class. Only late
	// operations have it.
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

// sumKey is the key that operations are added up by. A process may have several ranks.
type sumKey struct {
	pid  uint32
	comm uint64
	rank int32
	op   event.Op
}

// NewChooser returns a chooser that knows no ranks.
func NewChooser() *Chooser { return &Chooser{ranks: map[uint32]*rank{}, sums: map[sumKey]*Sum{}} }

// LeftOut counts operations that were chosen but not sent: there were too many, or their end was not seen.
func (c *Chooser) LeftOut() uint64 { return c.leftOut }

// Batch takes in recorded data. It keeps no reference to b.
func (c *Chooser) Batch(b *store.Batch) {
	for i := range b.Collectives {
		x := &b.Collectives[i]
		if x.Ret == 0 {
			c.addCollective(x)
		}
	}
	c.waits(b)
	for i := range b.RankSteps {
		row := &b.RankSteps[i]
		if row.Rank >= 0 && row.Every > 0 && len(row.Steps) > 0 {
			c.steps(row)
		}
		if row.Ended {
			c.forgetProcess(row.PID)
		}
	}
}

// Second ends a second. It appends the second's sums, in a fixed order, and the operations that were chosen.
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
			c.forgetProcess(pid)
		}
	}
	chosen = append(chosen, c.chosen...)
	c.chosen = c.chosen[:0]
	return sums, chosen
}

// forgetProcess forgets the rank of a process.
func (c *Chooser) forgetProcess(pid uint32) {
	if r := c.ranks[pid]; r != nil {
		c.leftOut += uint64(len(r.pending))
		delete(c.ranks, pid)
	}
}

// addCollective takes in an operation.
func (c *Chooser) addCollective(x *event.Collective) {
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

// choose queues an operation for sending.
func (c *Chooser) choose(r *rank, x *event.Collective, a Arrival) {
	a.Collective = *x
	if a.Why == Late {
		a.BeforeNS = min(before, x.At-min(r.enteredBefore(x), x.At))
		a.Off = r.off.within(x.TID, x.At-a.BeforeNS, x.At)
	}
	c.chosen = append(c.chosen, a)
}
