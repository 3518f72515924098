// Package diagnosetest makes inputs from recordings in text form, so that tests of a diagnosis need
// no database.
package diagnosetest

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/account/memory"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/lists"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/eventtext"
)

// InputOf makes the input that a store would give after writing the recording: statistics of every
// call, and only the notable calls one by one.
func InputOf(r *eventtext.Recording) *diagnose.Input {
	tables := r.Tables
	tables.Calls, tables.Gaps = nil, nil // count and countGaps copy the notable ones
	in := &diagnose.Input{
		Node: "node", SelfPID: r.Self, Nodes: r.Nodes, Tables: lists.Clone(tables), Symbols: map[uint64]string{},
		Dropped: slices.Clone(r.Losses),
	}
	for _, k := range r.Symbols {
		in.Symbols[k.Addr] = k.Name
	}
	in.CodeStacks = map[uint64][]event.Frame{}
	in.Stacks = map[uint64]event.Stack{}
	for _, s := range r.Stacks {
		in.CodeStacks[s.ID], in.Stacks[s.ID] = s.Frames, s
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
	in.Spans = cut(r.Calls)
	addMemory(in, r)
	addCollectives(in, r)
	countCalls(in, r.Calls)
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

// addMemory makes memory records from the calls, one each second as the tracer does, if the text has none.
func addMemory(in *diagnose.Input, r *eventtext.Recording) {
	allocates := func(c event.Call) bool { return c.Op.Role() == event.RoleAlloc }
	if len(r.Memory)+len(r.MemorySites) > 0 || !slices.ContainsFunc(r.Calls, allocates) {
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
		in.Memory, in.MemorySites = t.Take(next, in.Memory, in.MemorySites)
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
