package mcptool

import (
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

type chainsIn struct {
	scope
	Severity event.Severity `json:"severity,omitempty" jsonschema:"at least; default LOW"`
	Kind     kind           `json:"kind,omitempty" jsonschema:"only this cause; default all"`
	paging
}

type chainsOut struct {
	common
	Chains       []chain `json:"chains"`
	NotExplained []gap   `json:"not_explained"`
	Recorded     []data  `json:"recorded,omitempty" jsonschema:"by an earlier Ingero"`
	NextCursor   string  `json:"next_cursor,omitempty"`
}

func (c chainsOut) rows() int { return len(c.Chains) + len(c.Recorded) }

// maxRecorded bounds the recorded chains in an answer.
const maxRecorded = 4

var causalChainsTool = tool[chainsIn, chainsOut]{
	name:  "get_causal_chains",
	about: "Each finding in full: what was slow, who caused it, how it is known.",
	run: func(ctx context.Context, s *server, in chainsIn) (out chainsOut, err error) {
		err = s.explained(ctx, in.scopeOf(in.scope), &out.common, func(r *report.Report) error {
			var list []chain
			for i := range r.Chains {
				c := &r.Chains[i]
				if atLeast(c.Severity, in.Severity) && isOf(c, in.Kind) {
					list = append(list, chainOf(c))
				}
			}
			out.NotExplained = []gap{}
			if in.Cursor == "" {
				out.rest(r)
				in.taken = mcpshape.Size(out.NotExplained)
			}
			out.Chains, out.NextCursor, err = page(list, in.paging, in, &out.common)
			return err
		})
		return out, err
	},
}

// isOf reports whether a finding is of a kind: its cause, or how the thread waited for it.
func isOf(c *report.Chain, k kind) bool {
	return k == "" || c.Cause.Kind == string(k) || slices.Contains(c.Also, string(k))
}

// rest adds, on the first page, everything that is not a chain.
func (c *chainsOut) rest(r *report.Report) {
	c.NotExplained = first(gapsOf(r), maxGaps)
	groups := report.GroupStored(r.StoredChains)
	for i, group := range groups {
		if i == maxRecorded {
			c.Recorded = append(c.Recorded, data(fmt.Sprintf("%d more kinds: run_sql, view causal_chains", len(groups)-i)))
			break
		}
		last := group[len(group)-1]
		c.Recorded = append(c.Recorded, prose(fmt.Sprintf("was %s, %d times: %s. What the data supports: %s", last.Severity,
			len(group), last.Summary, last.Supported)))
	}
}

// atLeast reports whether a severity is at least the requested one.
func atLeast(s, want event.Severity) bool { return want == "" || event.CompareSeverity(s, want) <= 0 }
