package mcptool

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/event"
)

type stacksIn struct {
	scope
	Op     string `json:"op,omitempty"`
	By     order  `json:"by,omitempty"`
	Frames int    `json:"frames,omitempty"`
	paging
}

type stacksOut struct {
	common
	Without    uint64      `json:"calls_without_stack"`
	Stacks     []stackSite `json:"stacks"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// stackSite is a place in the code that makes calls.
type stackSite struct {
	Process data   `json:"process"`
	PID     uint32 `json:"pid"`
	Op      string `json:"op"`
	Kernel  data   `json:"kernel,omitempty"`
	Calls   uint64 `json:"calls"`
	AvgNS   uint64 `json:"avg_ns"`
	MaxNS   uint64 `json:"max_ns"`
	TotalNS uint64 `json:"total_ns"`
	Frames  []data `json:"frames"`
}

func (s stacksOut) rows() int { return len(s.Stacks) }

// siteKey tells the calls that are added up.
type siteKey struct {
	pid    uint32
	op     event.Op
	stack  uint64
	kernel string
}

// allCalls is up to how many stored calls every one is looked at.
const allCalls = 100_000

var stacksTool = tool[stacksIn, stacksOut]{
	name:  "get_stacks",
	about: "Which code makes the calls: native and Python frames, with counts and durations, by place and GPU kernel.",
	run: func(ctx context.Context, s *server, in stacksIn) (out stacksOut, err error) {
		op, err := opNamed(in.Op)
		if err != nil {
			return out, err
		}
		err = s.read(ctx, in.scope, &out.common, func(v *view) error {
			sites, err := out.collect(ctx, v, op)
			if err != nil {
				return err
			}
			list, err := v.sites(ctx, sites, in.By)
			if err != nil {
				return err
			}
			frames := min(cmp.Or(max(in.Frames, 0), maxFrames), maxRows)
			if err := v.resolve(ctx, list, frames, in.paging); err != nil {
				return err
			}
			plain := make([]stackSite, len(list))
			for i := range list {
				plain[i] = list[i].stackSite
			}
			out.Stacks, out.NextCursor, err = page(plain, in.paging, in)
			return err
		})
		return out, err
	},
}

// collect adds up the calls of each place.
func (s *stacksOut) collect(ctx context.Context, v *view, op event.Op) (map[siteKey]*stackSite, error) {
	kernels, err := v.Kernels(ctx)
	if err != nil {
		return nil, err
	}
	type launch struct {
		pid uint32
		fn  uint64
	}
	called := map[launch]string{}
	for i := range kernels {
		called[launch{kernels[i].PID, kernels[i].Func}] = kernels[i].Name
	}
	sites := map[siteKey]*stackSite{}
	visit := func(c *event.Call) bool {
		if !v.wants(c.PID) || op != 0 && c.Op != op {
			return true
		}
		n := uint64(max(c.Weight, 1))
		if c.Stack == 0 {
			s.Without += n
			return true
		}
		key := siteKey{pid: c.PID, op: c.Op, stack: c.Stack}
		if c.Op.LaunchesKernel() {
			key.kernel = called[launch{c.PID, c.Args[0]}]
		}
		k := sites[key]
		if k == nil {
			k = &stackSite{}
			sites[key] = k
		}
		k.Calls += n
		k.TotalNS += n * c.Duration
		k.MaxNS = max(k.MaxNS, c.Duration)
		return true
	}
	if v.sum.Stored <= allCalls {
		s.Note = joined(s.Note, "all stored calls, by weight")
		return sites, v.Calls(ctx, v.win, visit)
	}
	s.Note = joined(s.Note, "only slow, failed, first and waiting calls, because there are very many")
	return sites, v.NotableCalls(ctx, v.win, visit)
}

// joined adds to a note.
func joined(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}

// placed is a site that may get its frames.
type placed struct {
	stackSite
	stack uint64
}

// sites are in the order that is asked for.
func (v *view) sites(ctx context.Context, sites map[siteKey]*stackSite, by order) ([]placed, error) {
	names, err := v.names(ctx)
	if err != nil {
		return nil, err
	}
	var list []placed
	for key, k := range sites {
		k.PID, k.Process, k.Op, k.Kernel = key.pid, name(names[key.pid]), key.op.String(), name(key.kernel)
		k.AvgNS, k.Frames = k.TotalNS/k.Calls, []data{}
		list = append(list, placed{*k, key.stack})
	}
	slices.SortFunc(list, func(a, b placed) int {
		c := cmp.Compare(b.TotalNS, a.TotalNS)
		switch by {
		case "max":
			c = cmp.Compare(b.MaxNS, a.MaxNS)
		case "calls":
			c = cmp.Compare(b.Calls, a.Calls)
		}
		return cmp.Or(c, cmp.Compare(a.PID, b.PID), cmp.Compare(a.stack, b.stack), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Kernel, b.Kernel))
	})
	return list, nil
}

// resolve gives the sites that can be on the page their frames.
func (v *view) resolve(ctx context.Context, list []placed, frames int, p paging) error {
	from, _ := parse(p.Cursor) // a wrong one is refused when the page is cut
	from = max(from, 0)
	n := budget / minSite
	if p.Limit > 0 {
		n = min(p.Limit, maxRows)
	}
	from = min(from, len(list))
	for i := from; i < min(from+n+1, len(list)); i++ {
		st, err := v.Stack(ctx, list[i].stack)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // it was lost; the site stands without it
		}
		list[i].Frames = each(diagnose.Frames(&st), frames, frame)
	}
	return nil
}

// minSite is how many bytes a site has at least as JSON.
const minSite = 100
