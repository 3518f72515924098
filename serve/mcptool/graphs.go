package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// graphUse is what a process did with CUDA graphs, exactly.
type graphUse struct {
	Process      data   `json:"process"`
	PID          uint32 `json:"pid"`
	Captures     uint64 `json:"captures"`
	Failed       uint64 `json:"captures_failed"`
	Instantiates uint64 `json:"instantiates"`
	Launches     uint64 `json:"launches"`
	Updates      uint64 `json:"updates"`
	Destroyed    uint64 `json:"destroyed"`
}

// graphUses adds up the graph operations of each process.
func (v *view) graphUses(ctx context.Context) ([]graphUse, error) {
	list, err := store.List[store.OpStat](ctx, v, v.Window)
	if err != nil {
		return nil, err
	}
	names, err := v.Names(ctx)
	if err != nil {
		return nil, err
	}
	by := map[uint32]*graphUse{}
	for i := range list {
		o := &list[i]
		if o.Op.Source() != event.SourceGraph || !v.Wants(o.PID) {
			continue
		}
		u := by[o.PID]
		if u == nil {
			u = &graphUse{Process: name(names[o.PID]), PID: o.PID}
			by[o.PID] = u
		}
		ok := o.Calls - min(o.Errors, o.Calls)
		switch o.Op.String() {
		case "cudaStreamEndCapture":
			u.Captures, u.Failed = u.Captures+o.Calls, u.Failed+o.Errors
		case "cudaGraphInstantiate":
			u.Instantiates += ok
		case "cudaGraphLaunch":
			u.Launches += ok
		case "cudaGraphExecUpdate":
			u.Updates += ok
		case "cudaGraphExecDestroy":
			u.Destroyed += ok
		}
	}
	uses := []graphUse{}
	for _, u := range by {
		uses = append(uses, *u)
	}
	slices.SortFunc(uses, func(a, b graphUse) int {
		return cmp.Or(cmp.Compare(b.Launches, a.Launches), cmp.Compare(a.PID, b.PID))
	})
	return uses, nil
}

// graphLife is an executable graph from its instantiation to its end.
type graphLife struct {
	PID           uint32 `json:"pid"`
	Exec          string `json:"graph_exec"`
	Made          string `json:"made,omitempty"` // empty: before the window
	InstantiateNS uint64 `json:"instantiate_ns,omitempty"`
	Launches      uint64 `json:"launches"`
	LaunchNS      uint64 `json:"launch_ns"`
	Updates       uint64 `json:"updates,omitempty"`
	Failed        uint64 `json:"failed,omitempty"`
	LastLaunch    string `json:"last_launch,omitempty"`
	Destroyed     string `json:"destroyed,omitempty"`

	stored      uint64 // launches that have a row
	first, last uint64 // Unix ns: made, or first launched; last launched
}

// count adds a call to the life of its graph.
func (g *graphLife) count(c *event.Call) {
	n := uint64(max(c.Weight, 1))
	if c.Failed() {
		g.Failed += n
		return
	}
	switch c.Op.String() {
	case "cudaGraphLaunch":
		if g.first == 0 {
			g.first = c.Start
		}
		g.stored++
		g.Launches, g.LaunchNS, g.last = g.Launches+n, g.LaunchNS+n*c.Duration, c.Start
		g.LastLaunch = clock(c.Start)
	case "cudaGraphExecUpdate":
		g.Updates += n
	case "cudaGraphExecDestroy":
		g.Destroyed = clock(c.Start)
	}
}

// graphLives follows each executable graph, latest first, through the last part of the
// window that can be read quickly. A reused handle is another graph. It notes what it
// leaves out.
func (v *view) graphLives(ctx context.Context, c *common) ([]graphLife, error) {
	w, err := v.recentGraphs(ctx, c)
	if err != nil {
		return nil, err
	}
	var ops []event.Op
	for _, n := range []string{
		"cudaGraphInstantiate", "cudaGraphLaunch", "cudaGraphExecUpdate", "cudaGraphUpload",
		"cudaGraphExecDestroy",
	} {
		if i, ok := event.ByName(n); ok {
			ops = append(ops, i.Op)
		}
	}
	type handle struct {
		pid  uint32
		exec uint64
	}
	now := map[handle]*graphLife{}
	var all []*graphLife
	var stored, calls uint64
	err = v.CallsOf(ctx, w, ops, func(c *event.Call) bool {
		if !v.Wants(c.PID) {
			return true
		}
		stored, calls = stored+1, calls+uint64(max(c.Weight, 1))
		h := handle{c.PID, c.Args[0]}
		g := now[h]
		made := c.Op == ops[0] && c.Ret == 0
		if g == nil || made {
			g = &graphLife{PID: c.PID, Exec: fmt.Sprintf("%#x", c.Args[0])}
			now[h], all = g, append(all, g)
		}
		if made {
			g.Made, g.InstantiateNS, g.first = clock(c.Start), c.Duration, c.Start
			return true
		}
		g.count(c)
		return true
	})
	if calls > stored {
		c.Note = joined(c.Note, fmt.Sprintf("%d of %d calls on graphs are stored, so what is said of single graphs is "+
			"estimated and some are missing; totals are exact", stored, calls))
	}
	slices.Reverse(all)
	list := make([]graphLife, len(all))
	for i, g := range all {
		list[i] = *g
	}
	return list, err
}

// maxGraphCalls is about how many calls are read for the list of single graphs: a tenth
// of a second of reading.
const maxGraphCalls = 20_000

// recentGraphs is the last part of the window with at most maxGraphCalls calls on
// graphs.
func (v *view) recentGraphs(ctx context.Context, c *common) (store.Window, error) {
	const steps = 1000 // of the series, at most
	step := max(1, v.length()/1e9/steps)
	series, err := v.OpSeries(ctx, v.Window, step)
	if err != nil {
		return v.Window, err
	}
	var calls uint64
	for i := len(series) - 1; i >= 0; i-- {
		o := &series[i]
		if o.Op.Source() != event.SourceGraph {
			continue
		}
		if calls += o.Calls; calls <= maxGraphCalls {
			continue
		}
		w := v.Window
		if from := (o.Second + step) * 1e9; from < v.Sum.Last && from > w.From { // else the last second alone has that many
			w.From = from
		}
		c.Note = joined(c.Note, "single graphs since "+clock(w.From)+", totals of all")
		return w, nil
	}
	return v.Window, nil
}

// each runs a built-in statement and calls f with each row.
func (s *server) each(ctx context.Context, sql string, f func(row) error) error {
	rows, err := s.src.Query(ctx, sql, store.Limits{Rows: maxListed})
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written, so the error does not matter
	for rows.Next() {
		if err := f(rows.Values()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxListed bounds the lists that are paged here rather than by SQL.
const maxListed = 20_000

// row is a row of a view.
type row []any

func (r row) uint(i int) uint64 {
	switch v := r[i].(type) {
	case int64:
		return uint64(max(v, 0))
	case float64:
		return uint64(max(v, 0))
	}
	return 0
}

func (r row) int(i int) int64 {
	v, _ := r[i].(int64)
	return v
}

func (r row) text(i int) string {
	v, _ := r[i].(string)
	return v
}
