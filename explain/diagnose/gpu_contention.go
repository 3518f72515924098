package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// When slow waits are attributed to another process's use of the GPU: there is enough time with and
// without it, waits are minLift times likelier with it, and chance is unlikely.
const (
	minApart = 0.1 // least share of the time in which the other process is busy, and in which it is not
	minLift  = 3.0
	minSigma = 3.0 // standard deviations above the mean of a binomial distribution
)

// rival is another process on a thread's GPU.
type rival struct {
	pid   uint32
	spans []store.Busy // by start, not overlapping
	share float64      // of the thread's time in which it was busy
}

// device returns the GPU that a call is for. If none was chosen, it is GPU 0 (cudaSetDevice in the CUDA
// runtime API).
func device(gpu int8) int8 { return max(gpu, 0) }

// devices returns the GPUs that a process's calls are known to be for.
func (ev *evidence) devices(pid uint32) map[int8]bool {
	d := map[int8]bool{}
	for i := range ev.in.Busy {
		if b := &ev.in.Busy[i]; b.PID == pid {
			d[device(b.GPU)] = true
		}
	}
	return d
}

// rivals returns the other processes on a thread's GPUs, by PID. Their GPU use is known from from to
// to.
func (ev *evidence) rivals(t *subject) (list []rival, from, to uint64) {
	from, to = t.from, t.to
	if len(ev.in.Busy) == 0 {
		return nil, from, to
	}
	if ev.in.BusyUntil != 0 {
		to = min(to, ev.in.BusyUntil)
	}
	if from >= to {
		return nil, from, to
	}
	own := ev.devices(t.PID)
	by := map[uint32][]store.Busy{}
	for _, b := range ev.in.Busy {
		if b.PID != t.PID && !ev.ranks.collectiveOps.Together(b.PID, t.PID) && b.End > from && b.Start < to &&
			ev.gpus.sharing(b.PID, t.PID, own[device(b.GPU)]) {
			by[b.PID] = append(by[b.PID], b)
		}
	}
	for pid, spans := range by {
		r := rival{pid: pid, spans: union(spans)}
		r.share = share(busyIn(r.spans, from, to), to-from)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b rival) int { return cmp.Compare(a.pid, b.pid) })
	return list, from, to
}

// sharing reports whether two processes use the same GPU, as far as known. The driver's information
// comes before the processes' own GPU numbers, which sameNumber compares.
func (gs *gpuReadings) sharing(a, b uint32, sameNumber bool) bool {
	switch common := gs.heldByBoth(a, b); {
	case len(gs.holds[a]) == 0 || len(gs.holds[b]) == 0:
		return sameNumber
	case len(gs.holds[a]) == 1 && len(gs.holds[b]) == 1:
		return len(common) > 0
	default: // with several GPUs it is not known which number is which GPU
		return len(common) > 0 && sameNumber
	}
}

// heldByBoth returns the GPUs on which both processes have memory, according to the driver.
func (gs *gpuReadings) heldByBoth(a, b uint32) []int {
	var both []int
	for _, gpu := range gs.holds[a] {
		if slices.Contains(gs.holds[b], gpu) {
			both = append(both, gpu)
		}
	}
	return both
}

