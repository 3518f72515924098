package fleet

import (
	"context"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// Ops asks all nodes for the statistics of their operations.
func (f *Fleet) Ops(ctx context.Context, s Scope) ([]wire.Ops, Coverage, error) {
	return gather(ctx, f, "ops", s, func(o *wire.Ops) *wire.About { return &o.About })
}

// Overview asks all nodes for an overview of their recordings.
func (f *Fleet) Overview(ctx context.Context, s Scope) ([]wire.Overview, Coverage, error) {
	return gather(ctx, f, "overview", s, func(o *wire.Overview) *wire.About { return &o.About })
}

// gather asks all nodes at a path. The node of each answer becomes its label.
func gather[T any](ctx context.Context, f *Fleet, path string, s Scope, about func(*T) *wire.About) ([]T, Coverage,
	error,
) {
	replies, clocks := asked(ctx, f, func(ctx context.Context, address string) (*T, error) {
		v := new(T)
		if err := f.get(ctx, address, path, s.values(), v); err != nil {
			return nil, err
		}
		if about(v).Lost == nil {
			return nil, errGarbage
		}
		return v, nil
	})
	good, failed, err := split(replies)
	if err != nil {
		return nil, Coverage{Asked: len(f.config.Nodes), Failed: failed}, err
	}
	h := f.coverage(failed, clocks)
	list := []T{}
	for i, label := range labelled(&h, good, func(v *T) string { return about(v).Node }) {
		v := *good[i].value
		about(&v).Node = label
		h.addLost(about(&v).Lost)
		list = append(list, v)
	}
	return list, h, nil
}
