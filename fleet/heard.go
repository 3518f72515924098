package fleet

import (
	"fmt"
	"slices"
)

// Heard says what an answer rests on.
type Heard struct {
	Asked  int       `json:"asked"`    // nodes
	Nodes  []string  `json:"answered"` // what those are called that did
	Failed []Failure `json:"failed"`   // those that gave no answer
	Clocks []Clock   `json:"clocks"`   // as far as they could be read
	// Lost is what the nodes that answered could not record, by kind.
	Lost     map[string]uint64 `json:"lost"`
	Warnings []string          `json:"warnings"` // clocks that differ, and what else there is to know
}

// Answered is how many nodes did.
func (h *Heard) Answered() int { return h.Asked - len(h.Failed) }

// Partial reports whether nodes are missing.
func (h *Heard) Partial() bool { return len(h.Failed) > 0 }

// Complaints are the failures and warnings, a line each.
func (h *Heard) Complaints() []string {
	var list []string
	for _, f := range h.Failed {
		list = append(list, fmt.Sprintf("no answer from %s: %s", f.Node, f.Error))
	}
	return append(list, h.Warnings...)
}

// hear begins an answer.
func (f *Fleet) hear(failed []Failure, clocks []Clock) Heard {
	return Heard{
		Asked: len(f.config.Nodes), Failed: failed, Clocks: clocks, Lost: map[string]uint64{},
		Warnings: append([]string{}, f.skewed(clocks)...),
	}
}

// label names the nodes that answered, in order: as their recordings are called, or by
// their addresses where that would not tell them apart.
func (h *Heard) label(addresses, names []string) []string {
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

// lose adds what a node could not record.
func (h *Heard) lose(lost map[string]uint64) {
	for kind, n := range lost {
		h.Lost[kind] += n
	}
}
