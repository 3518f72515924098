package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtext"
	"github.com/ingero-io/ingero/stats"
	"github.com/ingero-io/ingero/store"
)

// InputOf makes an input of a recording in text form, as a store would after
// writing it: statistics of every call, and one by one only the notable ones.
func InputOf(r *eventtext.Recording) *Input {
	in := &Input{
		Node: "node", SelfPID: r.Self, OffCPU: slices.Clone(r.OffCPU), ThreadTimes: slices.Clone(r.ThreadTimes),
		Lives: slices.Clone(r.Lives), Stalls: slices.Clone(r.Stalls), Losses: slices.Clone(r.Losses),
		Reclaims: slices.Clone(r.Reclaims), Symbols: map[uint64]string{},
	}
	for _, l := range r.Limits {
		in.Limits = append(in.Limits, store.MemoryLimit{PID: l.PID, Cgroup: l.Cgroup, Bytes: l.Bytes})
	}
	for _, k := range r.Symbols {
		in.Symbols[k.Addr] = k.Name
	}
	for _, p := range r.Processes {
		in.Processes = append(in.Processes, store.Process{
			PID: p.PID, Parent: p.Parent, Name: p.Name, Command: p.Command, Cgroup: p.Cgroup,
			Rank: p.Rank, LocalRank: -1, WorldSize: -1, Traced: p.Traced,
		})
	}
	for _, t := range r.Threads {
		in.Threads = append(in.Threads, store.ThreadInfo{Thread: t.Thread, Comm: t.Comm, Dispatch: t.Dispatch})
	}
	for _, t := range r.Throttles {
		in.Throttles = append(in.Throttles, store.Throttle{At: t.At, Cgroup: t.Cgroup, Periods: t.Periods, NS: t.NS})
	}
	for _, s := range r.Stats {
		o := store.OpStat{
			Thread: s.Thread, Op: s.Op, Calls: s.Calls, Errors: s.Errors, SumNS: s.SumNS, MaxNS: s.MaxNS,
			Bytes: s.Bytes, First: s.First, Last: s.Last, Ledger: s.Ledger, Hist: &stats.Histogram{},
		}
		for _, d := range s.Durations {
			o.Hist.AddN(d.NS, d.N)
		}
		in.Ops = append(in.Ops, o)
	}
	in.count(r.Calls)
	in.countGaps(r.Gaps)
	return in
}

// count makes statistics of calls and keeps the notable ones.
func (in *Input) count(calls []event.Call) {
	at := map[threadOp]int{}
	for i := range calls {
		c := &calls[i]
		k := threadOp{c.Thread, c.Op}
		n, ok := at[k]
		if !ok {
			n = len(in.Ops)
			at[k] = n
			in.Ops = append(in.Ops, store.OpStat{Thread: c.Thread, Op: c.Op, First: c.Start, Hist: &stats.Histogram{}})
		}
		o := &in.Ops[n]
		weight := max(c.Weight, 1)
		o.Calls += uint64(weight)
		o.SumNS += c.Duration * uint64(weight)
		o.MaxNS = max(o.MaxNS, c.Duration)
		o.First, o.Last = min(o.First, c.Start), max(o.Last, c.End())
		o.Ledger.Add(&c.Ledger)
		o.Hist.AddN(c.Duration, weight)
		if c.Ret != 0 {
			o.Errors++
		}
		if info := c.Op.Info(); info != nil && info.BytesArg() >= 0 {
			o.Bytes += c.Args[info.BytesArg()] * uint64(weight)
		}
	}
	for i := range calls {
		c := &calls[i]
		o := &in.Ops[at[threadOp{c.Thread, c.Op}]]
		if c.Ret != 0 || c.Start == o.First || store.WaitNS(&c.Ledger) >= uint64(store.NotableWait) ||
			store.IsSlow(c.Duration, o.Hist.Quantile(0.5)) {
			in.Calls = append(in.Calls, *c)
		}
	}
}

func (in *Input) countGaps(gaps []event.Gap) {
	at := map[event.Thread]int{}
	for _, g := range gaps {
		n, ok := at[g.Thread]
		if !ok {
			n = len(in.GapStats)
			at[g.Thread] = n
			in.GapStats = append(in.GapStats, store.GapStat{Thread: g.Thread})
		}
		s := &in.GapStats[n]
		s.Gaps++
		s.SumNS += g.Duration
		s.Ledger.Add(&g.Ledger)
		if store.WaitNS(&g.Ledger) >= uint64(store.NotableWait) {
			in.Gaps = append(in.Gaps, g)
		}
	}
}
