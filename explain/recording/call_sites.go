package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// CallSite is a place in a process that calls of an operation were made from. Its statistics are exact, for the whole
// seconds of the window.
type CallSite struct {
	PID  uint32
	Addr uint64 // return address of the calls; 0: places beyond those that are distinguished, or not known
	report.Op
	OfNS uint64 // of all the process's calls of the operation, ns

	stacks []taken // of calls from there, most calls first
}

// taken is a stack of some calls.
type taken struct {
	id, calls uint64
}

// CallSites are the places where the program waits for the GPU: only such calls have a recorded place.
type CallSites struct {
	List     []CallSite // most time first
	Unplaced uint64     // such calls whose place was not recorded
}

// siteAt is a place in a process, whatever is called there.
type siteAt struct {
	pid  uint32
	addr uint64
}

// FindCallSites returns the statistics of each place, for the wanted processes and operations.
func (v *View) FindCallSites(ctx context.Context, wants func(pid uint32, op event.Op) bool) (*CallSites, error) {
	list, err := v.WaitSites(ctx, v.Window, ^uint64(0))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(o store.SiteSecond) bool { return !wants(o.PID, o.Op) })
	s := &CallSites{List: callSitesOf(list)}
	if err := s.countAll(ctx, v, wants); err != nil {
		return nil, err
	}
	if len(s.List) == 0 {
		return s, nil
	}
	stacks := map[siteAt]map[uint64]uint64{}
	_, err = visitCalls(ctx, v, v.Window, v.Sum.Stored, func(c *event.Call) bool {
		if c.Stack != 0 && c.Op.TellsSite() && c.Args[event.SiteArg] != 0 {
			at := siteAt{c.PID, c.Args[event.SiteArg]}
			if stacks[at] == nil {
				stacks[at] = map[uint64]uint64{}
			}
			stacks[at][c.Stack] += uint64(max(c.Weight, 1))
		}
		return true
	})
	for i := range s.List {
		o := &s.List[i]
		for id, calls := range stacks[siteAt{o.PID, o.Addr}] {
			o.stacks = append(o.stacks, taken{id, calls})
		}
		slices.SortFunc(o.stacks, func(a, b taken) int {
			return cmp.Or(cmp.Compare(b.calls, a.calls), cmp.Compare(a.id, b.id))
		})
	}
	return s, err
}

// callSitesOf joins the threads of each process.
func callSitesOf(list []store.SiteSecond) []CallSite {
	type key struct {
		siteAt
		op event.Op
	}
	hists := map[key]*stats.Histogram{}
	by := map[key]*CallSite{}
	for i := range list {
		o := &list[i]
		k := key{siteAt{o.PID, o.Site}, o.Op}
		s := by[k]
		if s == nil {
			s = &CallSite{PID: o.PID, Addr: o.Site, Op: report.Op{Op: o.Op.String()}}
			by[k], hists[k] = s, &stats.Histogram{}
		}
		s.Calls, s.TotalNS, s.MaxNS = s.Calls+o.Calls, s.TotalNS+o.SumNS, max(s.MaxNS, o.MaxNS)
		hists[k].Merge(o.Hist)
	}
	sites := make([]CallSite, 0, len(by))
	for k, s := range by {
		setQuantiles(&s.Op, hists[k])
		sites = append(sites, *s)
	}
	slices.SortFunc(sites, func(a, b CallSite) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op.Op, b.Op.Op),
			cmp.Compare(a.Addr, b.Addr))
	})
	return sites
}

// countAll compares the places with the operations' own statistics.
func (s *CallSites) countAll(ctx context.Context, v *View, wants func(pid uint32, op event.Op) bool) error {
	type key struct {
		pid uint32
		op  string
	}
	all, err := store.List[store.OpStat](ctx, v, v.Window)
	if err != nil {
		return err
	}
	var calls, placed uint64
	ns := map[key]uint64{}
	for i := range all {
		if o := &all[i]; o.Op.TellsSite() && wants(o.PID, o.Op) {
			calls += o.Calls
			ns[key{o.PID, o.Op.String()}] += o.SumNS
		}
	}
	for i := range s.List {
		o := &s.List[i]
		placed += o.Calls
		o.OfNS = ns[key{o.PID, o.Op.Op}]
	}
	s.Unplaced = calls - min(placed, calls)
	return nil
}

// Place describes a place in the code, from stacks, which are mostly of slow calls.
type Place struct {
	Name    string   // function and file, or library and offset; empty: no call from there has a stack
	Callers []string // other frames of the program's own code that lead there; those of the commonest stack first
}

// placeStacks is how many stacks are searched for a place's callers.
const placeStacks = 16

// Place finds the name of a place from FindCallSites.
func (v *View) Place(ctx context.Context, s *CallSite) (p Place, err error) {
	for _, t := range s.stacks[:min(len(s.stacks), placeStacks)] {
		st, err := v.Stack(ctx, t.id)
		if err != nil {
			if ctx.Err() != nil {
				return p, ctx.Err()
			}
			continue // its record was dropped
		}
		at := slices.IndexFunc(st.Frames, func(f event.Frame) bool {
			return f.Kind == event.FrameNative && f.Addr == s.Addr
		})
		if at >= 0 && p.Name == "" {
			p.Name = report.Printable(st.Frames[at].String())
		}
		if own := event.Site(st.Frames); own != nil {
			if text := report.Printable(own.String()); text != p.Name && !slices.Contains(p.Callers, text) {
				p.Callers = append(p.Callers, text)
			}
		}
	}
	return p, nil
}
