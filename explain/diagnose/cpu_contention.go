package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

var causeCPUContention = cause{
	kind:         event.CauseCPUContention,
	ownSettings:  openMP,
	takes:        blocked | only(event.RunQueue),
	claimEpisode: claimContention,
	inLink:       runnableLink,
	joinsThreads: true,
	complete:     (*evidence).runners,
	place:        onSomeCPU,
	samePlace:    shareCPU,
	sharedRoot:   mostOnCPU,
	leastPct:     contentionPct,
	counts:       []event.Class{event.RunQueue},
	lacks:        unexplainedRunners,
	why:          whyNobodyNamed,
	leastStep:    leastStep,
	describe:     describeContention,
	culprits:     whoRan,
}

// claimContention takes the time in which a thread was runnable while another one had its CPU.
func claimContention(ev *evidence, a *account) []claim {
	claims := a.through(event.CauseCPUContention)
	cl := claim{acc: a, key: key{kind: event.CauseCPUContention}, class: event.RunQueue}
	var idle, hidden uint64
	var over uint64 // time of a wait for the GPU beyond the usual, ns
	if a.Call != nil {
		over = a.sub.excess(a.Call, a.Duration-min(a.Duration, a.base))
	}
	for _, o := range a.Rows {
		queue := min(o.RunQueue, o.Duration)
		queue -= min(queue, ev.host.held[o])
		if o.Class == event.Throttled || queue == 0 {
			continue
		}
		v := ev.queue.costless(a, o, queue, &over)
		hidden += v
		if queue -= v; queue == 0 {
			continue
		}
		nobody := min(ledger.Idle(o), queue)
		idle += nobody
		if queue >= uint64(store.SlowExcess) {
			cl.count++
		}
		cl.stall = max(cl.stall, queue-nobody)
	}
	a.take(event.RunQueue, hidden)
	if v := a.take(event.RunQueue, idle); v > 0 {
		claims = append(claims,
			claim{acc: a, key: key{kind: event.CauseUnknown}, class: event.RunQueue, lost: v, stall: v, why: whyIdleCPU})
	}
	if cl.lost = a.take(event.RunQueue, a.left[event.RunQueue]); cl.lost > 0 {
		claims = append(claims, cl)
	}
	return claims
}

const whyIdleCPU = "runnable while its CPU was idle: wake-up latency of an idle CPU or of the hypervisor"

// minRows and minListed say when the run-queue time that is in the ledgers but in no row is assumed
// to be shared out as in the rows.
const (
	minRows   = 10
	minListed = 0.2
)

// runners adds up who ran over all claims of a finding, and sets how much of the loss that
// explains.
func (ev *evidence) runners(f *finding) {
	at := &f.contention
	at.runners, at.early = ledger.Runners{}, ledger.Runners{}
	at.onset, at.from, at.to = ev.onset(f.sub), f.sub.from, f.sub.to
	rows := 0
	var waits []*event.OffCPU
	for _, cl := range f.claims {
		if cl.through() && cl.lost == 0 {
			continue
		}
		waits = append(waits, cl.waits()...)
		if !cl.through() {
			rows += cl.count
		}
	}
	at.add(&ev.host, waits)
	if f.worst.through() {
		// The root explains a share of the wait; the named runners explain a share of that.
		named := share(at.named(), at.runners.Queue)
		f.explained, f.beside = uint64(float64(f.explained)*named), uint64(float64(f.beside)*named)
		return
	}
	listed := at.runners.Queue - min(at.runners.Queue, at.runners.Idle)
	named := at.named()
	f.explained = min(named, f.lost)
	if rows >= minRows && share(listed, f.lost) >= minListed && f.lost > listed {
		f.explained = min(f.lost, f.explained+uint64(float64(f.lost-listed)*share(named, listed)))
		at.note = fmt.Sprintf("%s of it was recorded wait by wait, the rest is taken to be alike", span(listed))
	}
}

