package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/explain/report"
)

const (
	lookBack = 500_000_000 // ns before a rank entered that are examined at most
	struck   = 0.25        // least lateness that is examined, as a share of the rank's greatest lateness
)

// reason is what the late rank did before it entered, over all of a finding's collective
// operations, and which thread it waited for.
type reason struct {
	at      *evidence            // its machine
	ops     []*cluster.Operation // those that cost most, by time
	late    uint64               // sum of their lateness, ns
	split   ledger.Split
	by      map[event.Thread]*ledger.Split // the same by thread
	gpu     uint64                         // ns in synchronisations: it waited for its own GPU
	class   event.Class                    // what made it late
	known   bool
	runners ledger.Runners
	rows    []*event.OffCPU
	seen    map[*event.OffCPU]bool
	behind  []ledger.Link // the chain of the longest wait for another thread
}

func (ev *evidence) reason(f *finding) *reason {
	at, _ := ev.resolveThread(f.Thread)
	r := &reason{at: at, ops: costliest(f), by: map[event.Thread]*ledger.Split{}, seen: map[*event.OffCPU]bool{}}
	var most uint64
	for _, m := range r.ops {
		r.late += m.Late()
		at, t, when := ev.before(m)
		for _, p := range at.parts(t, when) {
			most = r.add(at, p, most)
		}
	}
	// If a kind of wait makes up half of the lateness, it is the reason; else the rank was at work.
	r.class = event.OnCPU
	for c := range event.NumClasses {
		if v := r.split.NS[c]; v > r.late/2 && (r.class == event.OnCPU || v > r.split.NS[r.class]) {
			r.class = c
		}
	}
	if g := f.rank.because; g != nil {
		r.class = g.worst.class
		more := min(g.lost, r.late) - min(g.lost, r.late, r.split.NS[r.class])
		r.split.NS[r.class] += more
		r.split.OnCPU -= min(more, r.split.OnCPU)
	}
	return r
}

// costliest returns the collective operations of a finding that cost most, by time.
func costliest(f *finding) (ops []*cluster.Operation) {
	seen := map[*cluster.Operation]bool{}
	var longest uint64
	for i := range f.claims {
		if m := f.claims[i].op; !seen[m] {
			seen[m] = true
			ops = append(ops, m)
			longest = max(longest, m.Late())
		}
	}
	ops = slices.DeleteFunc(ops, func(m *cluster.Operation) bool { return float64(m.Late()) < struck*float64(longest) })
	slices.SortFunc(ops, func(a, b *cluster.Operation) int { return cmp.Compare(a.Last().At, b.Last().At) })
	return ops
}

// add adds a part of what the late rank did before a collective operation. The chain behind is
// replaced by that of a wait for another thread only if the wait is longer than most, ns; add
// returns the longest so far.
func (r *reason) add(ev *evidence, p part, most uint64) uint64 {
	split, ok := ev.procs.x.Between(p.TID, p.From, p.To)
	if !ok {
		return most
	}
	r.known = true
	rows := ev.procs.x.Overlapping(p.TID, p.From, p.To)
	if p.sync { // it waits for the GPU, asleep or spinning
		kept := split.NS[event.RunQueue] + split.NS[event.Throttled]
		r.gpu += split.Wall - min(kept, split.Wall)
		only := ledger.Split{Wall: kept}
		only.NS[event.RunQueue], only.NS[event.Throttled] = split.NS[event.RunQueue], split.NS[event.Throttled]
		split = only
	}
	busyWithIO(&split, &ledger.Link{From: p.From, To: p.To, Split: split, Rows: rows})
	for _, o := range rows {
		if !r.seen[o] {
			r.seen[o] = true
			r.rows = append(r.rows, o)
			r.runners.Add(o)
		}
		v := min(p.blocked(o), split.NS[o.Class])
		if o.Op.Role() == event.RoleSync {
			r.gpu += v
			split.NS[o.Class] -= v
			split.Wall -= v
			continue
		}
		if ledger.Followable(o.Class) && v > 0 && o.Duration > most {
			most, r.behind = o.Duration, ev.procs.x.Follow(o)
		}
	}
	if r.by[p.Thread] == nil {
		r.by[p.Thread] = &ledger.Split{}
	}
	r.by[p.Thread].Add(&split)
	r.split.Add(&split)
	return most
}

// busyWithIO counts what a thread ran between its waits for the disk as disk I/O, as block_io does:
// with a fast disk, copying and submitting the data takes as long as the waits.
func busyWithIO(split *ledger.Split, l *ledger.Link) {
	io := ioTime(l)
	if ran := min(io-min(io, split.NS[event.BlockIO]), split.OnCPU); ran > 0 {
		split.NS[event.BlockIO] += ran
		split.OnCPU -= ran
	}
}

