package numbers

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Tolerances, where the program and the recording measure different things.
const (
	histogram = 0.012 // error of a quantile of an exponential histogram (package stats)
	rounding  = 0.006 // numbers with three digits that count
	edges     = 0.03  // what lies before the first and behind the last call, of a run of some seconds
)

// known is what the program knows of itself, by the names of the recording.
type known struct {
	t        *cudastub.Truth
	calls    map[string]float64 // by operation
	made     map[string]cudastub.Made
	wall     float64 // ns
	lost     float64 // calls that the recording says were lost
	stolen   float64
	innerOff bool // some inner calls were not counted, as the recording says
}

func newKnown(t *cudastub.Truth, r *report.Report, stolen float64) *known {
	k := &known{t: t, calls: map[string]float64{}, made: map[string]cudastub.Made{}, wall: t.Seconds * 1e9, stolen: stolen}
	names := map[string]string{}
	for i := range event.Catalog {
		for _, s := range event.Catalog[i].SymbolNames() {
			names[s] = event.Catalog[i].Name
		}
	}
	for symbol, n := range t.Calls {
		k.calls[names[symbol]] += float64(n)
	}
	for symbol, m := range t.Made {
		k.made[names[symbol]] = m
	}
	for i := range event.Losses {
		if l := &event.Losses[i]; l.Unit == "calls" {
			k.lost += float64(r.Lost[l.Name])
		}
	}
	k.innerOff = r.Lost[event.Losses[event.InnerCalls].Name] > 0
	return k
}

// alone says that the program has one thread that makes calls.
func (k *known) alone() bool { return len(k.t.Dispatchers) == 0 }

// outermost is how many calls were made by none other.
func (k *known) outermost() float64 { return float64(k.t.Outermost()) }

// within is the time in all outermost calls, between two bounds.
func (k *known) within() (low, high float64) {
	for _, m := range k.made {
		low += float64(m.Inside.TotalNS)
		high += float64(m.Around.TotalNS)
	}
	return low, high
}

// node is an object of an answer, and the one it is in.
type node struct {
	fields map[string]any
	up     *node
}

// get is a field of the object, or of one that it is in.
func (n *node) get(name string) (any, bool) {
	for ; n != nil; n = n.up {
		if v, ok := n.fields[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (n *node) number(name string) float64 {
	v, _ := n.get(name)
	f, _ := v.(float64)
	return f
}

// op is the operation that an object is about, if the program made its calls.
func (k *known) op(n *node) string {
	if pid, ok := n.get("pid"); ok && pid != float64(k.t.PID) {
		return ""
	}
	v, _ := n.get("op")
	name, _ := v.(string)
	return name
}
