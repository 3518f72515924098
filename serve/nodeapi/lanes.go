package nodeapi

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/nodeapi/lanes"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

const (
	defaultBuckets = 512
	maxBuckets     = 4096
	defaultRows    = 4000
)

// laneView answers one request for lanes.
type laneView struct {
	in       *input
	view     *recording.View
	p        *lanes.Pyramid
	machines []store.Reader
	ids      []lanes.ID // the threads to return
	from, to uint64
	out      *wire.Lanes
	ops      map[event.Op]int64 // place in out.Ops
}

// laneTimes returns what each thread did: calls and waits one by one if they are few, else sums in
// buckets of time.
func laneTimes(ctx context.Context, a *API, in *input) (out wire.Lanes, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		state := a.src.State()
		return a.lanes.Use(ctx, state, &v.Sum, v.Recording, func(p *lanes.Pyramid, machines []store.Reader) error {
			l := &laneView{in: in, view: v, p: p, machines: machines, out: &out, ops: map[event.Op]int64{}}
			l.from, l.to = out.Window.FromNS, max(out.Window.ToNS, out.Window.FromNS+1)
			return l.answer(ctx, a)
		})
	})
	return out, err
}

func (l *laneView) answer(ctx context.Context, a *API) error {
	out := l.out
	out.Ops, out.Lanes, out.ReadNS, out.Rows = []string{}, []wire.Lane{}, l.p.Read(), l.p.Rows(l.from, l.to)
	out.Estimate = l.estimate()
	for c := range event.NumClasses {
		out.Classes = append(out.Classes, c.String())
	}
	for _, id := range l.p.Lanes() {
		if l.view.Wants(id.PID) && (l.in.tid == 0 || id.TID == l.in.tid) {
			l.ids = append(l.ids, id)
		}
	}
	out.Total = len(l.ids)
	l.ids = l.ids[min(l.in.skip, len(l.ids)):]
	l.ids = l.ids[:min(l.in.limit, len(l.ids))]
	if err := l.name(ctx, a); err != nil {
		return err
	}
	if l.in.rows > 0 && out.Rows <= uint64(l.in.rows) && out.ReadNS == 0 {
		return l.oneByOne(ctx)
	}
	l.buckets()
	return nil
}

// name adds the lanes with their names.
func (l *laneView) name(ctx context.Context, a *API) error {
	type names struct {
		node      string
		threads   map[event.Thread]string
		processes map[uint32]*store.Process
	}
	of := make([]names, len(l.machines))
	for i, r := range l.machines {
		n := &of[i]
		n.processes = map[uint32]*store.Process{}
		sum, err := r.Summary(ctx)
		if err != nil {
			return err
		}
		n.node = a.node(sum.Node)
		if n.threads, err = recording.ThreadNames(ctx, r); err != nil {
			return err
		}
		processes, err := store.List[store.Process](ctx, r, store.Window{})
		if err != nil {
			return err
		}
		for j := range processes {
			n.processes[processes[j].PID] = &processes[j]
		}
	}
	for _, id := range l.ids {
		n := &of[id.Machine]
		lane := wire.Lane{
			Node: n.node, PID: id.PID, TID: id.TID, Thread: n.threads[id.Thread], Rank: -1, Depth: l.p.Depth(id),
			Calls: []int64{}, Waits: []int64{},
		}
		if p := n.processes[id.PID]; p != nil {
			lane.Node, lane.Process, lane.Rank = cmp.Or(p.Node, lane.Node), p.Name, p.Rank
		}
		l.out.Lanes = append(l.out.Lanes, lane)
	}
	return nil
}

// estimate says what is estimated for calls that share a row.
func (l *laneView) estimate() string {
	n, unknown := l.p.Shared(l.from, l.to)
	if n == 0 {
		return ""
	}
	text := report.Plural(n, "call") + " of the window were counted, not stored: their time is exact by whole seconds, " +
		"and shown where one of the same thread and operation was stored"
	if unknown > 0 {
		text = report.Plural(n, "call") +
			" of the window were counted, not stored: they are shown where one of the same thread and operation was stored, " +
			"and as long as that one, as the recording does not have their time"
	}
	return text + "; exact: op_seconds"
}

// buckets returns sums. The window grows to whole buckets.
func (l *laneView) buckets() {
	want := uint64(l.in.buckets)
	width := (l.to - l.from + want - 1) / want
	shift := max(uint8(bits.Len64(width-1)), l.p.Shift())
	first := l.from >> shift
	n := int((l.to-1)>>shift - first + 1)
	l.out.StartNS, l.out.BucketNS, l.out.Buckets = first<<shift, 1<<shift, n
	for i, id := range l.ids {
		lane := &l.out.Lanes[i]
		for b, parts := range l.p.Buckets(id, first<<shift, shift, n) {
			for _, x := range parts {
				if class, ok := x.Key.Class(); ok {
					lane.Waits = append(lane.Waits, int64(b), int64(class), int64(x.NS), int64(x.N))
				} else {
					lane.Calls = append(lane.Calls, int64(b), l.op(x.Key.Op()), int64(x.NS), int64(x.N))
				}
			}
		}
	}
}

func (l *laneView) op(o event.Op) int64 {
	i, ok := l.ops[o]
	if !ok {
		i = int64(len(l.out.Ops))
		l.ops[o] = i
		l.out.Ops = append(l.out.Ops, o.String())
	}
	return i
}

// oneByOne returns all calls and waits in the window, also those that began before it. Starts are
// relative to the start of the window.
func (l *laneView) oneByOne(ctx context.Context) error {
	l.out.StartNS = l.from
	at := map[lanes.ID]*wire.Lane{}
	for i, id := range l.ids {
		lane := &l.out.Lanes[i]
		at[id] = lane
		for _, s := range l.p.Before(id, l.from) {
			l.add(lane, s)
		}
	}
	w := store.Window{From: l.from - min(l.from, l.p.Reach()), To: l.to}
	for m, r := range l.machines {
		err := r.CallTimes(ctx, w, func(c *event.CallTime) bool {
			if lane := at[lanes.ID{Machine: m, Thread: c.Thread}]; lane != nil {
				l.add(lane, lanes.CallSpan(c))
			}
			return true
		})
		if err != nil {
			return err
		}
		err = r.OffCPU(ctx, w, func(o *event.OffCPU) bool {
			if lane := at[lanes.ID{Machine: m, Thread: o.Thread}]; lane != nil {
				for _, s := range lanes.WaitSpans(o) {
					l.add(lane, s)
				}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *laneView) add(lane *wire.Lane, s lanes.Span) {
	if end := s.Start + s.Duration; end < l.from || end == l.from && s.Start < l.from || s.Start >= l.to {
		return
	}
	start := int64(s.Start) - int64(l.from)
	if class, ok := s.Key.Class(); ok {
		lane.Waits = append(lane.Waits, start, int64(s.Duration), int64(class))
	} else {
		lane.Calls = append(lane.Calls, start, int64(s.Duration), l.op(s.Key.Op()), int64(s.Depth), int64(s.Weight),
			int64(s.NS))
	}
}

var laneParams = slices.Concat(scope, []string{"tid", "buckets", "rows", "skip", "limit"})