// minMoves is the least share of waits that ended on another CPU for which this is reported: caches
// are cold there.
const minMoves = 0.25

// moves counts the waits for a CPU (all), those that ended on another CPU (moved), and those that
// ended on a CPU of another memory node (far).
func (hs *hostState) moves(claims claimList) (moved, far, all int) {
	for _, cl := range claims {
		if cl.through() {
			continue
		}
		for _, o := range cl.acc.Rows {
			if o.RunQueue == 0 {
				continue
			}
			all++
			if o.InCPU != o.OutCPU {
				moved++
				if hs.nodeOf(o.InCPU) != hs.nodeOf(o.OutCPU) {
					far++
				}
			}
		}
	}
	return moved, far, all
}

// maxRunners is how many culprits a finding names. At most maxSteps of them are steps of the path:
// those with at least the share minStep of the known time.
const (
	maxRunners = 5
	maxSteps   = 3
	minStep    = 0.2
)

func total(list []runner) uint64 {
	var ns uint64
	for i := range list {
		ns += list[i].NS
	}
	return ns
}

func describeContention(ev *evidence, f *finding, c *report.Chain) {
	list := f.contention.ranked(&ev.procs)
	if len(list) == 0 {
		return // nobody named: the finding explains nothing and is not reported
	}
	top, cpus := list[0], cpuList(f.contention.cpus)
	c.Cause.Process, c.Cause.PID, c.Cause.TID, c.Cause.Thread = top.name, top.PID, top.TID, printable(top.Comm)
	c.Cause.Detail = strings.Join(contentionDetails(ev, f, list), "; ")
	victim := f.root()
	culprit := fmt.Sprintf("%s (pid %d)", top.name, top.PID)
	if top.PID == victim.PID {
		culprit = fmt.Sprintf("its own thread %s (tid %d)", printable(top.Comm), top.TID)
	}
	if f.worst.through() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which was runnable while %s had its CPU",
			f.process(ev), f.pct(), f.about(ev), culprit)
		if f.parts.several() {
			had := fmt.Sprintf("while others, most %s, had CPU %s", culprit, cpus)
			if ev.planOf(f).own {
				had = "and had to share CPU " + cpus
			}
			c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which were runnable %s", f.process(ev), f.pct(), f.about(ev),
				had)
		}
		c.Path = f.path(ev, "runnable", "CPU "+cpus)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s runnable while %s", f.process(ev), f.pct(), ev.procs.hadCPU(list, victim.PID))
		c.Path = []report.Step{f.step(ev, "runnable", "CPU "+cpus, f.lost)}
	}
	if !f.parts.several() {
		words, fix := ev.crowded(f)
		c.Summary += words
		c.Recommendations = append(c.Recommendations, fix...)
	}
	known := total(list)
	for i, r := range list[:min(len(list), maxSteps)] {
		if i > 0 && share(r.NS, known) < minStep {
			break
		}
		c.Path = append(c.Path, report.Step{
			Layer: "HOST", Process: r.name, PID: r.PID, TID: r.TID, Thread: printable(r.Comm),
			State: "running", On: "CPU " + cpus, NS: r.NS,
		})
	}
	for i := range list[:min(len(list), maxSteps)] {
		if _, fix := ev.host.priority(victim, &list[i]); fix != "" && !ev.procs.worksFor(list[i].PID, victim.PID) {
			c.Recommendations = append(c.Recommendations, fix)
		}
	}
	c.Recommendations = append(c.Recommendations, ev.makeRoom(f, victim, list)...)
}

