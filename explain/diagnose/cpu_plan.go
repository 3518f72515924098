package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Fixes of CPU contention: what one moves must not get in the way of a thread that launches the GPU's
// work, nor of what another fix moves.

// plan says where the threads of one finding may go.
type plan struct {
	own   bool     // the threads that ran are of the program that waited for them
	to    []uint16 // CPUs with room, in order; none if there are none, or the machine is not known
	needs needs
}

// needs is how much of the machine a program's workers and its launching thread take in the time in
// which there was too little of it: before, the workers may have had less to do.
type needs struct {
	workers  int
	from, to uint64 // Unix ns
	when     string // in words; empty: all of the time
	steps    uint64 // that ended in it; 0 if not known
	work     uint64 // ns of CPU, of the workers; 0 if not known
	launch   uint64 // ns of CPU, of the launching thread
	alone    uint64 // ns that the launching thread takes without a wait for the workers
	now, all int    // CPUs that the workers shared, and those of the machine
}

// plans makes the plans of all findings of CPU contention at once, so that none takes what another
// needs: first the CPUs on which somebody waited, then those that workers are spread over; what had
// their CPU gets what is left.
func (ev *evidence) plans() map[*finding]*plan {
	if ev.planned != nil {
		return ev.planned
	}
	ev.planned = map[*finding]*plan{}
	launching := ev.reserve()
	taken := maps.Clone(launching)
	var list []*finding
	for _, f := range ev.list {
		if f.kind == CPUContention && f.reportable(ev) {
			list = append(list, f)
		}
	}
	for _, f := range list {
		for c := range f.cpus {
			taken[c] = true
		}
	}
	busy := ev.busyCPUs()
	for _, f := range list {
		if !f.ranOwn(ev) {
			continue
		}
		p := &plan{own: true, needs: f.needs(ev)}
		for c := range uint16(ev.in.CPUs) {
			if launching[c] || !f.cpus[c] && (taken[c] || busy[c]) {
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

// planOf is that of a finding; of one that is reported within another, an empty one.
func (ev *evidence) planOf(f *finding) *plan {
	if p := ev.plans()[f]; p != nil {
		return p
	}
	return &plan{}
}

// ranOwn reports whether a finding's thread waited for workers of its own program while most of
// those that had their CPU were of that program too: keeping one off takes from another.
func (f *finding) ranOwn(ev *evidence) bool {
	if !f.through() {
		return false
	}
	var own, all uint64
	for _, r := range f.ranked(ev) {
		all += r.NS
		if ev.procs.feeds(r.PID, f.sub.PID) {
			own += r.NS
		}
	}
	t := f.root(ev)
	return all > 0 && share(own, all) >= half && t.PID != f.sub.PID && ev.procs.feeds(t.PID, f.sub.PID)
}

// contenders are the workers that waited for a CPU, and those of their program that had it.
func (f *finding) contenders(ev *evidence) []event.Thread {
	seen := map[event.Thread]bool{}
	add := func(t event.Thread) {
		if t.PID != f.sub.PID && ev.procs.feeds(t.PID, f.sub.PID) {
			seen[t] = true
		}
	}
	add(f.root(ev))
	for _, p := range f.parts {
		add(p.Thread)
	}
	for _, r := range f.runners.Ranked() {
		if share(r.NS, f.runners.Named) >= minUse {
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

func (f *finding) needs(ev *evidence) needs {
	threads := f.contenders(ev)
	n := needs{workers: len(threads), now: len(f.cpus), all: ev.in.CPUs}
	if n.from, n.to = f.during(); n.from >= n.to {
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

// leastStep is what a step takes at least on the CPUs that a fix can give the program's workers, ns;
// 0 if that is no matter, or not known.
func leastStep(ev *evidence, f *finding) (ns uint64, why string) {
	p := ev.planOf(f)
	saved, ok := p.needs.saved(max(len(p.to), p.needs.now))
	if now := ev.calls.stepNS(f.sub); ok {
		return now - min(saved/f.sub.count, now), "what the workers themselves need of the CPUs they can have"
	}
	return 0, ""
}

// during is when the time was lost, but for the few waits that came before or after most of them.
func (f *finding) during() (from, to uint64) {
	list := slices.Clone(f.claims)
	slices.SortStableFunc(list, func(a, b *claim) int { return cmp.Compare(a.acc.Start, b.acc.Start) })
	var before uint64
	for _, cl := range list {
		if from == 0 && float64(before+cl.lost) > fewWaits*float64(f.lost) {
			from = cl.acc.Start
		}
		if float64(before) < (1-fewWaits)*float64(f.lost) {
			to = cl.acc.End()
		}
		before += cl.lost
	}
	return max(from, f.sub.from), min(to, f.sub.to)
}

// fewWaits is the share of the lost time that comes before, or after, the time in which it is lost.
const fewWaits = 0.01

// minWhole is the share of the time from which all of it is meant.
const minWhole = 0.9

// stepsIn is how many steps end in a part of the time, as far as those looked at tell; 0 if it is not known.
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

// minSampled is how many steps have to be looked at to know how long they take.
const minSampled = 8

// minAccounted is the share of the time from which a thread's use of CPUs is known well enough.
const minAccounted = 0.5

// onCPU is how long a thread ran on CPUs between two times, ns. What was recorded for most of that
// time is taken to be alike for the rest.
func (ps *processes) onCPU(t event.Thread, begin, end uint64) (uint64, bool) {
	from, to, ok := ps.x.Span(t.TID)
	from, to = max(from, begin), min(to, end)
	if !ok || from >= to || share(to-from, end-begin) < minAccounted {
		return 0, false
	}
	split, ok := ps.x.Between(t.TID, from, to)
	return uint64(float64(split.OnCPU) / share(to-from, end-begin)), ok
}

// least is how long the steps take at least where the workers share so many CPUs, ns; 0 if it is not
// known.
func (n *needs) least(cpus int) uint64 {
	if n.work == 0 || cpus == 0 {
		return 0
	}
	return max(n.work/uint64(cpus), n.launch, n.alone)
}

// saved is by how much sooner they would end, ns, and whether that is known.
func (n *needs) saved(cpus int) (uint64, bool) {
	least := n.least(cpus)
	return n.to - n.from - min(least, n.to-n.from), least > 0
}

// rate words how many steps a second there can be if all take so long, ns; empty if it is not known.
func (n *needs) rate(ns uint64) string {
	if n.steps == 0 || ns == 0 {
		return ""
	}
	v := 1e9 * float64(n.steps) / float64(ns)
	return fmt.Sprintf("%.*f steps/s", decimals(v), v)
}

// words does the arithmetic: how many steps a second the CPUs allow.
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

// spread recommends how to give a program's workers room, all at once.
func (p *plan) spread(ev *evidence, f *finding) []string {
	var pids []string
	for _, t := range f.contenders(ev) {
		if id := itoa(t.PID); !slices.Contains(pids, id) {
			pids = append(pids, id)
		}
	}
	const cheaper = "or make what they do cheaper, or do it before the run or on the GPU: " +
		"other workers on the same CPU take as much"
	if len(p.to) > len(f.cpus) && len(pids) > 0 && !ev.unbound(f, p.to) {
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

// unbound reports whether the threads that waited may run on all of some CPUs as it is: then nothing
// keeps them from it but what runs there.
func (ev *evidence) unbound(f *finding, cpus []uint16) bool {
	may := ev.host.allowed(f.root(ev))
	return len(may) > 0 && !slices.ContainsFunc(cpus, func(c uint16) bool { return !slices.Contains(may, c) })
}

// numbers lists CPUs as taskset takes them.
func numbers(cpus []uint16) string {
	set := map[uint16]bool{}
	for _, c := range cpus {
		set[c] = true
	}
	return cpuList(set)
}

// makeRoom recommends how to keep the culprits off the victim's CPUs.
func (ev *evidence) makeRoom(f *finding, victim event.Thread, list []runner) []string {
	p := ev.planOf(f)
	cpus, top, to := cpuList(f.cpus), list[0], numbers(p.to)
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
	case kernelTask(top.Comm):
		where := "other CPUs"
		if to != "" {
			where = fmt.Sprintf("taskset -cp %s %d", to, victim.TID)
		}
		return []string{fmt.Sprintf("%s is a kernel thread, which stays where it is; move the waiting thread off its CPU: %s",
			top.name, where)}
	}
	outsiders := !p.own
	for _, c := range list[:min(len(list), 3)] {
		if c.PID == victim.PID || p.own && ev.procs.feeds(c.PID, f.sub.PID) || c.NS*10 < top.NS || kernelTask(c.Comm) {
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
