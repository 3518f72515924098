package cohorts

import "time"

// A name is kept for nameLife after it was last heard, longer than the fleet keeps a silent rank; maxNames
// bounds how many.
const (
	nameLife = 2 * time.Minute
	maxNames = 1 << 18
)

// names are what numbers stand for.
type names map[uint64]named

type named struct {
	name string
	seen time.Duration
}

// see notes that a name was heard.
func (n names) see(id uint64, name string, now time.Duration) {
	if _, ok := n[id]; ok || len(n) < maxNames {
		n[id] = named{name, now}
	}
}

// forget drops names that were not heard for long.
func (n names) forget(now time.Duration) {
	for id, k := range n {
		if now-k.seen > nameLife {
			delete(n, id)
		}
	}
}
