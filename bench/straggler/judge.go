package straggler

import (
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// ours reports whether an event is about a rank to which something happened.
func (c *Case) ours(e *wire.Event) bool {
	if e.Rank == nil {
		return false
	}
	if c.act == cutNode {
		return int(*e.Rank) >= ranks/nodes
	}
	return *e.Rank == late
}

// told is the first event that must come, and the first with the right cause; of a node that is cut off, the
// event about the last of its ranks.
func (c *Case) told(list []wire.Event) (told, caused *wire.Event) {
	seen := map[int32]bool{}
	for i := range list {
		e := &list[i]
		if e.Type != c.kind || e.Resolved || !c.ours(e) {
			continue
		}
		seen[*e.Rank] = true
		if told == nil && (c.act != cutNode || len(seen) == ranks/nodes) {
			told = e
		}
		if caused == nil && e.Cause != nil && e.Cause.Kind == c.cause {
			caused = e
		}
	}
	return told, caused
}

// back is the event that the last rank of a node is there again.
func (c *Case) back(list []wire.Event) (e *wire.Event) {
	seen := map[int32]bool{}
	for i := range list {
		if list[i].Type == c.kind && list[i].Resolved && c.ours(&list[i]) {
			seen[*list[i].Rank] = true
			e = &list[i]
		}
	}
	if len(seen) < ranks/nodes {
		return nil
	}
	return e
}

// judge compares what was told with the truth.
func (c *Case) judge(x *Result, truth *cudastub.RanksTruth, list []wire.Event) {
	began := x.began
	if c.late != "" {
		began = time.Unix(0, int64(truth.LateFrom))
	}
	since := func(e *wire.Event) *float64 {
		if e == nil {
			return nil
		}
		s := e.At.Sub(began).Seconds()
		return &s
	}
	told, caused := c.told(list)
	x.ToldS, x.Steps = since(told), truth.Steps
	if c.cause != "" {
		x.CauseS = since(caused)
	}
	if c.act == cutNode {
		x.EndS = since(c.back(list))
	}
	if told != nil {
		x.Said = told.Line("")
	}
	if caused != nil {
		x.Said = caused.Line("")
	}
	for i := range list {
		e := &list[i]
		switch right := c.ours(e) && c.right(e.Type) && !e.At.Before(began); {
		case !right || c.kind == "":
			x.False = append(x.False, e.At.Format(time.TimeOnly)+" "+e.Line(""))
		case e.Cause != nil:
			x.Cause = e.Cause.Kind
		}
	}
	if n := len(truth.LateNS); n > 0 && c.SizePct > 0 {
		sum := 0.0
		for _, ns := range truth.LateNS {
			sum += float64(ns)
		}
		ms := sum / float64(n) / 1e6
		x.LateMS = &ms
	}
}

// right reports whether a type of event is true of what happens. While the server is gone, a slow rank is
// slower than it was itself.
func (c *Case) right(kind string) bool {
	return kind == c.kind || c.kind == wire.EventStraggler && kind == wire.EventResolved ||
		c.act == killOnce && kind == health.KindSlowVsSelf.String()
}
