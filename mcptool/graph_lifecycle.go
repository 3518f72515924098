package mcptool

import (
	"context"
	"fmt"
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

// graphLife is an executable graph from its instantiation to its end.
type graphLife struct {
	PID           uint32 `json:"pid"`
	Exec          string `json:"graph_exec"`
	Made          string `json:"made"`
	InstantiateNS uint64 `json:"instantiate_ns"`
	Launches      uint64 `json:"launches"`
	LaunchNS      uint64 `json:"launch_ns"`
	Updates       uint64 `json:"updates,omitempty"`
	Failed        uint64 `json:"failed,omitempty"`
	LastLaunch    string `json:"last_launch,omitempty"`
	Destroyed     string `json:"destroyed,omitempty"`
}

func (l lifecycleOut) rows() int { return len(l.Graphs) }

var graphLifecycleTool = tool[lifecycleIn, lifecycleOut]{
	name:  "graph_lifecycle",
	about: "CUDA graphs: capture, instantiation, launches, updates, destruction, and captures that failed.",
	run: func(ctx context.Context, s *server, in lifecycleIn) (out lifecycleOut, err error) {
		out.Graphs, out.Failed = []graphLife{}, []data{}
		err = s.read(ctx, in.scope, func(v *view) error {
			if out.common, err = v.common(ctx); err != nil {
				return err
			}
			if out.Processes, err = v.graphUses(ctx); err != nil || len(out.Processes) == 0 {
				return err // without operations on graphs there is nothing to list
			}
			if ok, err := s.listed(ctx, "graph_execs", &out.common); err != nil || !ok {
				return err
			}
			list, err := s.graphLives(ctx, v)
			if err != nil {
				return err
			}
			if out.Failed, err = s.failedCaptures(ctx, v); err != nil {
				return err
			}
			p := in.paging
			in.paging = paging{}
			out.Graphs, out.NextCursor, err = page(list, p, in)
			return err
		})
		return out, err
	},
}

func (s *server) graphLives(ctx context.Context, v *view) ([]graphLife, error) {
	list := []graphLife{}
	err := s.each(ctx, `select pid, graph_exec, timestamp, instantiate_ns, launches, launch_ns, updates, failed, last_launch, destroyed
		from graph_execs `+v.where()+" order by timestamp desc", func(r row) error {
		list = append(list, graphLife{
			PID: uint32(r.uint(0)), Exec: fmt.Sprintf("%#x", uint64(r.int(1))), Made: clock(r.uint(2)), InstantiateNS: r.uint(3),
			Launches: r.uint(4), LaunchNS: r.uint(5), Updates: r.uint(6), Failed: r.uint(7),
			LastLaunch: clock(r.uint(8)), Destroyed: clock(r.uint(9)),
		})
		return nil
	})
	return list, err
}

func (s *server) failedCaptures(ctx context.Context, v *view) ([]data, error) {
	list := []data{}
	err := s.each(ctx, "select pid, timestamp, ret_code, failed_op, failed_code from graph_captures "+v.where()+
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
