package nodeapi

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

func healthz(ctx context.Context, a *API, _ *input) (wire.Health, error) {
	err := a.src.Read(ctx, func(store.Recording) error { return nil })
	return wire.Health{Status: "ok", Version: a.opts.Version}, err
}

// clock answers at once, so that the two times are close to each other.
func clock(_ context.Context, a *API, in *input) (wire.Time, error) {
	return wire.Time{ReceivedNS: in.received.UnixNano(), SentNS: a.opts.Now().UnixNano()}, nil
}

func overview(ctx context.Context, a *API, in *input) (out wire.Overview, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		r, err := a.explain(ctx, v)
		if err != nil {
			return err
		}
		out.DB, out.Version, out.Verdict, out.Findings = a.src.Name(), a.opts.Version, r.Verdict, map[event.Severity]int{}
		for i := range r.Chains {
			out.Findings[r.Chains[i].Severity]++
		}
		s := &v.Sum
		out.Schema, out.FirstNS, out.LastNS, out.Calls, out.Stored, out.Sessions = s.Schema, s.First, s.Last, s.Calls,
			s.Stored, sessions(s)
		return nil
	})
	return out, err
}

func ops(ctx context.Context, a *API, in *input) (out wire.Ops, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		names, err := v.Names(ctx)
		if err != nil {
			return err
		}
		list, err := store.List[store.OpStat](ctx, v, v.Window)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(o store.OpStat) bool { return !v.WantsOp(o.PID, o.Op) })
		out.Ops = []wire.Op{}
		for pid, table := range recording.OpTable(list) {
			for _, o := range table {
				out.Ops = append(out.Ops, wire.Op{
					PID: pid, Process: names[pid], Op: o.Op, Calls: o.Calls, Errors: o.Errors,
					P50NS: o.P50NS, P95NS: o.P95NS, P99NS: o.P99NS, MaxNS: o.MaxNS, TotalNS: o.TotalNS, Bytes: o.Bytes,
				})
			}
		}
		slices.SortFunc(out.Ops, func(a, b wire.Op) int {
			return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op, b.Op))
		})
		out.Ops = out.Ops[:min(len(out.Ops), in.limit)]
		return nil
	})
	return out, err
}

func chains(ctx context.Context, a *API, in *input) (r *report.Report, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		if r, err = a.explain(ctx, v); err == nil {
			r.Node = a.node(r.Node)
		}
		return err
	})
	return r, err
}

func stacks(ctx context.Context, a *API, in *input) (out wire.Stacks, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		names, err := v.Names(ctx)
		if err != nil {
			return err
		}
		stored := v.Sum.Stored
		if in.slow {
			stored = math.MaxUint64 // of very many only these are looked at
		}
		sites, err := recording.FindSites(ctx, v, v.Window, stored, func(k recording.SiteOpKey) bool {
			return v.WantsOp(k.PID, k.Op)
		})
		if err != nil {
			return err
		}
		sites.Sort(in.by)
		out.Without, out.Partial, out.Total, out.Stacks = sites.Without, sites.Partial, len(sites.List), []wire.Site{}
		for i := range sites.List[:min(len(sites.List), in.limit)] {
			s := &sites.List[i]
			of := sites.Ops[recording.SiteOpKey{PID: s.PID, Op: s.Op}]
			site := wire.Site{
				OpCalls: of.Calls, OpTotalNS: of.TotalNS,
				PID: s.PID, Process: names[s.PID], Op: s.Op.String(), Kernel: s.Kernel, Calls: s.Calls, MaxNS: s.MaxNS,
				TotalNS: s.TotalNS,
			}
			if site.Frames, err = frames(ctx, v, s.Stack); err != nil {
				return err
			}
			out.Stacks = append(out.Stacks, site)
		}
		return nil
	})
	return out, err
}

func processes(ctx context.Context, a *API, in *input) (out wire.Processes, err error) {
	in.span = recording.Span{Since: "all"}
	err = a.readView(ctx, in, func(v *recording.View) error {
		list, err := store.List[store.Process](ctx, v, store.Window{})
		if err != nil {
			return err
		}
		threads, err := store.List[store.ThreadInfo](ctx, v, store.Window{})
		if err != nil {
			return err
		}
		of := map[uint32][]wire.Thread{}
		for i := range threads {
			t := &threads[i]
			of[t.PID] = append(of[t.PID], wire.Thread{TID: t.TID, Name: t.Comm, Dispatch: t.Dispatch})
		}
		out.Node, out.Processes = a.node(v.Sum.Node), []wire.Process{}
		for i := range list {
			p := &list[i]
			if v.Wants(p.PID) {
				out.Processes = append(out.Processes, wire.Process{
					PID: p.PID, Parent: p.Parent, Name: p.Name, Command: p.Command, Traced: p.Traced,
					Rank: p.Rank, LocalRank: p.LocalRank, WorldSize: p.WorldSize, Framework: string(p.Framework),
					Threads: append([]wire.Thread{}, of[p.PID]...),
				})
			}
		}
		return nil
	})
	return out, err
}

func snapshots(ctx context.Context, a *API, in *input) (out wire.Snapshots, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		machine, err := store.List[store.Snapshot](ctx, v, v.Window)
		if err != nil {
			return err
		}
		gpus, err := store.List[store.GPUSnapshot](ctx, v, v.Window)
		if err != nil {
			return err
		}
		out.About, out.Machine, out.GPUs = a.about(&v.Part), []wire.System{}, []wire.GPU{}
		for i := range machine {
			s := &machine[i]
			out.Machine = append(out.Machine, wire.System{
				AtNS: s.At, CPUPct: s.CPUPct, StealPct: s.StealPct, MemPct: s.MemPct, MemAvailableMB: s.MemAvailableMB,
				SwapMB: s.SwapMB, Load: s.Load,
			})
		}
		for i := range gpus {
			g := &gpus[i]
			out.GPUs = append(out.GPUs, wire.GPU{
				AtNS: g.At, GPU: g.GPU, TempC: g.TempC, ClockMHz: g.ClockMHz, MaxMHz: g.MaxMHz, UtilPct: g.UtilPct,
				Reasons: g.Reasons, MemMB: g.MemMB, TotalMB: g.TotalMB,
			})
		}
		return nil
	})
	return out, err
}