// contentionDetails says who ran where, why the scheduler preferred them, and what the machine
// allows.
func contentionDetails(ev *evidence, f *finding, list []runner) []string {
	at := &f.contention
	var ran []string
	for _, r := range list[:min(len(list), maxRunners)] {
		ran = append(ran, fmt.Sprintf("%s (pid %d) ran %s", r.name, r.PID, span(r.NS)))
	}
	if n := len(list) - len(ran); n > 0 {
		ran = append(ran, fmt.Sprintf("%d more %s", n, span(total(list[len(ran):]))))
	}
	details := []string{"on CPU " + cpuList(at.cpus) + ", " + strings.Join(ran, ", "), at.note}
	if moved, far, all := ev.host.moves(f.claims); all >= minRows && share(uint64(moved), uint64(all)) >= minMoves {
		text := fmt.Sprintf("the thread came back on another CPU after %d of %d waits", moved, all)
		if far > 0 {
			text += fmt.Sprintf(", after %d on another memory node", far)
		}
		details = append(details, text)
	}
	for i := range list[:min(len(list), maxSteps)] {
		why, _ := ev.host.priority(f.root(), &list[i])
		details = append(details, why)
	}
	needs := ev.planOf(f).needs
	details = append(details, f.claims.sinceBegun(f.about(ev)), needs.words(at.cpus), ev.boundWords(f), ev.loadWords(f))
	if at.self > 0 {
		details = append(details, "ingero itself ran "+span(at.self))
	}
	return slices.DeleteFunc(details, func(d string) bool { return d == "" })
}

// whyNobodyNamed says why too little of the time is explained.
func whyNobodyNamed(f *finding) string {
	if self := f.contention.self; self > 0 && self >= f.lost/2 {
		return fmt.Sprintf("runnable while ingero itself had the CPU for %s: give the tracer another CPU", span(self))
	}
	return fmt.Sprintf("runnable for %s; which thread ran instead is known for only %s of it", span(f.lost),
		span(f.explained))
}

// runnableLink returns how long a thread waited for a CPU, without waits for its quota, ns.
func runnableLink(ev *evidence, l *ledger.Link) uint64 {
	queue := l.Split.NS[event.RunQueue]
	return queue - min(queue, ev.host.throttledIn(l))
}

func onSomeCPU(*evidence, *finding) (string, bool) { return "CPU", true } // which one is compared by shareCPU

// shareCPU reports whether threads waited for the same CPU.
func shareCPU(a, b *finding) bool { return a.contention.shares(&b.contention) }

// mostOnCPU names the process that ran longest while the thread was runnable.
func mostOnCPU(ev *evidence, f *finding) string {
	if list := f.contention.ranked(&ev.procs); len(list) > 0 {
		return fmt.Sprintf("%s %d", f.kind, list[0].PID)
	}
	return ""
}

// contentionPct returns the least share for which it is reported, percent: higher while a hypervisor
// steals CPU time.
func contentionPct(ev *evidence) float64 { return minPct + 100*stolenDoubt*ev.host.stealShare() }

// whoRan returns the processes that ran while the thread was runnable.
func whoRan(ev *evidence, f *finding) []report.Culprit {
	var list []report.Culprit
	ran := f.contention.ranked(&ev.procs)
	all := total(ran)
	for _, r := range ran[:min(len(ran), maxRunners)] {
		list = append(list, report.Culprit{
			Process: r.name, PID: r.PID, TID: r.TID, Thread: printable(r.Comm), NS: r.NS, Pct: round(percent(r.NS, all)),
		})
	}
	return list
}

// kernelTask reports whether a task is a thread of the kernel, which has no
// affinity to change.
func kernelTask(comm string) bool {
	for _, p := range []string{
		"kworker/", "migration/", "rcu", "kswapd", "kcompactd", "jbd2/", "cpuhp/", "kdamond", "ksoftirqd/", "irq/",
		"khugepaged", "ksmd",
	} {
		if strings.HasPrefix(comm, p) {
			return true
		}
	}
	return false
}

// cpuList formats a set of CPUs for taskset: 0,2-4.
func cpuList(cpus map[uint16]bool) string {
	var l []int
	for c := range cpus {
		l = append(l, int(c))
	}
	slices.Sort(l)
	var b strings.Builder
	for i := 0; i < len(l); i++ {
		j := i
		for j+1 < len(l) && l[j+1] == l[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(l[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(l[j]))
		}
		i = j
	}
	return b.String()
}
