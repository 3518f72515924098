package nodeapi

import (
	"context"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

func ledgers(ctx context.Context, a *API, in *input) (out wire.Ledgers, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		names, err := v.Names(ctx)
		if err != nil {
			return err
		}
		threads, err := recording.ThreadNames(ctx, v)
		if err != nil {
			return err
		}
		list, err := recording.ThreadLedgers(ctx, v, v.Window)
		if err != nil {
			return err
		}
		out.Threads = []wire.ThreadLedger{}
		for i := range list {
			t := &list[i]
			if !v.Wants(t.PID) {
				continue
			}
			out.Threads = append(out.Threads, wire.ThreadLedger{
				PID: t.PID, TID: t.TID, Process: names[t.PID], Thread: threads[t.Thread], WallNS: t.Wall(), Calls: t.Calls,
				CallsNS: t.CallNS,
				InCalls: byClass(&t.In, t.CallNS), BetweenNS: byClass(&t.Between, t.Wall()-min(t.CallNS, t.Wall())),
			})
		}
		return nil
	})
	return out, err
}

// byClass splits a time by a ledger; the rest was on a CPU.
func byClass(l *event.Ledger, ns uint64) map[string]uint64 {
	out := map[string]uint64{}
	for class, n := range l.NS {
		if n > 0 {
			out[event.Class(class).String()] = n
		}
	}
	if off := l.Total(); ns > off {
		out[event.OnCPU.String()] = ns - off
	}
	return out
}
