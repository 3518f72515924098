package nodes

import (
	"fmt"
	"slices"
)

// Coverage says which nodes an answer is about, and which are missing.
type Coverage struct {
	Asked  int       `json:"asked"`    // nodes
	Nodes  []string  `json:"answered"` // names of those that answered
	Failed []Failure `json:"failed"`   // those that did not answer
	Clocks []Clock   `json:"clocks"`   // as far as they could be read
	// Lost is the number of records that the nodes which answered dropped, by kind.
	Lost     map[string]uint64 `json:"lost"`
	Warnings []string          `json:"warnings"` // clocks that differ, and more
}

// Answered is how many nodes answered.
func (h *Coverage) Answered() int { return h.Asked - len(h.Failed) }

// Partial reports whether nodes are missing.
func (h *Coverage) Partial() bool { return len(h.Failed) > 0 }

// Problems are the failures and warnings, a line each.
func (h *Coverage) Problems() []string {
	var list []string
	for _, f := range h.Failed {
		list = append(list, fmt.Sprintf("no answer from %s: %s", f.Node, f.Error))
	}
	return append(list, h.Warnings...)
}

// coverage begins an answer.
func (cl *Client) coverage(failed []Failure, clocks []Clock) Coverage {
	return Coverage{
		Asked: len(cl.config.Nodes), Failed: failed, Clocks: clocks, Lost: map[string]uint64{},
		Warnings: append([]string{}, cl.skewed(clocks)...),
	}
}

// label names the nodes that answered, in order: by the names in their recordings, or
// by their addresses if two names are equal.
func (h *Coverage) label(addresses, names []string) []string {
	labels := slices.Clone(names)
	for i, n := range names {
		if n == "" {
			labels[i] = addresses[i]
			continue
		}
		if j := slices.Index(names, n); j < i {
			labels[i], labels[j] = addresses[i], addresses[j]
			h.Warnings = append(h.Warnings, fmt.Sprintf("%s and %s both call themselves %s; give each its own with: ingero "+
				"trace --node NAME", addresses[j], addresses[i], printable(n)))
		}
	}
	h.Nodes = labels
	return labels
}

// addLost adds the records that a node dropped.
func (h *Coverage) addLost(lost map[string]uint64) {
	for kind, n := range lost {
		h.Lost[kind] += n
	}
}
