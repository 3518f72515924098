package nodes

import (
	"context"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// Ops asks all nodes for the statistics of their operations.
func (cl *Client) Ops(ctx context.Context, s Scope) ([]wire.Ops, Coverage, error) {
	return gather(ctx, cl, "ops", s, func(o *wire.Ops) *wire.About { return &o.About })
}

// Overview asks all nodes for an overview of their recordings.
func (cl *Client) Overview(ctx context.Context, s Scope) ([]wire.Overview, Coverage, error) {
	return gather(ctx, cl, "overview", s, func(o *wire.Overview) *wire.About { return &o.About })
}

// gather asks all nodes at a path. The node of each answer becomes its label.
func gather[T any](ctx context.Context, cl *Client, path string, s Scope, about func(*T) *wire.About) ([]T, Coverage,
	error,
) {
	replies, clocks := asked(ctx, cl, func(ctx context.Context, address string) (*T, error) {
		v := new(T)
		if err := cl.get(ctx, address, path, s.values(), v); err != nil {
			return nil, err
		}
		if about(v).Lost == nil {
			return nil, errGarbage
		}
		return v, nil
	})
	good, failed, err := split(replies)
	if err != nil {
		return nil, Coverage{Asked: len(cl.config.Nodes), Failed: failed}, err
	}
	h := cl.coverage(failed, clocks)
	list := []T{}
	for i, label := range labelled(&h, good, func(v *T) string { return about(v).Node }) {
		v := *good[i].value
		about(&v).Node = label
		h.addLost(about(&v).Lost)
		list = append(list, v)
	}
	return list, h, nil
}
