package mcptool

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/echo/question"
)

const (
	addressAttribute = "ingero.node.address"
	modelAttribute   = "ingero.gpu_model"
)

// addresses returns the newest address that each node sent for its own API.
func (s *Tools) addresses(ctx context.Context, sc question.Scope) (map[nodeKey]data, error) {
	return s.attribute(ctx, sc, addressAttribute)
}

// models returns the newest model of GPU of nodes: what they sent in the scope, and of others what they sent before.
func (s *Tools) models(ctx context.Context, sc question.Scope, nodes []nodeKey) (map[nodeKey]data, error) {
	found, err := s.attribute(ctx, sc, modelAttribute)
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, n := range nodes {
		if found[n] == "" {
			missing[n.node] = true
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	all, err := s.attribute(ctx, question.Scope{To: sc.From, Cluster: sc.Cluster}, modelAttribute,
		slices.Sorted(maps.Keys(missing))...)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, found)
	return all, nil
}

// attribute returns the newest value of an attribute from each node, if nodes are named from those only.
func (s *Tools) attribute(ctx context.Context, sc question.Scope, what string, nodes ...string) (map[nodeKey]data,
	error,
) {
	list, err := s.ask.Attributes(ctx, sc, what, nodes...)
	if err != nil {
		return nil, err
	}
	found := map[nodeKey]data{}
	for _, a := range list {
		for _, object := range []string{a.Attrs, a.Resource} {
			var attrs map[string]any
			if json.Unmarshal([]byte(object), &attrs) != nil {
				continue
			}
			if v, ok := attrs[what].(string); ok && strings.TrimSpace(v) != "" {
				found[nodeKey{a.Cluster, a.Node}] = name(v)
				break
			}
		}
	}
	return found, nil
}
