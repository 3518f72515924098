package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// If steps have different amounts of work, as with sequences of any length, half of the waits for the GPU are longer
// than the median, and nothing is lost in them. This differs from a GPU that is slow at times, or shared: the longer
// waits are many, not much longer, and random. A slow GPU stays slow for some time, so that a slow wait follows a
// slow wait.

const (
	variableLeast  = 50   // slow waits
	variableShare  = 0.2  // least share of slow waits: fewer are exceptions
	variableChance = 0.15 // how much more often than by chance slow waits may follow slow ones
	variableBulk   = 0.95 // quantile of all waits up to which their length is that of the work
	variableWithin = 0.9  // share of the slow waits that do not exceed mixedWork times the median
	variableOwn    = 0.9  // share of the waits' time that is not delay by the host
)

// readVariable finds the waits of threads that are for different amounts of work throughout.
func (ev *evidence) readVariable() {
	for _, t := range ev.subjects {
		t.variable = map[event.Op]uint64{}
		for _, o := range t.ops {
			_, grows := ev.growing(t, o.Op)
			_, shifted := t.levels[o.Op]
			if o.Op.Role() != event.RoleSync || grows || shifted || t.usualWork[o.Op] != 0 ||
				ev.calls.sites[threadOp{t.Thread, o.Op}] != nil || !ev.calls.byItself(t, o.Op) {
				continue
			}
			if v := variable(o, t.episodes); v > 0 {
				t.variable[o.Op] = v
			}
		}
	}
}

// byItself reports whether an operation's waits were hardly delayed by the host.
func (cs *callStats) byItself(t *subject, op event.Op) bool {
	var own, all uint64
	for _, o := range cs.series[threadOp{t.Thread, op}] {
		own += o.OwnNS()
		all += o.SumNS
	}
	return float64(own) >= variableOwn*float64(all)
}

// variable returns the duration, ns, up to which waits of an operation count as usual because their work varies; 0 if
// it does not.
func variable(o *store.OpStat, episodes []ledger.Episode) uint64 {
	if o.Hist == nil || o.Calls == 0 || o.Last <= o.First {
		return 0
	}
	median := o.Hist.Quantile(0.5)
	var slow []*event.Call
	bulk := 0
	for i := range episodes {
		c := episodes[i].Call
		if c == nil || c.Op != o.Op || !store.IsSlow(c.Duration, median) {
			continue
		}
		slow = append(slow, c)
		if float64(c.Duration) <= mixedWork*float64(median) {
			bulk++
		}
	}
	share := float64(len(slow)) / float64(o.Calls)
	if len(slow) < variableLeast || share < variableShare || float64(bulk) < variableWithin*float64(len(slow)) {
		return 0
	}
	slices.SortFunc(slow, func(a, b *event.Call) int { return cmp.Compare(a.Start, b.Start) })
	// From the end of a wait to the begin of the next one. With a wait between two others it is twice that, plus the
	// wait.
	mean := float64(o.SumNS) / float64(o.Calls)
	between := max(0, float64(o.Last-o.First)/float64(o.Calls)-mean)
	next := between + (between+float64(o.Hist.Quantile(0.1)))/2
	follow := 0
	for i := 1; i < len(slow); i++ {
		if float64(slow[i].Start)-float64(slow[i-1].Start+slow[i-1].Duration) < next {
			follow++
		}
	}
	if float64(follow) > (share+variableChance)*float64(len(slow)) {
		return 0
	}
	return o.Hist.Quantile(variableBulk)
}
