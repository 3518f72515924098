package mcptool

import (
	"cmp"
	"context"

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

var stacksTool = tool[stacksIn, stacksOut]{
	name:  "get_stacks",
	about: "Which code makes the calls: frames, counts and durations, by place and GPU kernel.",
	run: func(ctx context.Context, s *server, in stacksIn) (out stacksOut, err error) {
		op, err := opNamed(in.Op)
		if err != nil {
			return out, err
		}
		err = s.read(ctx, in.of(in.scope), &out.common, func(v *view) error {
			sites, err := diagnose.FindSites(ctx, v, v.win, v.sum.Stored, func(c *event.Call) bool {
				return v.wants(c.PID) && (op == 0 || c.Op == op)
			})
			if err != nil {
				return err
			}
			if sites.Partial {
				if sites.Without, err = v.unlocated(ctx, op, sites); err != nil {
					return err
				}
			}
			out.describe(sites)
			sites.Sort(string(in.By))
			list, err := v.sites(ctx, sites.List)
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
			out.Stacks, out.NextCursor, err = page(plain, in.paging, in, &out.common)
			return err
		})
		return out, err
	},
}

// describe says what was looked at.
func (s *stacksOut) describe(sites *diagnose.Sites) {
	s.Without = sites.Without
	if len(sites.List) == 0 && sites.Without > 0 && !sites.Partial {
		s.Note = joined(s.Note, "no stack of these calls was taken; ingero trace --stack=all takes those of all")
		return
	}
	if sites.Partial {
		s.Note = joined(s.Note, "only slow, failed, first and waiting calls were looked at, because there are very many; calls_without_stack has the others, by whole seconds")
	} else {
		s.Note = joined(s.Note, "all stored calls, by weight")
	}
}

// unlocated is how many calls there are in no place.
func (v *view) unlocated(ctx context.Context, op event.Op, sites *diagnose.Sites) (uint64, error) {
	list, err := v.OpStats(ctx, v.win)
	if err != nil {
		return 0, err
	}
	var all, located uint64
	for i := range list {
		if o := &list[i]; v.wants(o.PID) && (op == 0 || o.Op == op) {
			all += o.Calls
		}
	}
	for i := range sites.List {
		located += sites.List[i].Calls
	}
	return all - min(all, located), nil
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

// sites are the places as they are answered.
func (v *view) sites(ctx context.Context, sites []diagnose.Site) ([]placed, error) {
	names, err := v.names(ctx)
	if err != nil {
		return nil, err
	}
	var list []placed
	for i := range sites {
		k := &sites[i]
		list = append(list, placed{stackSite{
			PID: k.PID, Process: name(names[k.PID]), Op: k.Op.String(), Kernel: name(k.Kernel),
			Calls: k.Calls, AvgNS: k.TotalNS / k.Calls, MaxNS: k.MaxNS, TotalNS: k.TotalNS, Frames: []data{},
		}, k.Stack})
	}
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
