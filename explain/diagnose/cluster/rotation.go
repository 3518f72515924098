package cluster

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// Rotation says that the ranks of a communicator are late in turn: no rank costs the others far more than the rest do,
// but all together cost much.
type Rotation struct {
	Turns []Turn // of the ranks that were late, the one that cost most first
	least uint64 // lateness from which an operation is part of it, ns
}

// Turn is how often a rank was the last one, and what that cost the others.
type Turn struct {
	event.Thread // that entered
	Rank         int32
	Times        int
	NS           uint64
}

// When ranks are late in turn: it costs a part of the time, two ranks at least are late again and again, and much later
// than the last one usually is. Chance makes each rank late at times, and by a little all the time.
const (
	rotates   = 20 // part of the time, from the first operation to the last one
	unusual   = 3  // times the median lateness of the communicator's operations
	fewestBy  = 3  // times that a rank is late, or it does not count
	fewestOwn = 2  // ranks that are
)

// rotation looks for turns in all operations of a communicator, which it sorts by time. nil: there are none.
func rotation(all []*Operation) *Rotation {
	slices.SortFunc(all, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Last().At, b.Last().At), cmp.Compare(a.Last().Rank, b.Last().Rank))
	})
	r := &Rotation{least: max(minLate, unusual*median(all))}
	by := map[int32]*Turn{}
	var cost uint64
	for _, o := range all {
		last := o.Last()
		if o.Late() < r.least {
			continue
		}
		if by[last.Rank] == nil {
			by[last.Rank] = &Turn{Thread: last.Thread, Rank: last.Rank}
		}
		t := by[last.Rank]
		t.Times++
		t.NS += o.Late()
		cost += o.Late()
	}
	for _, t := range by {
		if t.Times >= fewestBy {
			r.Turns = append(r.Turns, *t)
		}
	}
	if len(r.Turns) < fewestOwn || cost*rotates < all[len(all)-1].Last().At-all[0].Last().At {
		return nil
	}
	slices.SortFunc(r.Turns, func(a, b Turn) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Rank, b.Rank)) })
	return r
}

// median is the median lateness of operations, ns.
func median(all []*Operation) uint64 {
	var list []uint64
	for _, o := range all {
		list = append(list, o.Late())
	}
	return stats.Median(list)
}

// Rotation is the one that an operation is part of: its last rank was late, in turn with others. nil: there is none.
func (ops *Operations) Rotation(o *Operation) *Rotation {
	r := ops.rotations[o.Last().CommID]
	if r == nil || o.Late() < r.least {
		return nil
	}
	return r
}
