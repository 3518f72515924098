package numbers

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// Tolerances where the program and the recording measure different things.
const (
	histogram = 0.012 // error of a quantile of an exponential histogram (package stats)
	rounding  = 0.006 // of numbers with three significant digits
	edges     = 0.03  // share of the time before the first and after the last call, in a run of some seconds
)

// known is what the program measured itself, by the recording's names.
type known struct {
	t        *cudastub.Truth
	calls    map[string]float64 // by operation
	made     map[string]cudastub.Made
	wall     float64 // ns
	lost     float64 // calls that were dropped, according to the recording
	stolen   float64
	innerOff bool // some inner calls were not counted, according to the recording
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

// alone reports whether only one thread of the program makes calls.
func (k *known) alone() bool { return len(k.t.Dispatchers) == 0 }

// outermost is the number of outermost calls.
func (k *known) outermost() float64 { return float64(k.t.Outermost()) }

// within is the time in all outermost calls, ns, between two bounds.
func (k *known) within() (low, high float64) {
	for _, m := range k.made {
		low += float64(m.Inside.TotalNS)
		high += float64(m.Around.TotalNS)
	}
	return low, high
}

// node is an object of an answer, with the object that contains it.
type node struct {
	fields map[string]any
	up     *node
}

// get returns a field of the object, or of an object that contains it.
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

// op is the operation that an object is about, empty if another process made its calls.
func (k *known) op(n *node) string {
	if pid, ok := n.get("pid"); ok && pid != float64(k.t.PID) {
		return ""
	}
	v, _ := n.get("op")
	name, _ := v.(string)
	return name
}
