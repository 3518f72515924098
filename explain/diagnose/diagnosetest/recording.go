// Package diagnosetest makes inputs from recordings in text form, so that tests of a diagnosis need
// no database.
package diagnosetest

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/account/memory"
	"github.com/ingero-io/ingero/account/stats"
	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtext"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// InputOf makes the input that a store would give after writing the recording: statistics of every
// call, and only the notable calls one by one.
func InputOf(r *eventtext.Recording) *diagnose.Input {
	in := &diagnose.Input{
		Node: "node", SelfPID: r.Self, OffCPU: slices.Clone(r.OffCPU), ThreadTimes: slices.Clone(r.ThreadTimes),
		Lives: slices.Clone(r.Lives), Stalls: slices.Clone(r.Stalls), Losses: slices.Clone(r.Losses),
		Dropped:  slices.Clone(r.Losses),
		Reclaims: slices.Clone(r.Reclaims), Symbols: map[uint64]string{}, InFlight: slices.Clone(r.InFlight),
	}
	in.Nodes = r.Nodes
	takeMachine(in, r)
	takeProcesses(in, r)
	takeGPUs(in, r)
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
	in.Spans = cut(r.Calls)
	addMemory(in, r)
	addCollectives(in, r)
	count(in, r.Calls)
	for _, o := range in.SeldomOps() {
		all := timesOf(r.Calls)
		all = slices.DeleteFunc(all, func(c event.CallTime) bool { return c.Start < o.First || c.Start > o.Last })
		in.Seldom = append(in.Seldom, all[:min(len(all), diagnose.SeldomCalls)])
	}
	countSeconds(in, r.Calls)
	countWaits(in, r)
	countGaps(in, r.Gaps)
	return in
}

// takeMachine copies what the kernel and the devices did.
func takeMachine(in *diagnose.Input, r *eventtext.Recording) {
	in.IO = store.HostIO{
		Sums: slices.Clone(r.Requests), Devices: slices.Clone(r.Devices), Files: slices.Clone(r.Files),
		Connections: slices.Clone(r.Connections), Pages: slices.Clone(r.Pages),
	}
	for _, t := range r.Throttles {
		in.Throttles = append(in.Throttles, store.Throttle{
			At: t.At, Cgroup: t.Cgroup, Periods: t.Periods, NS: t.NS,
			QuotaUS: t.Quota / 1000, PeriodUS: t.Period / 1000, Version: t.Version,
		})
	}
	for _, q := range r.Scheduling {
		in.Scheduling = append(in.Scheduling, store.Scheduling{
			Thread: event.Thread{PID: q.PID, TID: q.TID}, Policy: store.Policy(q.Policy), Nice: q.Nice, Realtime: q.RealtimePrio,
			CPUs: q.CPUs,
		})
	}
	for _, l := range r.Limits {
		in.Limits = append(in.Limits, store.MemoryLimit{PID: l.PID, Cgroup: l.Cgroup, Bytes: l.Bytes})
	}
}

// takeProcesses copies processes, threads, and the names of kernels and symbols.
func takeProcesses(in *diagnose.Input, r *eventtext.Recording) {
	for _, k := range r.Kernels {
		in.Kernels = append(in.Kernels, store.Kernel{PID: k.PID, Func: k.Func, Name: k.Name})
	}
	for _, k := range r.Symbols {
		in.Symbols[k.Addr] = k.Name
	}
	for _, p := range r.Processes {
		in.Processes = append(in.Processes, store.Process{
			PID: p.PID, Parent: p.Parent, Name: p.Name, Command: p.Command, Cgroup: p.Cgroup,
			Rank: p.Rank, LocalRank: -1, WorldSize: -1, Traced: p.Traced, Owner: owner.FromPath(p.Cgroup),
			Framework: framework.Name(p.Framework),
		})
	}
	for _, t := range r.Threads {
		in.Threads = append(in.Threads, store.ThreadInfo{Thread: t.Thread, Comm: t.Comm, Dispatch: t.Dispatch})
	}
	for _, l := range r.Libraries {
		in.Libraries = append(in.Libraries, store.Library{
			PID: l.PID, Name: l.Name, Path: l.Path, Version: l.Version, BuildID: l.BuildID, Size: l.Size,
		})
	}
}

