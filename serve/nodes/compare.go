package nodes

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/ingero-io/ingero/explain/compare"
)

// Sides asks each node for a part of its recording, to compare them: parts are in the order of the
// nodes, and empty for all that was recorded. Without the answer of one of them there is an error.
func (cl *Client) Sides(ctx context.Context, parts []string) ([]*compare.Side, error) {
	replies := each(ctx, cl, func(ctx context.Context, address string) (*compare.Side, error) {
		part := parts[slices.Index(cl.config.Nodes, address)]
		var sent compare.Sent
		if err := cl.get(ctx, address, "side", url.Values{"a": {part}}, &sent); err != nil {
			return nil, err
		}
		s, err := sent.Side()
		if err != nil {
			return nil, err
		}
		s.Name = address
		if part != "" {
			s.Name += "@" + part
		}
		return s, nil
	})
	var sides []*compare.Side
	for _, r := range replies {
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", r.address, r.err)
		}
		sides = append(sides, r.value)
	}
	return sides, nil
}
