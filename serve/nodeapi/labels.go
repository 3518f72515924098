package nodeapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// labels tells what processes said they work on: if that is too much, what took longest.
func labels(ctx context.Context, a *API, in *input) (out wire.Labels, err error) {
	err = a.readView(ctx, in, func(v *recording.View) error {
		out.About, out.Labels = a.about(&v.Part), []wire.Label{}
		machines, done, err := recording.Machines(ctx, v.Recording)
		if err != nil {
			return err
		}
		defer done()
		for _, m := range machines {
			list, err := labelsOf(ctx, a, m, v)
			if err != nil {
				return err
			}
			out.Labels = append(out.Labels, list...)
		}
		out.Total = len(out.Labels)
		if out.Total > in.limit {
			slices.SortStableFunc(out.Labels, func(a, b wire.Label) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
			out.Labels = out.Labels[:in.limit]
		}
		slices.SortStableFunc(out.Labels, func(a, b wire.Label) int { return cmp.Compare(a.StartNS, b.StartNS) })
		return nil
	})
	return out, err
}

// labelsOf are those of a machine.
func labelsOf(ctx context.Context, a *API, m store.Reader, v *recording.View) (list []wire.Label, err error) {
	sum, err := m.Summary(ctx)
	if err != nil {
		return nil, err
	}
	found, err := store.List[store.Label](ctx, m, v.Window)
	for i := range found {
		l := &found[i]
		if v.Wants(l.PID) {
			list = append(list, wire.Label{
				Node: a.node(sum.Node), PID: l.PID, TID: l.TID, Key: l.Key, Value: l.Value,
				StartNS: l.From, DurationNS: l.To - l.From, Span: l.Span,
			})
		}
	}
	return list, err
}
