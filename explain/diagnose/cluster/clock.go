package cluster

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// minAligned is the least number of common operations to compare two clocks.
const minAligned = 5

// Ahead returns how far one machine's clock is ahead of another's, ns, from their parts in the same operations. An
// operation ends on all ranks at about the same time, so it compares the ends of the calls that waited for it. It
// returns false if there are too few.
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
	return stats.Upper(d), true
}

// ends returns when the first wait for each operation ended, by the machine's own clock. For sends and receives the
// key is the same in both directions.
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

// Moved returns a time corrected for a clock that is ahead by by ns; at least 0.
func Moved(at uint64, by int64) uint64 { return uint64(max(int64(at)+by, 0)) }
