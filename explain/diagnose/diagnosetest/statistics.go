package diagnosetest

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/eventtext"
)

type threadOp struct {
	event.Thread
	op event.Op
}

// countCalls makes statistics of the calls and copies the notable ones.
func countCalls(in *diagnose.Input, calls []event.Call) {
	at, ops := map[threadOp]int{}, make([]int, len(calls))
	for i := range calls {
		c := &calls[i]
		k := threadOp{c.Thread, c.Op}
		n, ok := at[k]
		if !ok {
			n = len(in.Ops)
			at[k] = n
			in.Ops = append(in.Ops, store.OpStat{Thread: c.Thread, Op: c.Op, First: c.Start, Hist: &stats.Histogram{}})
		}
		ops[i] = n
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
	sites := bySite(calls)
	medians := map[*stats.Histogram]uint64{}
	median := func(h *stats.Histogram) uint64 {
		m, ok := medians[h]
		if !ok {
			m = h.Quantile(0.5)
			medians[h] = m
		}
		return m
	}
	for i := range calls {
		c := &calls[i]
		o := &in.Ops[ops[i]]
		usual := median(o.Hist)
		if c.Op.TellsSite() {
			usual = min(usual, median(sites[siteOp{threadOp{c.Thread, c.Op}, c.Args[event.SiteArg]}]))
		}
		if c.Ret != 0 || c.Start == o.First || store.WaitNS(&c.Ledger) >= uint64(store.NotableWait) ||
			store.IsBulkCopy(c) || store.IsSlow(c.Duration, usual) {
			in.Calls = append(in.Calls, *c)
		}
	}
}

type siteOp struct {
	threadOp
	addr uint64
}

// bySite returns how long the calls of operations took whose call sites are recorded.
func bySite(calls []event.Call) map[siteOp]*stats.Histogram {
	sites := map[siteOp]*stats.Histogram{}
	for i := range calls {
		if c := &calls[i]; c.Op.TellsSite() {
			k := siteOp{threadOp{c.Thread, c.Op}, c.Args[event.SiteArg]}
			if sites[k] == nil {
				sites[k] = &stats.Histogram{}
			}
			sites[k].AddN(c.Duration, max(c.Weight, 1))
		}
	}
	return sites
}

func countGaps(in *diagnose.Input, gaps []event.Gap) {
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
		if store.NotableGap(&g) {
			in.Gaps = append(in.Gaps, g)
		}
	}
}

// countSeconds makes the series of calls, and the intervals in which processes used GPUs.
func countSeconds(in *diagnose.Input, calls []event.Call) {
	type key struct {
		second uint64
		threadOp
	}
	at := map[key]int{}
	for i := range calls {
		c := &calls[i]
		k := key{c.Start / 1e9, threadOp{c.Thread, c.Op}}
		n, ok := at[k]
		if !ok {
			n = len(in.Series)
			at[k] = n
			in.Series = append(in.Series, store.OpSecond{Second: k.second, Thread: c.Thread, Op: c.Op})
		}
		s, weight := &in.Series[n], uint64(max(c.Weight, 1))
		s.Calls += weight
		s.SumNS += weight * c.Duration
		if info := c.Op.Info(); info != nil && info.BytesArg() >= 0 {
			s.Bytes += weight * c.Args[info.BytesArg()]
		}
		for _, held := range []event.Class{event.RunQueue, event.Throttled, event.BlockIO, event.Fault} {
			s.HeldNS += weight * c.Ledger.NS[held]
		}
		s.MaxNS = max(s.MaxNS, c.Duration)
	}
	if diagnose.SeveralLaunch(in.Ops) {
		var busy store.BusySpans
		for i := range calls {
			c := &calls[i]
			busy.Add(c.PID, c.GPU, c.Op, c.Start, c.End())
		}
		in.Busy = busy.Spans()
	}
	countSites(in, calls)
}

// countWaits makes the series of waits.
func countWaits(in *diagnose.Input, r *eventtext.Recording) {
	type key struct {
		second uint64
		threadOp
	}
	at := map[key]int{}
	add := func(k key, l *event.Ledger) {
		if l.Total() == 0 {
			return
		}
		n, ok := at[k]
		if !ok {
			n = len(in.WaitSeries)
			at[k] = n
			in.WaitSeries = append(in.WaitSeries, store.WaitSecond{Second: k.second, Thread: k.Thread, Op: k.op})
		}
		in.WaitSeries[n].Ledger.Add(l)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		for range max(c.Weight, 1) {
			add(key{c.Start / 1e9, threadOp{c.Thread, c.Op}}, &c.Ledger)
		}
	}
	for i := range r.Gaps {
		g := &r.Gaps[i]
		add(key{g.Start / 1e9, threadOp{g.Thread, 0}}, &g.Ledger)
	}
}

// countSites makes the statistics of waits by call site.
func countSites(in *diagnose.Input, calls []event.Call) {
	type key struct {
		second, site uint64
		threadOp
	}
	at := map[key]int{}
	for i := range calls {
		c := &calls[i]
		if !c.Op.TellsSite() {
			continue
		}
		k := key{c.Start / 1e9, c.Args[event.SiteArg], threadOp{c.Thread, c.Op}}
		n, ok := at[k]
		if !ok {
			n = len(in.WaitSites)
			at[k] = n
			in.WaitSites = append(in.WaitSites, store.SiteSecond{
				Second: k.second, Thread: c.Thread, Op: c.Op, Site: k.site, Hist: &stats.Histogram{},
			})
		}
		o, weight := &in.WaitSites[n], max(c.Weight, 1)
		o.Calls += uint64(weight)
		o.SumNS += uint64(weight) * c.Duration
		o.MaxNS = max(o.MaxNS, c.Duration)
		o.Hist.AddN(c.Duration, weight)
	}
}
