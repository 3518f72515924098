package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
)

type stacksIn struct {
	scope
	Op     string `json:"op,omitempty" jsonschema:"only this operation; default all"`
	By     order  `json:"by,omitempty" jsonschema:"sort by; default total"`
	Frames int    `json:"frames,omitempty" jsonschema:"of a stack, at most 128; default 8"`
	paging
}

type stacksOut struct {
	common
	Without    uint64      `json:"calls_without_stack"` // exact
	Stacks     []stackSite `json:"stacks"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// stackSite is a place in the code that makes calls. Its figures are for the calls that
// have a stack there, mostly slow ones. The operation's figures are exact, for all its
// calls.
type stackSite struct {
	Process data    `json:"process"`
	PID     uint32  `json:"pid"`
	Op      string  `json:"op"`
	Kernel  data    `json:"kernel,omitempty"`
	Calls   uint64  `json:"calls"`
	AvgNS   uint64  `json:"avg_ns"`
	MaxNS   uint64  `json:"max_ns"`
	TotalNS uint64  `json:"total_ns"`
	OfCalls uint64  `json:"op_calls"`
	OfAvgNS uint64  `json:"op_avg_ns"`
	OfPct   float64 `json:"op_time_pct"` // of the operation's time that TotalNS is
	Frames  []data  `json:"frames"`
}

func (s stacksOut) rows() int { return len(s.Stacks) }

var stacksTool = tool[stacksIn, stacksOut]{
	name:  "get_stacks",
	about: "Which code makes the calls: frames, counts, durations, by place and GPU kernel.",
	run: func(ctx context.Context, s *server, in stacksIn) (out stacksOut, err error) {
		op, err := opNamed(in.Op)
		if err != nil {
			return out, err
		}
		err = s.readView(ctx, in.scopeOf(in.scope), &out.common, func(v *view) error {
			v.Op = op
			if v.CutsSecond() {
				out.Note = joined(out.Note, "op_… and calls_without_stack are of the whole seconds that this window touches")
			}
			sites, err := recording.FindSites(ctx, v, v.Window, v.Sum.Stored, func(k recording.SiteOpKey) bool {
				return v.WantsOp(k.PID, k.Op)
			})
			if err != nil {
				return err
			}
			out.describe(sites)
			sites.Sort(string(in.By))
			list, err := v.sites(ctx, sites)
			if err != nil {
				return err
			}
			frames := min(cmp.Or(max(in.Frames, 0), maxFrames), allFrames)
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

// describe says which calls the figures are for.
func (s *stacksOut) describe(sites *recording.Sites) {
	s.Without = sites.Without
	all := sites.All()
	switch {
	case all.Calls == 0:
	case len(sites.List) == 0 && !sites.Partial:
		s.Note = joined(s.Note, "no stack of these calls was taken; ingero trace --stack=all takes those of all")
	case sites.Without == 0:
		s.Note = joined(s.Note, "all of these calls have a stack")
	default:
		s.Note = joined(s.Note, fmt.Sprintf("stacks are taken of slow calls and of few others: "+
			"%s of %s calls, %s %% of their time, and all figures are of these; op_… are of all calls of the operation",
			report.Count(all.Located), report.Count(all.Calls), share(all.LocatedNS, all.TotalNS)))
	}
	if sites.Partial {
		s.Note = joined(s.Note, "of very many calls only slow, failed, first and waiting ones were looked at")
	}
}

// share is a percentage with one decimal, at most 100.
func share(part, of uint64) string { return fmt.Sprintf("%.1f", percent(part, of)) }

// percent is a share in percent, rounded to one decimal.
func percent(part, of uint64) float64 {
	return math.Round(1000*float64(min(part, of))/float64(max(of, 1))) / 10
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
func (v *view) sites(ctx context.Context, sites *recording.Sites) ([]placed, error) {
	names, err := v.Names(ctx)
	if err != nil {
		return nil, err
	}
	var list []placed
	for i := range sites.List {
		k := &sites.List[i]
		of := sites.Ops[recording.SiteOpKey{PID: k.PID, Op: k.Op}]
		list = append(list, placed{stackSite{
			PID: k.PID, Process: name(names[k.PID]), Op: k.Op.String(), Kernel: name(k.Kernel),
			Calls: k.Calls, AvgNS: k.TotalNS / k.Calls, MaxNS: k.MaxNS, TotalNS: k.TotalNS, Frames: []data{},
			OfCalls: of.Calls, OfAvgNS: of.TotalNS / max(of.Calls, 1), OfPct: percent(k.TotalNS, of.TotalNS),
		}, k.Stack})
	}
	return list, nil
}

// resolve gives the sites that can be on the page their frames.
func (v *view) resolve(ctx context.Context, list []placed, frames int, p paging) error {
	from, to := p.reach(len(list))
	for i := from; i < to; i++ {
		st, err := v.Stack(ctx, list[i].stack)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // it was dropped; the site is listed without frames
		}
		list[i].Frames = each(recording.Frames(&st), frames, frame)
	}
	return nil
}

// allFrames are the frames that a stack has at most.
const allFrames = 128
