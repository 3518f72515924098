package nodeapi

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// callSites tells where in its code the program waits for the GPU.
func callSites(ctx context.Context, a *API, in *input) (out wire.CallSites, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About = a.about(&v.Part)
		names, err := v.Names(ctx)
		if err != nil {
			return err
		}
		found, err := v.FindCallSites(ctx, v.WantsOp)
		if err != nil {
			return err
		}
		out.Total, out.Unplaced, out.Sites = len(found.List), found.Unplaced, []wire.CallSite{}
		for i := range found.List[:min(len(found.List), in.limit)] {
			o := &found.List[i]
			p, err := v.Place(ctx, o)
			if err != nil {
				return err
			}
			out.Sites = append(out.Sites, wire.CallSite{
				PID: o.PID, Process: names[o.PID], Op: o.Op.Op, Site: fmt.Sprintf("%#x", o.Addr), Place: p.Name,
				Callers: append([]string{}, p.Callers...), Calls: o.Calls, P50NS: o.P50NS, P95NS: o.P95NS, P99NS: o.P99NS,
				MaxNS: o.MaxNS, TotalNS: o.TotalNS, OpTotalNS: o.OfNS,
			})
		}
		return nil
	})
	return out, err
}
