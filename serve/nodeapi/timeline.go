package nodeapi

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// timeline returns calls and intervals one by one: together at most limit, and none that begin
// after next_ns.
func timeline(ctx context.Context, a *API, in *input) (out wire.Timeline, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		out.Calls, out.OffCPU = []wire.Call{}, []wire.OffCPU{}
		wanted := func(t event.Thread, op event.Op) bool {
			return v.WantsOp(t.PID, op) && (in.tid == 0 || t.TID == in.tid)
		}
		// One more of each than needed shows where the rest begins.
		err := v.Calls(ctx, v.Window, func(c *event.Call) bool {
			if wanted(c.Thread, c.Op) {
				out.Calls = append(out.Calls, callOf(c))
			}
			return len(out.Calls) <= in.limit
		})
		if err != nil {
			return err
		}
		err = v.OffCPU(ctx, v.Window, func(o *event.OffCPU) bool {
			if wanted(o.Thread, o.Op) {
				out.OffCPU = append(out.OffCPU, offCPUOf(o))
			}
			return len(out.OffCPU) <= in.limit
		})
		if err == nil {
			cut(&out, in.limit)
		}
		return err
	})
	return out, err
}

// cut keeps the earliest so many of calls and intervals together.
func cut(t *wire.Timeline, limit int) {
	c, o := 0, 0
	for c+o < limit && (c < len(t.Calls) || o < len(t.OffCPU)) {
		if o == len(t.OffCPU) || c < len(t.Calls) && t.Calls[c].StartNS <= t.OffCPU[o].StartNS {
			c++
		} else {
			o++
		}
	}
	if c < len(t.Calls) {
		t.NextNS = t.Calls[c].StartNS
	}
	if o < len(t.OffCPU) && (t.NextNS == 0 || t.OffCPU[o].StartNS < t.NextNS) {
		t.NextNS = t.OffCPU[o].StartNS
	}
	// Items that begin at the same time stay together: the next answer begins with them.
	for c > 0 && t.NextNS != 0 && t.Calls[c-1].StartNS == t.NextNS && t.Calls[0].StartNS != t.NextNS {
		c--
	}
	for o > 0 && t.NextNS != 0 && t.OffCPU[o-1].StartNS == t.NextNS && t.OffCPU[0].StartNS != t.NextNS {
		o--
	}
	t.Calls, t.OffCPU = t.Calls[:c], t.OffCPU[:o]
}

func callOf(c *event.Call) wire.Call {
	out := wire.Call{
		StartNS: c.Start, DurationNS: c.Duration, PID: c.PID, TID: c.TID, Op: c.Op.String(), Depth: c.Depth, Ret: c.Ret,
		Weight: max(c.Weight, 1),
	}
	for class, ns := range c.Ledger.NS {
		if ns > 0 {
			if out.Waited == nil {
				out.Waited = map[string]uint64{}
			}
			out.Waited[event.Class(class).String()] = ns
		}
	}
	if c.Stack != 0 {
		out.Stack = fmt.Sprint(int64(c.Stack)) // SQL has it as a signed integer
	}
	return out
}

func offCPUOf(o *event.OffCPU) wire.OffCPU {
	out := wire.OffCPU{
		StartNS: o.Start, DurationNS: o.Duration, RunQueueNS: o.RunQueue, PID: o.PID, TID: o.TID, Class: o.Class.String(),
		Holder: o.Holder,
	}
	if o.Op != 0 {
		out.Op = o.Op.String()
	}
	if o.Waker.TID != 0 {
		out.Waker = &wire.Task{PID: o.Waker.PID, TID: o.Waker.TID, Comm: o.WakerComm}
	}
	for _, c := range o.Culprits {
		out.Culprits = append(out.Culprits, wire.Task{PID: c.PID, TID: c.TID, Comm: c.Comm, NS: c.NS})
	}
	return out
}
