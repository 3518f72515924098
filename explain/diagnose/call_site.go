package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

// What a wait usually takes depends on the work that the program waits for at that call site. An
// operation's median is mostly that of its most frequent call site. So, where an operation has
// several call sites or phases, a wait is compared with waits from the same call site in the same
// phase.

// phaseRatio is the least ratio between the launches for each wait of two phases. The duration of
// waits does not make a phase: otherwise a GPU that becomes slow would be an excuse for slow waits.
const phaseRatio = 1.5

// waitSites are the waits of an operation on a thread, by call site.
type waitSites struct {
	bySite map[uint64][]store.SiteSecond // by time
	phases []uint64                      // Unix seconds at which each phase begins, without the first phase
	usual  map[sitePhase]siteUsual
}

type opSite struct {
	op   event.Op
	site uint64
}

// siteUsual is what waits from a call site usually take.
type siteUsual struct {
	ns  uint64 // median, 0 if unknown; that of the long waits if there are short and long ones
	two bool
}

type sitePhase struct {
	site  uint64
	phase int
}

// readSites finds the operations whose waits come from several call sites or phases.
func (ev *evidence) readSites() {
	ev.calls.sites = map[threadOp]*waitSites{}
	for i := range ev.in.WaitSites {
		o := &ev.in.WaitSites[i]
		k := threadOp{o.Thread, o.Op}
		if ev.calls.sites[k] == nil {
			ev.calls.sites[k] = &waitSites{bySite: map[uint64][]store.SiteSecond{}, usual: map[sitePhase]siteUsual{}}
		}
		ev.calls.sites[k].bySite[o.Site] = append(ev.calls.sites[k].bySite[o.Site], *o)
	}
	for k, w := range ev.calls.sites {
		known := 0
		for _, list := range w.bySite {
			slices.SortFunc(list, func(a, b store.SiteSecond) int { return cmp.Compare(a.Second, b.Second) })
			if waitsOf(list) >= minCalls {
				known++
			}
		}
		w.phases = ev.phases(k)
		if known < 2 && len(w.phases) == 0 {
			delete(ev.calls.sites, k)
		}
	}
}

func waitsOf(list []store.SiteSecond) (n uint64) {
	for i := range list {
		n += list[i].Calls
	}
	return n
}

// phases returns the Unix seconds at which the launches for each wait of an operation change.
func (ev *evidence) phases(k threadOp) (begins []uint64) {
	i := slices.IndexFunc(ev.subjects, func(t *subject) bool { return t.Thread == k.Thread })
	if i < 0 {
		return nil
	}
	list := slices.DeleteFunc(ev.waitSeconds(ev.subjects[i], k.op), func(v waitSecond) bool { return !v.whole })
	values := make([]float64, len(list))
	for i := range list {
		values[i] = list[i].launches
	}
	levels := stats.Levels(values, phaseRatio)
	for i := 1; i < len(levels); i++ {
		begins = append(begins, list[levels[i].From].at)
	}
	return begins
}

// byPhase splits the seconds of an operation's waits where a phase begins.
func (cs *callStats) byPhase(t *subject, op event.Op, seconds []waitSecond) [][]waitSecond {
	var parts [][]waitSecond
	if w := cs.sites[threadOp{t.Thread, op}]; w != nil {
		for _, begin := range w.phases {
			n := slices.IndexFunc(seconds, func(v waitSecond) bool { return v.at >= begin })
			parts, seconds = append(parts, seconds[:n]), seconds[n:]
		}
	}
	return append(parts, seconds)
}

// siteUsual returns what a wait from the call's call site usually takes in that phase, ns. Where the
// waits from there are of two kinds (short and long), it is that of waits for the same work. It is
// false if the operation's waits have only one call site and phase, or if there are too few.
func (cs *callStats) siteUsual(t *subject, c *event.Call) (uint64, bool) {
	w := cs.sites[threadOp{c.Thread, c.Op}]
	if w == nil {
		return 0, false
	}
	step := max(cs.in.SeriesStep, 1)
	phase := 0
	for phase < len(w.phases) && c.Start/1e9/step*step >= w.phases[phase] {
		phase++
	}
	k := sitePhase{c.Args[event.SiteArg], phase}
	u, ok := w.usual[k]
	if !ok {
		u = w.median(k, t.levels[c.Op].since/1e9)
		w.usual[k] = u
	}
	work := t.waitWork[c.Start]
	if u.two {
		if work = cmp.Or(work, t.siteWork[opSite{c.Op, k.site}]); work > 0 {
			return work, true
		}
	}
	return max(u.ns, work), u.ns != 0
}

// median returns the median of a call site's waits in a phase, or of all its waits if there are too few
// in the phase. Where waits suddenly became longer and stayed so, only those before the Unix second
// before count; 0: all.
func (w *waitSites) median(k sitePhase, before uint64) siteUsual {
	from, to := uint64(0), ^uint64(0)
	if k.phase > 0 {
		from = w.phases[k.phase-1]
	}
	if k.phase < len(w.phases) {
		to = w.phases[k.phase]
	}
	if before > from {
		to = min(to, before)
	}
	in, all := &stats.Histogram{}, &stats.Histogram{}
	for _, o := range w.bySite[k.site] {
		all.Merge(o.Hist)
		if o.Second >= from && o.Second < to {
			in.Merge(o.Hist)
		}
	}
	if in.Count() < minCalls {
		in = all
	}
	if in.Count() < minCalls {
		return siteUsual{}
	}
	if _, long, two := in.Kinds(); two {
		return siteUsual{long.Median, true}
	}
	return siteUsual{in.Quantile(0.5), false}
}