// union merges the spans of several GPUs into one list without overlaps.
func union(spans []store.Busy) []store.Busy {
	slices.SortFunc(spans,
		func(a, b store.Busy) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	out := spans[:1]
	for _, b := range spans[1:] {
		if last := &out[len(out)-1]; b.Start <= last.End {
			last.End = max(last.End, b.End)
			continue
		}
		out = append(out, b)
	}
	return out
}

// busyIn returns how much of [from, to) the spans cover, ns.
func busyIn(spans []store.Busy, from, to uint64) uint64 {
	i, _ := slices.BinarySearchFunc(spans, from, func(b store.Busy, at uint64) int {
		if b.End <= at {
			return -1
		}
		return 1
	})
	var ns uint64
	for ; i < len(spans) && spans[i].Start < to; i++ {
		ns += min(spans[i].End, to) - max(spans[i].Start, from)
	}
	return ns
}

var causeGPUContention = cause{
	kind:     event.CauseGPUContention,
	refine:   refineContention,
	gpuSide:  true,
	describe: describeGPUContention,
	busyGPU:  true,
}

// refineContention attributes the waits that coincide with another process's use of the GPU to that
// process, if there are few waits without it.
func refineContention(ev *evidence, t *subject, claims []*claim) {
	list, from, to := ev.rivals(t)
	var best *rival
	var most uint64
	for i := range list {
		r := &list[i]
		if in, ok := r.coincides(claims, from, to); ok && in > most {
			best, most = r, in
		}
	}
	if best == nil {
		return
	}
	for _, cl := range claims {
		if !best.during(cl) {
			t.alone++
			continue
		}
		cl.key = key{kind: event.CauseGPUContention, Thread: event.Thread{PID: best.pid, TID: best.pid}}
		cl.explained = min(cl.lost, busyIn(best.spans, cl.acc.Start, cl.acc.End()))
	}
}

// during reports whether the process was busy for most of a wait.
func (r *rival) during(cl *claim) bool {
	return float64(busyIn(r.spans, cl.acc.Start, cl.acc.End())) >= half*float64(cl.acc.Duration)
}

// coincides compares the waits while the process was busy with those while it was not. It returns
// the time lost in the former.
func (r *rival) coincides(claims []*claim, from, to uint64) (in uint64, ok bool) {
	if r.share < minApart || r.share > 1-minApart {
		return 0, false
	}
	var n, with float64
	var out uint64
	for _, cl := range claims {
		if cl.lost < uint64(store.SlowExcess) || cl.acc.Start < from || cl.acc.Start >= to {
			continue
		}
		n++
		if r.during(cl) {
			with++
			in += cl.lost
		} else {
			out += cl.lost
		}
	}
	if n < minSample || with == 0 {
		return 0, false
	}
	lift := float64(in) / r.share * (1 - r.share)
	chance := math.Sqrt(n * r.share * (1 - r.share))
	return in, lift >= minLift*float64(out) && with-n*r.share >= minSigma*chance
}

// always names the processes that used a thread's GPU nearly all the time.
func (ev *evidence) always(t *subject) []string {
	var names []string
	list, _, _ := ev.rivals(t)
	for _, r := range list {
		if r.share > 1-minApart {
			names = append(names, fmt.Sprintf("%s (pid %d)", ev.procs.name(r.pid, ""), r.pid))
		}
	}
	return names
}

func describeGPUContention(ev *evidence, f *finding, c *report.Chain) {
	e, who := c.Effect, ev.procs.who(f.Thread, f.sub.PID)
	list, from, to := ev.rivals(f.sub)
	var r rival
	for _, l := range list {
		if l.pid == f.Thread.PID {
			r = l
		}
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for the GPU in %s while %s used the same GPU", f.process(ev), f.pct(),
		e.Op, who)
	c.Cause.Detail = fmt.Sprintf("%s of %s slow calls fell into the %.0f %% of the time in which %s used the GPU; %s",
		report.Count(uint64(len(f.claims))), report.Count(uint64(len(f.claims)+f.sub.alone)), 100*r.share, who,
		ev.gpus.sameGPU(f))
	if to < f.sub.to {
		c.Cause.Detail += fmt.Sprintf("; its use is known for the first %s only", span(to-from))
	}
	c.Path = []report.Step{
		f.step(ev, "blocked", "GPU work", f.lost),
		{
			Layer: "CUDA", Process: ev.procs.name(f.Thread.PID, ""), PID: f.Thread.PID, TID: f.Thread.TID,
			Thread: ev.procs.comm(f.Thread),
			State:  "running", On: "the same GPU", NS: f.explained,
		},
	}
	c.Recommendations = []string{
		fmt.Sprintf("give %s and %s a GPU each (CUDA_VISIBLE_DEVICES), or run %s when %s does not", f.process(ev), who, who,
			f.process(ev)),
		"if they must share: MIG partitions where the GPU has them, or MPS with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE for the " +
			"less urgent one; without either they take turns",
	}
}

// sameGPU says how sure it is that both processes use the same GPU.
func (gs *gpuReadings) sameGPU(f *finding) string {
	if both := gs.heldByBoth(f.Thread.PID, f.sub.PID); len(both) == 1 {
		return fmt.Sprintf("by the driver's account both have memory of GPU %d", both[0])
	}
	said := false
	for i := range gs.in.Busy {
		b := &gs.in.Busy[i]
		said = said || b.PID == f.Thread.PID && b.GPU != event.NoGPU
	}
	gpu := device(f.worst.acc.Call.GPU)
	if !said || f.worst.acc.Call.GPU == event.NoGPU {
		return fmt.Sprintf("at least one of them did not choose a GPU, so it is taken to use GPU %d; in containers and "+
			"with CUDA_VISIBLE_DEVICES these may be different GPUs", gpu)
	}
	return fmt.Sprintf("both call it GPU %d, which in containers and with CUDA_VISIBLE_DEVICES may be different GPUs",
		gpu)
}
