package nodes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Scope is the part of each recording to ask about, written as for "ingero explain".
type Scope struct{ Since, From, To, Process string }

func (s Scope) values() url.Values {
	v := url.Values{}
	for name, text := range map[string]string{"since": s.Since, "from": s.From, "to": s.To, "process": s.Process} {
		if text != "" {
			v.Set(name, text)
		}
	}
	return v
}

// Explained is the nodes' answers to why their GPUs wait.
type Explained struct {
	Chains  []Chain  `json:"chains"` // the worst first
	Reports []Report `json:"nodes"`
	Coverage
}

// Chain is a finding of a node.
type Chain struct {
	Node string `json:"node"`
	report.Chain
}

// Report is one node's report.
type Report struct {
	Node    string         `json:"node"`
	Address string         `json:"address"`
	Report  *report.Report `json:"report"`
}

// Explain asks all nodes why their GPUs wait.
func (cl *Client) Explain(ctx context.Context, s Scope) (*Explained, error) {
	replies, clocks := asked(ctx, cl, func(ctx context.Context, address string) (*report.Report, error) {
		r := &report.Report{}
		if err := cl.get(ctx, address, "chains", s.values(), r); err != nil {
			return nil, err
		}
		if r.Schema == 0 {
			return nil, errGarbage
		}
		return r, nil
	})
	good, failed, err := split(replies)
	if err != nil {
		return nil, err
	}
	e := &Explained{Chains: []Chain{}, Reports: []Report{}, Coverage: cl.coverage(failed, clocks)}
	for i, label := range labelled(&e.Coverage, good, func(r *report.Report) string { return r.Node }) {
		e.Reports = append(e.Reports, Report{label, good[i].address, good[i].value})
		e.addLost(good[i].value.Lost)
		for _, c := range good[i].value.Chains {
			e.Chains = append(e.Chains, Chain{label, c})
		}
	}
	slices.SortStableFunc(e.Chains, func(a, b Chain) int {
		return cmp.Or(event.CompareSeverity(a.Severity, b.Severity), cmp.Compare(b.LostNS, a.LostNS))
	})
	return e, nil
}

func labelled[T any](h *Coverage, good []reply[T], name func(T) string) []string {
	var addresses, names []string
	for _, r := range good {
		addresses, names = append(addresses, r.address), append(names, name(r.value))
	}
	return h.label(addresses, names)
}

// WriteText writes the chains as text, the worst first, then the nodes without any.
func (e *Explained) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "FLEET CAUSAL CHAINS - %d chain(s) from %d node(s)\n", len(e.Chains), e.Answered())
	for i := range e.Chains {
		c := &e.Chains[i]
		fmt.Fprintf(&b, "\n[%s] [%s] %s\n", c.Severity, printable(c.Node), printable(c.Summary))
		fmt.Fprintf(&b, "  Root cause: %s: %s\n", c.Cause.Kind, printable(c.Cause.Detail))
		if len(c.Recommendations) > 0 {
			fmt.Fprintf(&b, "  Fix: %s\n", printable(strings.Join(c.Recommendations, "; ")))
		}
	}
	for i := range e.Reports {
		n := &e.Reports[i]
		if len(n.Report.Chains) == 0 {
			fmt.Fprintf(&b, "\n[none] [%s] %s\n", printable(n.Node), printable(n.Report.Verdict))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
