package accuracy

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// The co-occurrence rule: an operation is slow if its p99 is three times its p50, and the CPU is to
// blame if there were five context switches of any processes in the same ten seconds.
const (
	ruleTail     = 3
	ruleSwitches = 5
	ruleWindow   = 10_000_000_000 // ns
)

// CoOccurrence explains a recording as tools usually do: by what happened at the same time, to
// whichever process. It names the process with the most context switches. To be fair to the rule,
// this is neither the tracer nor, if there is another one, the slow process. Only switches that are
// recorded one by one count: those of the traced processes and of the processes that took their
// CPUs or woke them. It returns at most one cause for each process and operation, the longest tail
// first.
func CoOccurrence(in *diagnose.Input) []report.Cause {
	type blamed struct {
		report.Cause
		tail float64
	}
	switches := busiestWindow(in)
	var total int
	for _, n := range switches {
		total += n
	}
	if total < ruleSwitches {
		return nil
	}
	var found []blamed
	for k, h := range histograms(in) {
		p50, p99 := h.Quantile(0.5), h.Quantile(0.99)
		if p50 == 0 || p99 < ruleTail*p50 {
			continue
		}
		pid := most(switches, k.pid, in.SelfPID)
		c := report.Cause{Kind: event.CauseCPUContention, PID: pid, TID: pid, Detail: k.op.String()}
		found = append(found, blamed{c, float64(p99) / float64(p50)})
	}
	slices.SortFunc(found,
		func(a, b blamed) int { return cmp.Or(cmp.Compare(b.tail, a.tail), cmp.Compare(a.Detail, b.Detail)) })
	var causes []report.Cause
	for _, b := range found {
		causes = append(causes, b.Cause)
	}
	return causes
}

type processOp struct {
	pid uint32
	op  event.Op
}

// histograms are the durations of each process's operations.
func histograms(in *diagnose.Input) map[processOp]*stats.Histogram {
	all := map[processOp]*stats.Histogram{}
	for i := range in.Ops {
		o := &in.Ops[i]
		k := processOp{o.PID, o.Op}
		if o.Hist == nil {
			continue
		}
		if all[k] == nil {
			all[k] = &stats.Histogram{}
		}
		all[k].Merge(o.Hist)
	}
	return all
}

// busiestWindow counts the context switches of each process in the ten-second window with the most
// switches.
func busiestWindow(in *diagnose.Input) map[uint32]int {
	windows, totals := map[uint64]map[uint32]int{}, map[uint64]int{}
	for i := range in.OffCPU {
		o := &in.OffCPU[i]
		w := (o.Start - min(o.Start, in.Window.From)) / ruleWindow
		if windows[w] == nil {
			windows[w] = map[uint32]int{}
		}
		windows[w][o.PID]++
		for _, c := range o.Culprits {
			windows[w][c.PID]++
		}
		if o.Waker.PID != 0 && o.Waker.PID != o.PID {
			windows[w][o.Waker.PID]++
		}
		totals[w] += 1 + len(o.Culprits)
	}
	var best uint64
	for w, n := range totals {
		if n > totals[best] || n == totals[best] && w < best {
			best = w
		}
	}
	return windows[best]
}

// most is the process with the most switches, without the slow process and the tracer; or the slow
// process if there is no other.
func most(switches map[uint32]int, slow, self uint32) uint32 {
	best := slow
	for pid, n := range switches {
		if pid == slow || pid == self || pid == 0 {
			continue
		}
		if best == slow || n > switches[best] || n == switches[best] && pid < best {
			best = pid
		}
	}
	return best
}

// Judgement is how right the rule's explanation is.
type Judgement struct {
	Blames     int           `json:"blames"` // causes it names
	First      *report.Cause `json:"first,omitempty"`
	FirstCause bool          `json:"first_cause"`
	Culprit    bool          `json:"culprit"`
	FalseBlame bool          `json:"false_blame"`
}

// judgeRule scores the rule on a case like the diagnosis, by the same program.
func judgeRule(r *Result, causes []report.Cause, t *cudastub.Truth) *Judgement {
	var chains []report.Chain
	for _, c := range causes {
		if int(c.PID) == t.PID {
			c.TID = uint32(t.TID) // the rule names only processes: use the right thread
		}
		chains = append(chains, report.Chain{Cause: c})
	}
	scored := Result{Case: r.Case}
	scored.score(chains, t)
	return &Judgement{
		Blames: len(chains), First: scored.First, FirstCause: scored.FirstCause, Culprit: scored.Culprit,
		FalseBlame: scored.FalseBlame,
	}
}
