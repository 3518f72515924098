package diagnose

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Site is a place in the code that makes calls of an operation, with what they took, in
// nanoseconds.
type Site struct {
	PID     uint32
	Op      event.Op
	Stack   uint64 // StackID
	Kernel  string // that is launched, if known
	Calls   uint64
	TotalNS uint64
	MaxNS   uint64
}

// Sites are the places that make the calls of a recording.
type Sites struct {
	List    []Site
	Without uint64 // calls of which no stack was taken
	Partial bool   // only notable calls, because there are very many
}

// allCalls is up to how many stored calls every one is looked at.
const allCalls = 100_000

// sitesReader is a recording whose calls can all be read.
type sitesReader interface {
	store.Reader
	Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// FindSites adds up the calls of each place, those only that are wanted. stored is how
// many rows of calls the recording has.
func FindSites(ctx context.Context, r sitesReader, w store.Window, stored uint64, wants func(*event.Call) bool) (*Sites, error) {
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
	s := &Sites{}
	at := map[key]int{}
	visit := func(c *event.Call) bool {
		if !wants(c) {
			return true
		}
		n := uint64(max(c.Weight, 1))
		if c.Stack == 0 {
			s.Without += n
			return true
		}
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
		e.TotalNS += n * c.Duration
		e.MaxNS = max(e.MaxNS, c.Duration)
		return true
	}
	if s.Partial = stored > allCalls; s.Partial {
		return s, r.NotableCalls(ctx, w, visit)
	}
	return s, r.Calls(ctx, w, visit)
}

// launched is a kernel by its handle.
type launched struct {
	pid uint32
	fn  uint64
}

func kernelNames(ctx context.Context, r store.Reader) (map[launched]string, error) {
	kernels, err := r.Kernels(ctx)
	if err != nil {
		return nil, err
	}
	names := map[launched]string{}
	for i := range kernels {
		names[launched{kernels[i].PID, kernels[i].Func}] = kernels[i].Name
	}
	return names, nil
}

// Sort puts those first that took most time in total, or with "max" those of the longest
// call, or with "calls" those of most calls.
func (s *Sites) Sort(by string) {
	slices.SortFunc(s.List, func(a, b Site) int {
		c := cmp.Compare(b.TotalNS, a.TotalNS)
		switch by {
		case "max":
			c = cmp.Compare(b.MaxNS, a.MaxNS)
		case "calls":
			c = cmp.Compare(b.Calls, a.Calls)
		}
		return cmp.Or(c, cmp.Compare(a.PID, b.PID), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Kernel, b.Kernel))
	})
}
