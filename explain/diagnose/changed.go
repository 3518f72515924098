package diagnose

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/explain/report"
)

// Steps that take longer from some time on are reported, whatever the cause: a program that began to wait more often
// loses no time by any single call. Package change finds them; this file decides whose steps they are, and what
// findings already explain.

const (
	// A thread that waits for work has steps of the length of its waits. Percent of the time up to which any change is
	// reported, and up to which those that are no waits are: PyTorch's main thread waits for its autograd thread.
	maxChangeIdle = 10
	maxOwnIdle    = 60

	minRateCalls = 50 // calls that wait for the GPU, of a thread whose steps are not known
)

// Changes returns the changes of a recording, including those that findings explain, those that lost most first.
func Changes(in *Input) []report.Change { return newEvidence(in).allChanges() }

// changes returns those that the findings do not explain.
func (ev *evidence) changes(chains []report.Chain) []report.Change {
	return slices.DeleteFunc(ev.allChanges(), func(c report.Change) bool { return ev.explained(&c, chains) })
}

// allChanges returns the changes of all threads, those that lost most first.
func (ev *evidence) allChanges() []report.Change {
	var list []report.Change
	for _, t := range ev.subjects {
		found := slices.Clone(ev.changesOf(t))
		for i := range found {
			ev.nameCode(t, &found[i])
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b report.Change) int { return cmp.Compare(b.LostNS, a.LostNS) })
	return append(list, ev.memoryGrowth()...)
}

// changesOf returns the changes of a thread whose time is attributed.
func (ev *evidence) changesOf(t *subject) []report.Change {
	if found, ok := ev.changed[t]; ok {
		return found
	}
	if ev.changed == nil {
		ev.changed = map[*subject][]report.Change{}
	}
	ev.changed[t] = nil
	ns, _ := ev.calls.idleOf(t)
	idle := percent(ns, t.wall())
	of, ok := ev.stepsOf(t)
	if idle > maxOwnIdle || !ok {
		return nil
	}
	width := max(ev.in.SeriesStep, 1) * uint64(time.Second)
	seconds := ev.seconds(t, width, ev.waitedBySecond(t.Thread))
	ev.places(t, seconds)
	ev.changed[t] = slices.DeleteFunc(change.Find(&of, seconds, width), func(c report.Change) bool {
		return idle > maxChangeIdle && (c.Between || c.Elsewhere || c.MoreWork != "")
	})
	return ev.changed[t]
}

// onset returns from when on a thread's steps take longer for good, Unix ns; 0 if they do not.
func (ev *evidence) onset(t *subject) uint64 {
	var most uint64
	var at uint64
	for _, c := range ev.changesOf(t) {
		if c.Kind == report.ChangeLevel && c.LostNS > most {
			most, at = c.LostNS, c.AtNS
		}
	}
	return at
}

