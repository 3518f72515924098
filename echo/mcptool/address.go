package mcptool

import (
	"context"
	"encoding/json"
	"maps"
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
	for _, n := range nodes {
		if found[n] != "" {
			continue
		}
		all, err := s.attribute(ctx, question.Scope{To: sc.To, Cluster: sc.Cluster}, modelAttribute)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
		return all, nil
	}
	return found, nil
}

// attribute returns the newest value of an attribute from each node.
func (s *Tools) attribute(ctx context.Context, sc question.Scope, what string) (map[nodeKey]data, error) {
	list, err := s.ask.Attributes(ctx, sc, what)
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
