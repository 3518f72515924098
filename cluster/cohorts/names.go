package cohorts

import "time"

// A name is kept for nameLife after it was last seen, longer than the fleet keeps a silent rank. maxNames bounds
// their number.
const (
	nameLife = 2 * time.Minute
	maxNames = 1 << 18
)

// names maps the numbers of nodes or cohorts to names.
type names map[uint64]named

type named struct {
	name string
	seen time.Duration
}

// see notes a name and when it was seen.
func (n names) see(id uint64, name string, now time.Duration) {
	if _, ok := n[id]; ok || len(n) < maxNames {
		n[id] = named{name, now}
	}
}

// forgetOld drops names that were not seen for nameLife.
func (n names) forgetOld(now time.Duration) {
	for id, k := range n {
		if now-k.seen > nameLife {
			delete(n, id)
		}
	}
}
