package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/stats"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// What a wait usually takes depends on what the program waits for there and then: the median of
// an operation is that of its commonest call site. So a wait is held against waits from the same
// place in the same phase of the program, where there are several of either.

// phaseRatio is by how much the launches for each wait differ in two phases of a program, at
// least. The length of waits makes no phase: a GPU that gets slow is no reason for slow waits.
const phaseRatio = 1.5

// waitSites are the waits of an operation on a thread, by where they were made from.
type waitSites struct {
	bySite map[uint64][]store.SiteSecond // by time
	phases []uint64                      // Unix seconds at which one begins, but for the first
	usual  map[sitePhase]siteUsual
}

type opSite struct {
	op   event.Op
	site uint64
}

// siteUsual is what waits from a place usually take.
type siteUsual struct {
	ns  uint64 // median, 0 if it cannot be told; of the long ones if they are of two kinds
	two bool
}

type sitePhase struct {
	site  uint64
	phase int
}

// readSites finds the operations whose waits come from several places, or in several phases.
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

// phases are the seconds in which the launches for each wait of an operation become more or fewer.
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
	for _, c := range stats.Changes(values, phaseRatio) {
		begins = append(begins, list[c.At].at)
	}
	return begins
}

// byPhase cuts the seconds of an operation's waits where another phase begins.
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

// siteUsual is what a wait from the call's place usually takes in that phase, ns: the median of
// those for the same work where waits from there are of two kinds, else of all. It is false if the
// operation's waits are of one place and phase, or if there are too few to tell.
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

// median is that of a place's waits in a phase; of all its waits if there are too few in it. Waits
// that became longer at once, and stayed so, are held against those before: those from before a
// Unix second, unless it is 0.
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