// every returns k if the rank was late for each k-th of the communicator's collectives, 0 if it was not
// that regular.
func (r *reason) every() uint32 {
	var d []uint32
	for i := 1; i < len(r.ops); i++ {
		if r.ops[i].Last().CommID == r.ops[0].Last().CommID && r.ops[i].Last().Seq > r.ops[i-1].Last().Seq {
			d = append(d, r.ops[i].Last().Seq-r.ops[i-1].Last().Seq)
		}
	}
	if len(d) < pattern.MinTimes-1 {
		return 0
	}
	k, same := stats.Upper(d), 0
	for _, v := range d {
		if v == k {
			same++
		}
	}
	if float64(same) < (1-pattern.Jitter)*float64(len(d)) {
		return 0
	}
	return k
}

// median returns the median lateness, ns.
func (r *reason) median() uint64 {
	var l []uint64
	for _, m := range r.ops {
		l = append(l, m.Late())
	}
	return stats.Upper(l)
}

// culprit returns the process that ran most while the rank was runnable.
func (r *reason) culprit() (c event.Culprit, ok bool) {
	for _, c := range r.runners.Ranked() {
		if !r.at.in.isTracer(c.PID) {
			return c, true
		}
	}
	return c, false
}

// file returns the path, or else the inode, of the file with the longest waits for the disk; empty if
// unknown.
func (r *reason) file() string {
	by := map[uint64]uint64{}
	var best uint64
	path := ""
	for _, o := range r.rows {
		if o.Class == event.BlockIO && o.Inode != 0 {
			by[o.Inode] += o.Duration
			if v := by[o.Inode]; best == 0 || v > by[best] || v == by[best] && o.Inode < best {
				best, path = o.Inode, r.at.host.path(o.PID, o.Inode)
			}
		}
	}
	if best == 0 {
		return ""
	}
	if path != "" {
		return " (" + printable(path) + ")"
	}
	return fmt.Sprintf(" (inode %d)", best)
}

// describe describes a reason: in words that follow "it", as steps of the path, and as a fix.
func (r *reason) describe(ev *evidence, f *finding) (short string, steps []report.Step, fix string) {
	node, from := ev.machineOf(r.at), f.sub.PID
	if r.at != ev {
		from = 0
	}
	who := ev.threadLabel(f.Thread, from)
	ev, t := r.at, r.thread(f)
	step := func(layer, state, on string, ns uint64) report.Step {
		return report.Step{
			Layer: layer, Process: ev.procs.name(t.PID, ""), PID: t.PID, TID: t.TID, Thread: ev.procs.comm(t),
			State: state, On: on, NS: ns, Node: node,
		}
	}
	ns := r.split.Of(r.class)
	if r.known && r.class == event.OnCPU {
		return r.describeOnCPU(step, ns, who, t.PID)
	}
	if !r.known {
		return "what it did was not recorded", []report.Step{step("HOST", "unknown", "what it did was not recorded", r.late)},
			fmt.Sprintf("trace %s too, or merge its recording with this one", who)
	}
	short, steps = "it "+r.class.Delayed(), []report.Step{step("HOST", stateIn(r.class), r.class.Wait(), ns)}
	switch r.class {
	case event.RunQueue:
		c, ok := r.culprit()
		if !ok {
			return short, steps, fmt.Sprintf("see what runs on the CPUs of %s", who)
		}
		by := ev.procs.who(c.Thread, t.PID)
		steps = append(steps, report.Step{
			Layer: "HOST", Process: ev.procs.name(c.PID, c.Comm), PID: c.PID, TID: c.TID,
			Thread: printable(c.Comm), State: "running", On: "the CPU", NS: min(c.NS, ns), Node: node,
		})
		return short + " that " + by + " had", steps,
			fmt.Sprintf("keep %s off the CPUs of %s: taskset -pc with other CPUs, or a cpuset for each rank", by, who)
	case event.Throttled:
		return short, steps, fmt.Sprintf("raise the CPU quota of %s", who)
	case event.BlockIO:
		file := r.file()
		return short + file, append(steps, step("IO", "blocked", "the disk"+file, ns)),
			fmt.Sprintf("let another thread of %s write to the disk, and not the one that enters collectives", who)
	case event.Fault:
		return short, steps, fmt.Sprintf("see the memory of %s: it reads pages from disk, or reclaims them", who)
	case event.Sleep:
		return short, steps,
			fmt.Sprintf("find out why %s sleeps before it enters: see the stacks of its sched_switch events", who)
	}
	for _, l := range r.behind[min(1, len(r.behind)):] {
		short += " that " + ev.procs.who(l.Thread, t.PID) + " ended"
		d := doing{l.Split}
		steps = append(steps, report.Step{
			Layer: "HOST", Process: ev.procs.name(l.Thread.PID, l.Comm), PID: l.Thread.PID,
			TID: l.Thread.TID, Thread: printable(l.Comm), State: d.state(), On: d.on(),
			NS: min(l.Split.Of(l.Split.Largest()), ns), Node: node,
		})
	}
	return short, steps, fmt.Sprintf("see what %s waits for before it enters", who)
}

