package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Fixes for CPU contention. The threads that one fix moves must not delay a thread that launches
// the GPU's work, nor the threads that another fix moves.

// plan says to which CPUs the threads of one finding may be moved.
type plan struct {
	own   bool     // the threads that ran belong to the program that waited
	to    []uint16 // free CPUs, in order; empty if there are none, or the machine is not known
	needs needs
}

// needs is how much CPU time a program's workers and its launching thread need, in the time in
// which the finding's loss happened. The time before does not count: the workers may have had less
// to do.
type needs struct {
	workers  int
	from, to uint64 // Unix ns
	when     string // in words; empty: all of the time
	steps    uint64 // steps that ended in that time; 0 if not known
	work     uint64 // ns of CPU, of the workers; 0 if not known
	launch   uint64 // ns of CPU, of the launching thread
	alone    uint64 // ns of the launching thread without its waits for the workers
	now, all int    // CPUs that the workers shared, and those of the machine
}

// plans makes the plans of all findings of CPU contention together, so that no fix takes a CPU that
// another one needs. CPUs on which a thread waited are reserved first, then those that workers are
// to be spread over. The threads that had the CPU get what remains.
func (ev *evidence) plans() map[*finding]*plan {
	if ev.planned != nil {
		return ev.planned
	}
	ev.planned = map[*finding]*plan{}
	launching := ev.reserve()
	taken := maps.Clone(launching)
	var list []*finding
	for _, f := range ev.list {
		if f.kind == event.CauseCPUContention && f.reportable(ev) {
			list = append(list, f)
		}
	}
	for _, f := range list {
		for c := range f.contention.cpus {
			taken[c] = true
		}
	}
	busy := ev.busyCPUs()
	for _, f := range list {
		if !ranOwn(ev, f) {
			continue
		}
		p := &plan{own: true, needs: needsOf(ev, f)}
		for c := range uint16(ev.in.CPUs) {
			if launching[c] || !f.contention.cpus[c] && (taken[c] || busy[c]) {
				continue
			}
			p.to = append(p.to, c)
			taken[c] = true
		}
		ev.planned[f] = p
	}
	for _, f := range list {
		if ev.planned[f] != nil {
			continue
		}
		p := &plan{}
		for c := range uint16(ev.in.CPUs) {
			if !taken[c] && !busy[c] {
				p.to = append(p.to, c)
			}
		}
		ev.planned[f] = p
	}
	return ev.planned
}

// planOf returns the plan of a finding; an empty one for a finding that is reported within another.
func (ev *evidence) planOf(f *finding) *plan {
	if p := ev.plans()[f]; p != nil {
		return p
	}
	return &plan{}
}

// ranOwn reports whether a finding's thread waited for workers of its own program while most of the
// threads on their CPUs belonged to that program too. Then it does not help to move one of them
// away: another one pays for it.
func ranOwn(ev *evidence, f *finding) bool {
	if !f.worst.through() {
		return false
	}
	var own, all uint64
	for _, r := range f.contention.ranked(&ev.procs) {
		all += r.NS
		if ev.procs.feeds(r.PID, f.sub.PID) {
			own += r.NS
		}
	}
	t := f.root()
	return all > 0 && share(own, all) >= half && t.PID != f.sub.PID && ev.procs.feeds(t.PID, f.sub.PID)
}

// contenders returns the workers that waited for a CPU, and the threads of their program that had it.
func contenders(ev *evidence, f *finding) []event.Thread {
	seen := map[event.Thread]bool{}
	add := func(t event.Thread) {
		if t.PID != f.sub.PID && ev.procs.feeds(t.PID, f.sub.PID) {
			seen[t] = true
		}
	}
	add(f.root())
	for _, p := range f.parts {
		add(p.Thread)
	}
	for _, r := range f.contention.runners.Ranked() {
		if share(r.NS, f.contention.runners.Named) >= minUse {
			add(r.Thread)
		}
	}
	list := make([]event.Thread, 0, len(seen))
	for t := range seen {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b event.Thread) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return list
}

// needsOf finds what the contenders of a finding need.
func needsOf(ev *evidence, f *finding) needs {
	threads := contenders(ev, f)
	n := needs{workers: len(threads), now: len(f.contention.cpus), all: ev.in.CPUs}
	if n.from, n.to = f.during(f.sub); n.from >= n.to {
		return n
	}
	switch wall := f.sub.wall(); {
	case share(n.to-n.from, wall) >= minWhole:
		n.from, n.to = f.sub.from, f.sub.to
	case share(f.sub.to-n.to, wall) < 1-minWhole:
		n.when, n.to = "since "+clockOf(n.from/1e9), f.sub.to
	default:
		n.when = "from " + clockOf(n.from/1e9) + " to " + clockOf(n.to/1e9)
	}
	var work uint64
	for _, t := range threads {
		ns, ok := ev.procs.onCPU(t, n.from, n.to)
		if !ok {
			return n
		}
		work += ns
	}
	n.steps = f.sub.stepsIn(n.from, n.to)
	n.launch, _ = ev.procs.onCPU(f.sub.Thread, n.from, n.to)
	n.work, n.alone = work, n.to-n.from-min(f.lost, n.to-n.from)
	return n
}