func takeGPUs(in *diagnose.Input, r *eventtext.Recording) {
	for _, g := range r.GPUs {
		in.GPUs = append(in.GPUs, store.GPUSnapshot{
			At: g.At, GPU: g.Index, TempC: g.TempC, ClockMHz: g.ClockMHz, MaxMHz: g.MaxMHz, UtilPct: g.UtilPct,
			Reasons: g.Reasons, MemMB: g.MemMB, TotalMB: g.TotalMB,
		})
	}
	for _, d := range r.GPUDevices {
		in.GPUDevices = append(in.GPUDevices, store.GPUDevice{GPU: d.Index, Node: d.Node})
	}
	for _, m := range r.GPUMemory {
		in.GPUMemory = append(in.GPUMemory, store.GPUProcess{At: m.At, GPU: m.Index, PID: m.PID, Bytes: m.Bytes, Known: true})
	}
	for _, x := range r.Xids {
		in.Xids = append(in.Xids, store.Xid{At: x.At, GPU: x.Index, Code: x.Code})
	}
}

// cut returns the spans that diagnose.Load would read of all calls.
func cut(all []event.Call) [][]event.CallTime {
	calls := timesOf(all)
	if len(calls) <= recording.MaxSpans*recording.SpanCalls {
		return [][]event.CallTime{calls}
	}
	var spans [][]event.CallTime
	for i := range recording.MaxSpans {
		at := i * (len(calls) - recording.SpanCalls) / (recording.MaxSpans - 1)
		spans = append(spans, calls[at:at+recording.SpanCalls])
	}
	return spans
}

// timesOf returns the calls as diagnose.Load reads them, by start.
func timesOf(all []event.Call) []event.CallTime {
	calls := make([]event.CallTime, len(all))
	for i := range all {
		calls[i] = all[i].Time()
	}
	slices.SortFunc(calls, func(a, b event.CallTime) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Op, b.Op))
	})
	return calls
}

// addMemory copies the text's memory records. If there are none, it makes them from the calls: one
// each second, as the tracer does.
func addMemory(in *diagnose.Input, r *eventtext.Recording) {
	in.Memory, in.Sites = slices.Clone(r.Memory), slices.Clone(r.Sites)
	allocates := func(c event.Call) bool { return c.Op.Role() == event.RoleAlloc }
	if len(r.Memory)+len(r.Sites) > 0 || !slices.ContainsFunc(r.Calls, allocates) {
		return
	}
	calls := slices.Clone(r.Calls)
	slices.SortStableFunc(calls, func(a, b event.Call) int { return cmp.Compare(a.End(), b.End()) })
	t := memory.NewTracker(memory.MaxLive)
	const second = 1_000_000_000
	for next := calls[0].End() + second; len(calls) > 0; next += second {
		n := sort.Search(len(calls), func(i int) bool { return calls[i].End() > next })
		t.Calls(calls[:n])
		if calls = calls[n:]; len(calls) > 0 && calls[0].End() > next+1000*second {
			next = calls[0].End() - second // a fixture may pause for years
		}
		in.Memory, in.Sites = t.Take(next, in.Memory, in.Sites)
	}
}

// addCollectives makes the records of collective operations that the tracer would make.
func addCollectives(in *diagnose.Input, r *eventtext.Recording) {
	if !slices.ContainsFunc(r.Calls, func(c event.Call) bool { return c.Op.Source() == event.SourceNCCL }) {
		return
	}
	calls := slices.Clone(r.Calls)
	slices.SortStableFunc(calls, func(a, b event.Call) int { return cmp.Compare(a.End(), b.End()) })
	t := collective.NewTracker()
	t.Calls(calls)
	in.Collectives = t.Take(0, nil)
}

type threadOp struct {
	event.Thread
	op event.Op
}

// count makes statistics of the calls and copies the notable ones.
func count(in *diagnose.Input, calls []event.Call) {
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
		if c.Failed() {
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
		if c.Failed() || c.Start == o.First || store.WaitNS(&c.Ledger) >= uint64(store.NotableWait) ||
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
		if store.WaitNS(&g.Ledger) >= uint64(store.NotableWait) {
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
