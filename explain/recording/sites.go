package recording

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Site is a call site of an operation, with the time of its calls in nanoseconds.
type Site struct {
	PID     uint32
	Op      event.Op
	Stack   uint64 // StackID
	Kernel  string // the kernel that is launched, if known
	Calls   uint64 // calls with this stack: slow ones, unless stacks of all were recorded
	TotalNS uint64 // of these calls
	MaxNS   uint64
}

// SiteOp is an operation of a process: all of its calls, exactly, and those with a stack. Mostly
// slow calls have a stack, so their mean does not apply to the others.
type SiteOp struct {
	Calls, TotalNS     uint64 // of the whole seconds of the window
	Located, LocatedNS uint64 // calls with a stack, and their time
}

// SiteOpKey identifies a SiteOp.
type SiteOpKey struct {
	PID uint32
	Op  event.Op
}

// Sites are the call sites of a recording.
type Sites struct {
	List    []Site
	Ops     map[SiteOpKey]*SiteOp
	Without uint64 // calls without a stack
	Partial bool   // only notable calls were read, because there are very many
}

// All sums the operations.
func (s *Sites) All() (all SiteOp) {
	for _, o := range s.Ops {
		all.Calls, all.TotalNS = all.Calls+o.Calls, all.TotalNS+o.TotalNS
		all.Located, all.LocatedNS = all.Located+o.Located, all.LocatedNS+o.LocatedNS
	}
	return all
}

// allCalls is the greatest number of stored calls of which all are read.
const allCalls = 100_000

// sitesReader is a recording whose calls can all be read.
type sitesReader interface {
	statsReader
	Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// FindSites sums the calls of each site, for wanted processes and operations. stored is the number of stored calls of
// the recording.
func FindSites(
	ctx context.Context, r sitesReader, w store.Window, stored uint64, wants func(SiteOpKey) bool,
) (*Sites, error) {
	type key struct {
		pid    uint32
		op     event.Op
		stack  uint64
		kernel string
	}
	called, err := kernelNames(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &Sites{Ops: map[SiteOpKey]*SiteOp{}}
	if err := s.countAll(ctx, r, w, wants); err != nil {
		return nil, err
	}
	at := map[key]int{}
	visit := func(c *event.Call) bool {
		of := s.Ops[SiteOpKey{c.PID, c.Op}]
		if of == nil || c.Stack == 0 {
			return true
		}
		n := uint64(max(c.Weight, 1))
		of.Located, of.LocatedNS = of.Located+n, of.LocatedNS+c.TotalNS()
		k := key{pid: c.PID, op: c.Op, stack: c.Stack}
		if c.Op.LaunchesKernel() {
			k.kernel = called[launched{c.PID, c.Args[0]}]
		}
		i, ok := at[k]
		if !ok {
			i, at[k] = len(s.List), len(s.List)
			s.List = append(s.List, Site{PID: k.pid, Op: k.op, Stack: k.stack, Kernel: k.kernel})
		}
		e := &s.List[i]
		e.Calls += n
		e.TotalNS += c.TotalNS()
		e.MaxNS = max(e.MaxNS, c.Duration)
		return true
	}
	s.Partial, err = visitCalls(ctx, r, w, stored, visit)
	for _, o := range s.Ops {
		s.Without += o.Calls - min(o.Located, o.Calls)
	}
	return s, err
}

// visitCalls visits the calls of a window. If the recording has very many, it visits notable ones only, and returns
// partial.
func visitCalls(
	ctx context.Context, r sitesReader, w store.Window, stored uint64, visit func(*event.Call) bool,
) (partial bool, err error) {
	if stored > allCalls {
		return true, r.NotableCalls(ctx, w, visit)
	}
	return false, r.Calls(ctx, w, visit)
}

// countAll adds the wanted operations from the exact statistics.
func (s *Sites) countAll(ctx context.Context, r sitesReader, w store.Window, wants func(SiteOpKey) bool) error {
	list, err := store.List[store.OpStat](ctx, r, w)
	for i := range list {
		o := &list[i]
		k := SiteOpKey{o.PID, o.Op}
		if !wants(k) {
			continue
		}
		if s.Ops[k] == nil {
			s.Ops[k] = &SiteOp{}
		}
		s.Ops[k].Calls += o.Calls
		s.Ops[k].TotalNS += o.SumNS
	}
	return err
}

// launched is a kernel by its handle.
type launched struct {
	pid uint32
	fn  uint64
}

func kernelNames(ctx context.Context, r sitesReader) (map[launched]string, error) {
	kernels, err := store.List[store.Kernel](ctx, r, store.Window{})
	if err != nil {
		return nil, err
	}
	names := map[launched]string{}
	for i := range kernels {
		names[launched{kernels[i].PID, kernels[i].Func}] = kernels[i].Name
	}
	return names, nil
}

// Sort orders by total time, or with "max" by the longest call, or with "calls" by the number of
// calls, largest first.
func (s *Sites) Sort(by string) {
	slices.SortFunc(s.List, func(a, b Site) int {
		c := cmp.Compare(b.TotalNS, a.TotalNS)
		switch by {
		case "max":
			c = cmp.Compare(b.MaxNS, a.MaxNS)
		case "calls":
			c = cmp.Compare(b.Calls, a.Calls)
		}
		return cmp.Or(c, cmp.Compare(a.PID, b.PID), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.Kernel, b.Kernel))
	})
}