// leastStep returns the least duration of a step on the CPUs that a fix can give the program's workers,
// ns; 0 if there is no such limit or it is not known.
func leastStep(ev *evidence, f *finding) (ns uint64, why string) {
	p := ev.planOf(f)
	saved, ok := p.needs.saved(max(len(p.to), p.needs.now))
	if now := ev.calls.stepNS(f.sub); ok {
		return now - min(saved/f.sub.count, now), "what the workers themselves need of the CPUs they can have"
	}
	return 0, ""
}

// minWhole is the share of the thread's time from which on a loss counts as happening all the time.
const minWhole = 0.9

// stepsIn estimates how many steps end in a part of the time, from the sampled ones; 0 if it is not
// known.
func (t *subject) stepsIn(from, to uint64) uint64 {
	if from <= t.from && to >= t.to {
		return t.count
	}
	var n, sum uint64
	for _, st := range t.steps.Sampled {
		if st.End > from && st.End <= to {
			n++
			sum += st.Duration
		}
	}
	if n < minSampled || sum == 0 || t.count == 0 {
		return 0
	}
	return min(uint64(float64(to-from)*float64(n)/float64(sum)), t.count)
}

// minSampled is the least number of sampled steps from which their duration is estimated.
const minSampled = 8

// minAccounted is the least share of the time for which a thread's CPU use must be recorded.
const minAccounted = 0.5

// onCPU returns how long a thread ran on CPUs between two times, ns. If most of that time was recorded,
// the rest is extrapolated.
func (ps *processes) onCPU(t event.Thread, begin, end uint64) (uint64, bool) {
	from, to, ok := ps.x.Span(t.TID)
	from, to = max(from, begin), min(to, end)
	if !ok || from >= to || share(to-from, end-begin) < minAccounted {
		return 0, false
	}
	split, ok := ps.x.Between(t.TID, from, to)
	return uint64(float64(split.OnCPU) / share(to-from, end-begin)), ok
}

// least returns the least time for the steps if the workers share the given number of CPUs, ns; 0 if it
// is not known.
func (n *needs) least(cpus int) uint64 {
	if n.work == 0 || cpus == 0 {
		return 0
	}
	return max(n.work/uint64(cpus), n.launch, n.alone)
}

// saved returns how much time that saves, ns, and whether it is known.
func (n *needs) saved(cpus int) (uint64, bool) {
	least := n.least(cpus)
	return n.to - n.from - min(least, n.to-n.from), least > 0
}

// rate formats the steps a second if all of them take ns together; empty if it is not known.
func (n *needs) rate(ns uint64) string {
	if n.steps == 0 || ns == 0 {
		return ""
	}
	v := 1e9 * float64(n.steps) / float64(ns)
	return fmt.Sprintf("%.*f steps/s", decimals(v), v)
}

// words describes how many steps a second the CPUs allow at best.
func (n *needs) words(cpus map[uint16]bool) string {
	if n.work == 0 || n.now == 0 || n.steps == 0 {
		return ""
	}
	text := fmt.Sprintf("%s need %s of CPU a step", plural(n.workers, "worker", "workers"), span(n.work/n.steps))
	if n.workers == 1 {
		text = strings.Replace(text, " need ", " needs ", 1)
	}
	text = strings.TrimSpace(n.when + " " + text)
	text += fmt.Sprintf(": on CPU %s at best %s", cpuList(cpus), n.rate(n.least(n.now)))
	if n.all > n.now {
		all := max((n.work+n.launch)/uint64(n.all), n.least(n.all))
		text += fmt.Sprintf("; on all %d CPUs, with %s of the launching thread's, %s at best",
			n.all, span(n.launch/n.steps), n.rate(all))
	}
	return text
}

