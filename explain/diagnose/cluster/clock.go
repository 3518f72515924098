package cluster

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// minAligned is the least number of common operations from which two clocks are compared.
const minAligned = 5

// Ahead is how far one machine's clock is ahead of another's, ns, derived from their parts in the
// same operations. An operation ends on all ranks at about the same time, so the ends of the calls
// that waited for it are compared. It is false if there are too few of them.
func Ahead(one, other []event.Collective) (ns int64, ok bool) {
	theirs := ends(other)
	var d []int64
	for k, at := range ends(one) {
		if t, ok := theirs[k]; ok {
			d = append(d, int64(at)-int64(t))
		}
	}
	if len(d) < minAligned {
		return 0, false
	}
	slices.Sort(d)
	return d[len(d)/2], true
}

// ends is when the first wait for each operation ended, by the machine's own clock. For sends and
// receives the key is the same in both directions.
func ends(parts []event.Collective) map[operationKey]uint64 {
	list := map[operationKey]uint64{}
	for i := range parts {
		c := &parts[i]
		if !matched(c) || c.SyncOp == 0 {
			continue
		}
		k := keyOf(c)
		k.from, k.to = max(k.from, k.to), min(k.from, k.to)
		if at := list[k]; at == 0 || c.SyncEnd < at {
			list[k] = c.SyncEnd
		}
	}
	return list
}

// Moved is a time moved by so many ns, for a clock that is ahead by that; at least 0.
func Moved(at uint64, by int64) uint64 { return uint64(max(int64(at)+by, 0)) }
