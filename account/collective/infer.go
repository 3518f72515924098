package collective

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// Rank is a process's rank and the number of ranks, as given to the process itself; -1 and 0 if not known.
type Rank struct{ Rank, Ranks int }

// The conditions for ranks, in communicators created before the recording began, to be in the same operations.
const (
	minCommon = 10  // least number of common operations
	together  = 0.5 // least share of them that ends together: a rank may wait much later
	agreed    = 0.9 // least share of those with the same difference of sequence numbers
	closeness = 0.1 // greatest difference of their ends, as a share of the time between operations
)

// line has the operations of one process in one communicator, by sequence number.
type line struct {
	pid  uint32
	comm uint64
	ops  []*event.Collective
}

// Infer finds operations that belong together in communicators created before the recording began, on one machine: an
// operation ends on all ranks at the same time, and has the same kind and size on all. It needs the ranks of the
// processes. It fills in what it finds, marked as Inferred, and returns the number of operations still without a
// communicator.
func Infer(list []event.Collective, ranks map[uint32]Rank) (left int) {
	lines := unknown(list)
	for i, first := range lines {
		if first.ops[0].CommID != 0 || ranks[first.pid].Ranks < 2 {
			continue
		}
		group, shifts := []*line{first}, []int64{0}
		for _, l := range lines[i+1:] {
			if l.ops[0].CommID != 0 || l.pid == first.pid || ranks[l.pid].Ranks != ranks[first.pid].Ranks {
				continue
			}
			if shift, ok := first.aligned(l); ok {
				group, shifts = append(group, l), append(shifts, shift)
			}
		}
		if distinct(group, ranks) {
			name(group, shifts, ranks)
		}
	}
	for i := range list {
		if c := &list[i]; c.Ret == 0 && c.CommID == 0 && !c.PairWise() {
			left++
		}
	}
	return left
}

// unknown returns the operations of unknown communicators, by communicator, those with most operations first.
func unknown(list []event.Collective) (lines []*line) {
	type key struct {
		pid  uint32
		comm uint64
	}
	by := map[key]*line{}
	for i := range list {
		c := &list[i]
		if c.Ret != 0 || c.CommID != 0 || c.Seq == 0 || c.PairWise() {
			continue
		}
		k := key{c.PID, c.Comm}
		if by[k] == nil {
			by[k] = &line{pid: c.PID, comm: c.Comm}
			lines = append(lines, by[k])
		}
		by[k].ops = append(by[k].ops, c)
	}
	for _, l := range lines {
		slices.SortFunc(l.ops, func(a, b *event.Collective) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		return cmp.Or(cmp.Compare(len(b.ops), len(a.ops)), cmp.Compare(a.pid, b.pid), cmp.Compare(a.comm, b.comm))
	})
	return lines
}

// ends returns the operations that were waited for, by the end of the wait.
func (l *line) ends() (list []*event.Collective) {
	for _, c := range l.ops {
		if c.SyncOp != 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *event.Collective) int { return cmp.Compare(a.SyncEnd, b.SyncEnd) })
	return list
}

// aligned returns how far o's sequence numbers are ahead of l's, if the two are ranks of one communicator.
func (l *line) aligned(o *line) (shift int64, ok bool) {
	mine, theirs := l.ends(), o.ends()
	if len(mine) < minCommon || len(theirs) < minCommon {
		return 0, false
	}
	step := (mine[len(mine)-1].SyncEnd - mine[0].SyncEnd) / uint64(len(mine)-1)
	votes, near := map[int64]int{}, 0
	for _, c := range theirs {
		n, _ := slices.BinarySearchFunc(mine, c.SyncEnd,
			func(m *event.Collective, at uint64) int { return cmp.Compare(m.SyncEnd, at) })
		best := -1
		for _, i := range []int{n - 1, n} {
			if i >= 0 && i < len(mine) &&
				(best < 0 || distance(mine[i].SyncEnd, c.SyncEnd) < distance(mine[best].SyncEnd, c.SyncEnd)) {
				best = i
			}
		}
		if m := mine[best]; float64(distance(m.SyncEnd, c.SyncEnd)) <= closeness*float64(step) {
			near++
			votes[int64(c.Seq)-int64(m.Seq)]++
		}
	}
	for s, n := range votes {
		if n > votes[shift] || n == votes[shift] && s < shift {
			shift = s
		}
	}
	common, same := l.common(o, shift)
	return shift, votes[shift] >= minCommon && float64(votes[shift]) >= agreed*float64(near) &&
		float64(votes[shift]) >= together*float64(common) && same
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// common counts the operations of both lines that were waited for, given the difference of their sequence numbers,
// and reports whether they are the same on both.
func (l *line) common(o *line, shift int64) (n int, same bool) {
	at := map[int64]*event.Collective{}
	for _, c := range l.ops {
		at[int64(c.Seq)] = c
	}
	for _, c := range o.ops {
		m := at[int64(c.Seq)-shift]
		if m == nil {
			continue
		}
		if m.Op != c.Op || m.Bytes != c.Bytes || m.DataType != c.DataType || m.ReduceOp != c.ReduceOp {
			return n, false
		}
		if m.SyncOp != 0 && c.SyncOp != 0 {
			n++
		}
	}
	return n, true
}

// distinct reports whether a group has at least two lines, all of different ranks.
func distinct(group []*line, ranks map[uint32]Rank) bool {
	seen := map[int]bool{}
	for _, l := range group {
		r := ranks[l.pid].Rank
		if r < 0 || seen[r] {
			return false
		}
		seen[r] = true
	}
	return len(group) > 1 && len(group) <= ranks[group[0].pid].Ranks
}

// name gives a group's operations a communicator id, a rank and common sequence numbers.
func name(group []*line, shifts []int64, ranks map[uint32]Rank) {
	id := mix(mix(14695981039346656037, uint64(group[0].pid)), group[0].comm)
	first := int64(1)
	for i, l := range group {
		first = min(first, int64(l.ops[0].Seq)-shifts[i])
	}
	for i, l := range group {
		for _, c := range l.ops {
			c.CommID, c.Rank, c.Inferred = id, int32(ranks[l.pid].Rank), true
			c.Seq = uint32(int64(c.Seq) - shifts[i] - first + 1)
		}
	}
}