// spread recommends how to give all of a program's workers more CPUs.
func (p *plan) spread(ev *evidence, f *finding) []string {
	var pids []string
	for _, t := range contenders(ev, f) {
		if id := itoa(t.PID); !slices.Contains(pids, id) {
			pids = append(pids, id)
		}
	}
	const cheaper = "or make what they do cheaper, or do it before the run or on the GPU: " +
		"other workers on the same CPU take as much"
	if len(p.to) > len(f.contention.cpus) && len(pids) > 0 && !ev.unbound(f, p.to) {
		to := numbers(p.to)
		fix := fmt.Sprintf("let all of them run on CPUs %s, which no launching thread and no other fix needs: "+
			"for p in %s; do taskset -acp %s $p; done", to, strings.Join(pids, " "), to)
		if len(pids) == 1 {
			fix = fmt.Sprintf("let its threads run on CPUs %s, which no launching thread and no other fix needs: taskset "+
				"-acp %s %s",
				to, to, pids[0])
		}
		if best := p.needs.rate(p.needs.least(len(p.to))); best != "" {
			fix += fmt.Sprintf(" (at best %s)", best)
		}
		return []string{fix, cheaper}
	}
	why := "give the job more CPUs"
	if best := p.needs.rate(p.needs.least(p.needs.now + 1)); best != "" {
		why += fmt.Sprintf(" (with one more for its workers at best %s)", best)
	}
	if n := ev.in.CPUs; n > 0 {
		why += fmt.Sprintf(": none of the machine's %d is free for its workers", n)
		if cpus := ev.cpusOf(f.sub.Thread); len(cpus) > 0 {
			why += fmt.Sprintf(" (CPU %s: the launching thread, which they would hold up)",
				numbers(slices.Sorted(slices.Values(cpus))))
		}
	}
	return []string{why, cheaper}
}

// unbound reports whether the threads that waited may already run on all of the CPUs. Then affinity
// is not the problem: other threads run there.
func (ev *evidence) unbound(f *finding, cpus []uint16) bool {
	may := ev.host.allowed(f.root())
	return len(may) > 0 && !slices.ContainsFunc(cpus, func(c uint16) bool { return !slices.Contains(may, c) })
}

// numbers formats CPUs for taskset.
func numbers(cpus []uint16) string {
	set := map[uint16]bool{}
	for _, c := range cpus {
		set[c] = true
	}
	return cpuList(set)
}

// fewerWorkers recommends what to do about workers of a thread's own program that have its CPU: to take it from them
// would only make it wait for what they make.
func (ev *evidence) fewerWorkers(victim event.Thread, to string) []string {
	r := ev.procs.advise(victim.PID, []string{"process", ev.procs.name(victim.PID, "")}, adviceFewWorkers)
	if n := ev.in.CPUs; n > 0 {
		r = append(r, fmt.Sprintf("this machine has %s, of which the launching thread needs one",
			report.Plural(uint64(n), "CPU")))
	}
	if to != "" {
		r = append(r, fmt.Sprintf("or give the launching thread a CPU of its own: taskset -cp %s %d", to, victim.TID))
	}
	return r
}

// makeRoom recommends how to keep the culprits off the victim's CPUs.
func (ev *evidence) makeRoom(f *finding, victim event.Thread, list []runner) []string {
	p := ev.planOf(f)
	cpus, top, to := cpuList(f.contention.cpus), list[0], numbers(p.to)
	var r []string
	switch {
	case p.own:
		r = p.spread(ev, f)
	case top.PID == victim.PID:
		r = ev.procs.advise(victim.PID, []string{"process", ev.procs.name(victim.PID, "")}, adviceFewThreads)
		if to != "" {
			r = append(r, fmt.Sprintf("or give the thread that waited a CPU of its own: taskset -cp %s %d", to, victim.TID))
		}
		return r
	case ev.procs.ownWorkersOf(list, victim.PID).ns >= total(list)/2:
		return ev.fewerWorkers(victim, to)
	case kernelTask(top.Comm):
		where := "other CPUs"
		if to != "" {
			where = fmt.Sprintf("taskset -cp %s %d", to, victim.TID)
		}
		return []string{fmt.Sprintf("%s is a kernel thread, which stays where it is; move the waiting thread off its CPU: %s",
			top.name, where)}
	}
	outsiders := !p.own && !ev.procs.worksFor(top.PID, f.sub.PID)
	for _, c := range list[:min(len(list), 3)] {
		own := p.own && ev.procs.feeds(c.PID, f.sub.PID) || ev.procs.worksFor(c.PID, f.sub.PID)
		if c.PID == victim.PID || own || c.NS*10 < top.NS || kernelTask(c.Comm) {
			continue
		}
		outsiders = true
		if to != "" && !p.own {
			r = append(r, fmt.Sprintf("keep %s off CPU %s: taskset -acp %s %d", c.name, cpus, to, c.PID))
		} else {
			r = append(r, fmt.Sprintf("let %s run only when %s does not want the CPU: chrt -i -p 0 %d", c.name,
				ev.procs.name(victim.PID, ""), c.PID))
		}
	}
	if outsiders {
		r = append(r, fmt.Sprintf("or limit it by a cgroup: cpu.weight=1 or cpu.max for %s, cpuset.cpus for %s",
			top.name, ev.procs.name(victim.PID, "")))
	}
	return r
}
