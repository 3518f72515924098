package mcptool

import (
	"context"
	"fmt"
	"slices"
)

type lifecycleIn struct {
	scope
	paging
}

type lifecycleOut struct {
	common
	Processes  []graphUse  `json:"processes"`
	Graphs     []graphLife `json:"graphs"`
	Failed     []data      `json:"failed_captures"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

func (l lifecycleOut) rows() int { return len(l.Graphs) }

var graphLifecycleTool = tool[lifecycleIn, lifecycleOut]{
	name:  "graph_lifecycle",
	about: "CUDA graphs: capture, instantiation, launches, updates, destruction, failed captures.",
	run: func(ctx context.Context, s *server, in lifecycleIn) (out lifecycleOut, err error) {
		out.Processes, out.Graphs, out.Failed = []graphUse{}, []graphLife{}, []data{}
		err = s.readView(ctx, in.scopeOf(in.scope), &out.common, func(v *view) error {
			v.bySecond(&out.common)
			uses, err := v.graphUses(ctx)
			if err != nil || len(uses) == 0 {
				return err // without operations on graphs there is nothing to list
			}
			out.Processes = besides(uses, &in.paging, &out.common)
			list, err := v.graphLives(ctx, &out.common)
			if err != nil {
				return err
			}
			if in.Cursor == "" && slices.ContainsFunc(uses, func(u graphUse) bool { return u.Failed > 0 }) {
				if out.Failed, err = s.failedCaptures(ctx, v); err != nil {
					return err
				}
				in.taken += maxRecorded * failedLine
			}
			out.Graphs, out.NextCursor, err = page(list, in.paging, in, &out.common)
			return err
		})
		return out, err
	},
}

// failedLine is the approximate size of the text on a failed capture, in bytes.
const failedLine = 100

func (s *server) failedCaptures(ctx context.Context, v *view) ([]data, error) {
	list := []data{}
	err := s.each(ctx, "select pid, timestamp, ret_code, failed_op, failed_code from graph_captures where "+v.Condition()+
		fmt.Sprintf(" and ret_code <> 0 order by timestamp desc limit %d", maxRecorded), func(r row) error {
		line := fmt.Sprintf("%s: pid %d, error %d", clock(r.uint(1)), r.uint(0), r.int(2))
		if op := r.text(3); op != "" {
			line += fmt.Sprintf(", spoiled by %s (error %d)", op, r.int(4))
		}
		list = append(list, prose(line))
		return nil
	})
	return list, err
}
