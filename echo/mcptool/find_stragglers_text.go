package mcptool

import (
	"fmt"
	"strings"
)

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func (s *stragglersOut) verdict(list []straggler, unknown *unknowns) {
	switch {
	case len(list) > 0:
		s.Verdict = prose(list[0].sentence())
		if n := len(list) - 1; n > 0 {
			s.Verdict += data(fmt.Sprintf("; and %d more", n))
		}
	case unknown.jobs == 0 && s.Seen.AgentEvents == 0:
		s.Verdict = "nobody is blamed: in this window no node reported collectives, and no agent ranks"
	case unknown.jobs == 0:
		s.Verdict = "nobody is blamed: no agent reports a straggler, and there are no collectives to compare"
	default:
		s.Verdict = prose(unknown.nobody(&s.Seen))
	}
}

// sentence describes a straggler.
func (s *straggler) sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rank %d on %s", s.Rank, s.NodeID)
	switch c := s.Collectives; {
	case c != nil && c.Every > 1:
		fmt.Fprintf(&b, " comes %.0f ms late to every %s of %d collectives", c.LateMS, ordinal(c.Every), c.Of)
	case c != nil:
		fmt.Fprintf(&b, " comes %.0f ms late to %d of %d collectives", c.LateMS, c.Late, c.Of)
	default:
		is, until, much := "is", "", ""
		if s.Resolved {
			is, until = "was", " until "+s.Last
		}
		if s.Agent.ExcessPct != nil {
			much = fmt.Sprintf("%.0f %% ", *s.Agent.ExcessPct)
		}
		fmt.Fprintf(&b, " %s %sslower than its peers%s, its agent says", is, much, until)
	}
	if c := s.Collectives; c != nil {
		fmt.Fprintf(&b, ", and %d ranks wait for it: %v %% of their time", c.Waiting, c.LostPct)
	}
	switch {
	case s.Why.Kind == "":
		b.WriteString("; why is not known")
	case s.Why.ExplainedPct != nil:
		fmt.Fprintf(&b, "; %s", s.Why.Kind)
		if s.Why.Culprit != "" {
			fmt.Fprintf(&b, " by %s", s.Why.Culprit)
		}
		fmt.Fprintf(&b, " explains %.0f %% of it, as its node reports", *s.Why.ExplainedPct)
	default:
		fmt.Fprintf(&b, "; its node reports %s", s.Why.Kind)
	}
	return b.String()
}

// nextOf returns the questions that follow from the first straggler. cluster is the one that was asked about.
func nextOf(list []straggler, cluster, window string) []next {
	if len(list) == 0 {
		return []next{{
			Tool: outliersName, Arguments: about(cluster, window),
			Why: "is a node unlike the others, by its health score?",
		}}
	}
	one := &list[0]
	all := []next{}
	if one.Address != "" {
		all = append(all, next{
			Tool: "diagnose", At: one.Address, Arguments: map[string]any{"since": window},
			Why: "the node's own recording, with stacks; over HTTP: GET /api/v1/chains",
		})
	}
	if plain(one.rank.Cluster, one.rank.Node) {
		all = append(all, next{Tool: historyName, Arguments: map[string]any{
			"cluster_id": one.rank.Cluster, "node_id": one.rank.Node, "window": window,
		}, Why: "what its node told in this time"})
	}
	return append(all, next{Tool: costName, Arguments: about(cluster, window), Why: "what the waiting costs"})
}