// stateIn returns the state of a thread in a class of waiting, as a step of a path has it.
func stateIn(c event.Class) string {
	switch c {
	case event.RunQueue:
		return "runnable"
	case event.Throttled:
		return "throttled"
	}
	return "blocked"
}

// describeOnCPU does what describe does, for a reason that is not a wait of the thread.
func (r *reason) describeOnCPU(
	step func(layer, state, on string, ns uint64) report.Step, ns uint64, who string, pid uint32,
) (short string, steps []report.Step, fix string) {
	if r.split.OnCPU < r.late/2 && r.gpu >= r.late/2 {
		return "its GPU was not done with the work before", []report.Step{step("CUDA", "blocked", "GPU work", r.gpu)},
			fmt.Sprintf("see what slows the GPU of %s: clocks, temperature, or more work than the others have "+
				"(nvidia-smi -q -d PERFORMANCE)", who)
	}
	return "it was running on a CPU: it had more work than the others, or was slower at it",
		[]report.Step{step("HOST", "running", "a CPU", max(ns, r.late))},
		fmt.Sprintf("compare the work of %s with that of the other ranks: uneven batches, or work that only one rank does; "+
			"perf top -p %d", who, pid)
}

func describeCollective(ev *evidence, f *finding, c *report.Chain) {
	r := ev.reason(f)
	if turns := ev.ranks.collectiveOps.Rotation(f.worst.op); turns != nil {
		describeRotation(ev, f, c, r, turns)
		return
	}
	last := r.ops[0].Last()
	op := f.worst.op.Last().Op
	who := fmt.Sprintf("rank %d, %s", last.Rank, ev.threadLabel(f.Thread, f.sub.PID))
	short, steps, fix := r.describe(ev, f)
	c.Summary = fmt.Sprintf("%s lost %s waiting for %s, which entered %s %s late: %s", f.process(ev), f.pct(), who, op,
		span(r.median()), short)
	var b strings.Builder
	fmt.Fprintf(&b,
		"rank %d entered %d collective operations after all others, %s after the last of them (median; %s in all)",
		last.Rank, len(r.ops), span(r.median()), span(r.late))
	if k := r.every(); k > 1 {
		fmt.Fprintf(&b, "; every %d operations of the communicator, from number %d on", k, last.Seq)
	}
	if r.known {
		fmt.Fprintf(&b, "; since the collective before it %s", doing{r.split}.long())
		if r.gpu > 0 {
			fmt.Fprintf(&b, ", and waited %s for its GPU", span(r.gpu))
		}
	}
	if last.Inferred {
		b.WriteString("; the communicator is older than the recording: " +
			"which operations belong together was inferred from when they ended")
	}
	if seen := len(f.worst.op.Members); last.Ranks > 0 && seen < int(last.Ranks) {
		fmt.Fprintf(&b, "; %d of %d ranks are in this recording", seen, last.Ranks)
	}
	c.Cause.Detail = b.String()
	c.Path = append([]report.Step{f.step(ev, "blocked", fmt.Sprintf("%s, until rank %d enters", op, last.Rank), f.lost)},
		steps...)
	c.Recommendations = []string{fix}
}

// describeRotation describes ranks that are late in turn.
func describeRotation(ev *evidence, f *finding, c *report.Chain, r *reason, turns *cluster.Rotation) {
	short, steps, fix := r.describe(ev, f)
	op := f.worst.op.Last().Op
	c.Summary = fmt.Sprintf("%s lost %s waiting for ranks that enter %s %s late, in turn: each time %s", f.process(ev),
		f.pct(), op, span(r.median()), short)
	c.Path = append([]report.Step{f.step(ev, "blocked", fmt.Sprintf("%s, until the last rank enters", op), f.lost)},
		steps...)
	var times []string
	most := turns.Turns[:min(len(turns.Turns), maxTurns)]
	for i := range most {
		t := &most[i]
		times = append(times, fmt.Sprintf("rank %d was last %d times and cost %s", t.Rank, t.Times, span(t.NS)))
	}
	if n := len(turns.Turns) - len(most); n > 0 {
		times = append(times, plural(n, "other rank", "other ranks"))
	}
	c.Cause.Detail = strings.Join(times, ", ")
	if r.known {
		c.Cause.Detail += fmt.Sprintf("; since the collective before they %s", doing{r.split}.long())
		if r.gpu > 0 {
			c.Cause.Detail += fmt.Sprintf(", and waited %s for their GPUs", span(r.gpu))
		}
	}
	c.Recommendations = []string{
		"no rank is slower than the others: look for what each of them has, such as a thread that runs at times, batches " +
			"of different sizes, or too few CPUs for all", fix,
	}
}

// maxTurns is how many ranks are named that are late in turn.
const maxTurns = 4
