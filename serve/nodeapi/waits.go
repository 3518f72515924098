package nodeapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/lanes"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// waitKey is a place of waiting.
type waitKey struct {
	pid   uint32
	op    event.Op
	class event.Class
	stack uint64
}

// waits sums up off-CPU time by wait site.
func waits(ctx context.Context, a *API, in *input) (out wire.Waits, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		names, err := v.Names(ctx)
		if err != nil {
			return err
		}
		found := map[waitKey]*wire.WaitSite{}
		err = v.OffCPU(ctx, v.Window, func(o *event.OffCPU) bool {
			if !v.WantsOp(o.PID, o.Op) {
				return true
			}
			for _, s := range lanes.WaitSpans(o) {
				class, _ := s.Key.Class()
				k := waitKey{o.PID, o.Op, class, store.KernelStackID(o.Kernel)}
				w := found[k]
				if w == nil {
					w = &wire.WaitSite{PID: o.PID, Process: names[o.PID], Class: class.String(), Frames: []string{}}
					if o.Op != 0 {
						w.Op = o.Op.String()
					}
					found[k] = w
				}
				w.Waits, w.TotalNS, w.MaxNS = w.Waits+1, w.TotalNS+s.Duration, max(w.MaxNS, s.Duration)
			}
			return true
		})
		if err != nil {
			return err
		}
		return listWaits(ctx, v, in, found, &out)
	})
	return out, err
}

// listWaits sorts the sites, and adds names for those in the answer.
func listWaits(ctx context.Context, v *recording.View, in *input, found map[waitKey]*wire.WaitSite,
	out *wire.Waits,
) error {
	keys := make([]waitKey, 0, len(found))
	for k := range found {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y waitKey) int {
		a, b := found[x], found[y]
		c := cmp.Compare(b.TotalNS, a.TotalNS)
		switch in.by {
		case "max":
			c = cmp.Compare(b.MaxNS, a.MaxNS)
		case "calls":
			c = cmp.Compare(b.Waits, a.Waits)
		}
		return cmp.Or(c, cmp.Compare(x.pid, y.pid), cmp.Compare(x.op, y.op), cmp.Compare(x.class, y.class),
			cmp.Compare(x.stack, y.stack))
	})
	out.Total, out.Waits = len(keys), []wire.WaitSite{}
	for _, k := range keys[:min(len(keys), in.limit)] {
		w := found[k]
		if k.stack != 0 {
			frames, err := frames(ctx, v, k.stack)
			if err != nil {
				return err
			}
			w.Frames = frames
		}
		out.Waits = append(out.Waits, *w)
	}
	return nil
}

// frames are those of a stack, innermost first; none if it was dropped.
func frames(ctx context.Context, v *recording.View, id uint64) ([]string, error) {
	st, err := v.Stack(ctx, id)
	if err != nil {
		return []string{}, ctx.Err()
	}
	return recording.Frames(&st), nil
}