// memoryGrowth returns the memory of processes that grows up to the end, once their threads work. Device memory is
// handled by growths.
func (ev *evidence) memoryGrowth() (list []report.Change) {
	works := map[uint32][2]uint64{} // the first and the last call of a process
	first := ev.to
	for _, t := range ev.subjects {
		w, ok := works[t.PID]
		if !ok {
			w = [2]uint64{t.from, t.to}
		}
		works[t.PID] = [2]uint64{min(w[0], t.from), max(w[1], t.to)}
		first = min(first, t.from)
	}
	by := map[uint32][]change.Held{}
	for _, m := range ev.in.HostMemory {
		if m.Private > 0 {
			by[m.PID] = append(by[m.PID], change.Held{At: m.At, Bytes: m.Private + m.Swap})
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(by)) {
		readings := by[pid]
		from, to := first, readings[len(readings)-1].At
		if w, ok := works[pid]; ok {
			from, to = w[0], max(to, w[1])
		}
		readings = slices.DeleteFunc(readings, func(h change.Held) bool { return h.At < from })
		if c, ok := change.Growth(ev.procs.name(pid, ""), pid, "memory", readings, to); ok {
			list = append(list, c)
		}
	}
	return list
}

// changeKey is an operation in a second; 0 stands for the time between calls.
type changeKey struct {
	second uint64 // Unix s
	op     event.Op
}

// waitedBySecond returns a thread's waits in calls and between them, by second.
func (ev *evidence) waitedBySecond(t event.Thread) map[changeKey]event.Ledger {
	if ev.waits == nil {
		ev.waits = map[event.Thread]map[changeKey]event.Ledger{}
		for i := range ev.in.WaitSeries {
			o := &ev.in.WaitSeries[i]
			if ev.waits[o.Thread] == nil {
				ev.waits[o.Thread] = map[changeKey]event.Ledger{}
			}
			l := ev.waits[o.Thread][changeKey{o.Second, o.Op}]
			l.Add(&o.Ledger)
			ev.waits[o.Thread][changeKey{o.Second, o.Op}] = l
		}
	}
	return ev.waits[t]
}

// leastCovered is the share of a thread's active time that its steps have to take, or they do not measure its progress.
const leastCovered = 0.9

// stepsCover reports whether the steps that were found are what the thread spends its time in: each call of their
// operation ends one, and they take nearly all of its active time.
func (ev *evidence) stepsCover(t *subject) bool {
	if t.count == 0 || t.steps.Least != 0 || len(t.steps.Sampled) == 0 {
		return false
	}
	var ns uint64
	for i := range t.steps.Sampled {
		ns += t.steps.Sampled[i].Duration
	}
	mean := float64(ns) / float64(len(t.steps.Sampled))
	return mean*float64(t.count) >= leastCovered*float64(ev.calls.active(t))
}

// stepsOf returns which calls count a thread's steps: those that end one, or if no steps were found that take its time,
// those that wait for the GPU most.
func (ev *evidence) stepsOf(t *subject) (change.Thread, bool) {
	of := change.Thread{Thread: t.Thread, Process: ev.procs.name(t.PID, ""), Op: t.steps.Op}
	if ev.stepsCover(t) {
		for _, c := range t.steps.Calls {
			if c.N == 1 && c.Op != of.Op {
				of.Once = append(of.Once, c.Op)
			}
		}
		return of, true
	}
	of.Op, of.Rate = 0, true
	var most uint64
	for _, o := range t.ops {
		if o.Op.Role() == event.RoleSync && o.Calls >= minRateCalls && o.SumNS > most {
			of.Op, most = o.Op, o.SumNS
		}
	}
	return of, of.Op != 0
}

// seconds returns the parts of the series in which the thread worked from begin to end.
func (ev *evidence) seconds(t *subject, width uint64, waits map[changeKey]event.Ledger) []change.Second {
	by := map[uint64]*change.Second{}
	var order []uint64
	for _, o := range t.ops {
		for _, s := range ev.calls.series[threadOp{t.Thread, o.Op}] {
			at := s.Second * uint64(time.Second)
			if at < t.from || at+width > t.to || s.Calls == 0 {
				continue
			}
			if by[s.Second] == nil {
				by[s.Second] = &change.Second{At: at, Between: waits[changeKey{s.Second, 0}]}
				order = append(order, s.Second)
			}
			by[s.Second].Ops = append(by[s.Second].Ops, change.Sum{
				Op: o.Op, Calls: s.Calls, NS: s.SumNS, Bytes: s.Bytes, Ledger: waits[changeKey{s.Second, o.Op}],
			})
		}
	}
	slices.Sort(order)
	list := make([]change.Second, len(order))
	for i, s := range order {
		list[i] = *by[s]
	}
	return list
}

// places adds the places where a thread waited for the GPU to its seconds, which are by time.
func (ev *evidence) places(t *subject, seconds []change.Second) {
	for i := range ev.in.WaitSites {
		o := &ev.in.WaitSites[i]
		n, ok := slices.BinarySearchFunc(seconds, o.Second*uint64(time.Second),
			func(s change.Second, at uint64) int { return cmp.Compare(s.At, at) })
		if !ok || o.Thread != t.Thread {
			continue
		}
		if s := seconds[n].Of(o.Op); s != nil && o.Op.Role() == event.RoleSync {
			s.At(o.Site, o.Calls)
		}
	}
}

// explained reports whether the thread's findings lost at least half as much after a change, at a higher rate than
// before, as the change itself.
func (ev *evidence) explained(c *report.Change, chains []report.Chain) bool {
	if c.Kind == report.ChangeMemory {
		return false // it loses no time
	}
	var lost float64
	from, to := c.AtNS, ev.to
	if c.UntilNS != 0 {
		to = c.UntilNS
	}
	for i := range chains {
		e, p := &chains[i].Effect, chains[i].Pattern
		switch {
		case e.PID != c.PID || e.TID != c.TID:
		case p == nil || len(p.Timeline) == 0:
			lost += float64(chains[i].LostNS)
		default:
			line := pattern.Timeline(p.Timeline)
			before := line.Within(ev.from, ev.to, ev.from, from) / float64(max(from-min(ev.from, from), 1))
			lost += line.Within(ev.from, ev.to, from, to) - before*float64(to-min(from, to))
		}
	}
	return lost >= float64(c.LostNS)/2
}

// changeVerdict describes in one sentence the first change that is worth a verdict, and that lost more than than,
// apart from additional work. There is none if steps only launch more, or if the thread waits longer between calls,
// since there may be less to do then.
func changeVerdict(list []report.Change, than uint64) string {
	for i := range list {
		c := &list[i]
		if c.MoreWork == "" && !c.Between && !c.Elsewhere && c.LostNS > than+c.WorkNS {
			return c.Summary
		}
	}
	return ""
}

// growthVerdict describes growing memory in one sentence: it is the verdict if nothing loses time.
func growthVerdict(list []report.Change) string {
	i := slices.IndexFunc(list, func(c report.Change) bool { return c.Kind == report.ChangeMemory })
	if i < 0 {
		return ""
	}
	return list[i].Summary
}
