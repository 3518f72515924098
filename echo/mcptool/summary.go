package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/echo/question"
	"github.com/ingero-io/ingero/event"
)

type summaryIn struct {
	scope
	paging
}

type summaryOut struct {
	common
	Verdict    data          `json:"verdict"`
	Seen       summarySeen   `json:"seen"`
	Nodes      []nodeSummary `json:"nodes" jsonschema:"those with something wrong first"`
	Next       []next        `json:"next"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

type summarySeen struct {
	Clusters int   `json:"clusters"`
	Nodes    int   `json:"nodes"`
	Ranks    int   `json:"ranks"`
	Points   int64 `json:"points"`
}

type nodeSummary struct {
	ClusterID data    `json:"cluster_id"`
	NodeID    data    `json:"node_id"`
	Ranks     int     `json:"ranks"`
	Points    int64   `json:"points"`
	LastS     float64 `json:"last_s" jsonschema:"seconds before the window's end"`
	// Health is the lowest of its ranks' newest scores.
	Health     *float64 `json:"health,omitempty" jsonschema:"lowest newest score, 1 is well"`
	Wrong      []data   `json:"wrong,omitempty" jsonschema:"open events of ranks, findings, errors"`
	Stragglers int      `json:"stragglers,omitempty"`

	open int // ongoing events
	high int // findings of severity HIGH
	logs int // different errors in logs
	// medium counts the other reported findings.
	medium int
}

func (s summaryOut) rows() int { return len(s.Nodes) }

// silentAfter is the longest silence of a node that sends.
const silentAfter = 2 * time.Minute

// maxWrong is how many problems the summary names per node.
const maxWrong = 3

var summaryTool = tool[summaryIn, summaryOut]{
	name:  "fleet.cluster.summary",
	about: "All nodes: what they sent, how they are, and what is wrong. Call it first.",
	run: func(ctx context.Context, s *Tools, in summaryIn) (out summaryOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		nodes, err := s.nodes(ctx, sc, &out)
		if err != nil {
			return out, err
		}
		out.verdict(nodes)
		out.Next = []next{{
			Tool: stragglersName, Arguments: about(in.ClusterID, out.Window),
			Why: "which rank the others wait for, and why",
		}}
		list, rest := part(nodes, in.paging, at, out)
		if out.Nodes = list; rest > 0 {
			out.NextCursor = in.next(rest, in, out.Window)
		}
		return out, nil
	},
}

// nodes returns the nodes of a scope, those with problems first.
func (s *Tools) nodes(ctx context.Context, sc question.Scope, out *summaryOut) ([]nodeSummary, error) {
	found, more, err := s.ask.Nodes(ctx, sc)
	if err != nil {
		return nil, err
	}
	if more {
		out.addNote("there are more than %d nodes: ask for one cluster_id", len(found))
	}
	nodes, byKey := make([]nodeSummary, len(found)), map[nodeKey]*nodeSummary{}
	clusters := map[string]bool{}
	for i, n := range found {
		clusters[n.Cluster] = true
		out.Seen.Ranks += n.Ranks
		out.Seen.Points += n.Points
		nodes[i] = nodeSummary{
			ClusterID: name(n.Cluster), NodeID: name(n.Node), Ranks: n.Ranks, Points: n.Points,
			LastS: round(float64(sc.To-n.Last)/1e9, 1),
		}
		byKey[nodeKey{n.Cluster, n.Node}] = &nodes[i]
	}
	out.behind(found, nodes, sc.To)
	out.Seen.Nodes, out.Seen.Clusters = len(nodes), len(clusters)
	if err := s.ills(ctx, sc, out, byKey); err != nil {
		return nil, err
	}
	slices.SortStableFunc(nodes, func(a, b nodeSummary) int {
		return cmp.Or(cmp.Compare(b.open, a.open), cmp.Compare(b.high, a.high), cmp.Compare(b.logs, a.logs),
			cmp.Compare(len(b.Wrong), len(a.Wrong)),
			cmp.Compare(b.silent(), a.silent())) // and not by LastS, which changes between the parts of an answer
	})
	return nodes, nil
}

// behind notes the nodes of which each row came long after its own time, if those of others did not: their clocks are
// behind, or what they send is long on its way. When they sent something last is by when it came.
func (c *common) behind(found []question.Node, nodes []nodeSummary, end int64) {
	var late []string
	for _, n := range found {
		if n.Late > int64(off) {
			late = append(late, n.Node)
		}
	}
	if len(late) == 0 || len(late) == len(found) {
		return
	}
	least := int64(math.MaxInt64)
	for i, n := range found {
		if n.Late > int64(off) {
			least = min(least, n.Late)
			nodes[i].LastS = max(0, round(float64(end-n.Received)/1e9, 1))
		}
	}
	c.addNote("rows of %s came %.0f s and more after their own time: are clocks behind there?", some(late),
		time.Duration(least).Seconds())
}

// ills adds the health and the problems of nodes.
func (s *Tools) ills(ctx context.Context, sc question.Scope, out *summaryOut, nodes map[nodeKey]*nodeSummary) error {
	health, _, err := s.ask.Health(ctx, sc)
	if err != nil {
		return err
	}
	for _, h := range health {
		if n := nodes[nodeKey{h.Cluster, h.Node}]; n != nil && (n.Health == nil || h.Score < *n.Health) {
			score := round(h.Score, 3)
			n.Health = &score
		}
	}
	episodes, more, err := s.ask.Episodes(ctx, sc)
	if err != nil {
		return err
	}
	out.cut(more, "events of ranks")
	for i := range episodes {
		e := &episodes[i]
		if n := nodes[nodeKey{e.Cluster, e.Node}]; n != nil && !e.Resolved {
			n.open++
			if e.Straggler() {
				n.Stragglers++
			}
			n.addWrong(prose(eventText(e)))
		}
	}
	findings, more, err := s.ask.Findings(ctx, sc)
	if err != nil {
		return err
	}
	out.cut(more, "findings")
	for _, f := range findings {
		n := nodes[nodeKey{f.Cluster, f.Node}]
		if n == nil || f.Severity == string(event.SeverityLow) {
			continue
		}
		if f.Severity == string(event.SeverityHigh) {
			n.high++
		} else {
			n.medium++
		}
		n.addWrong(prose(f.Severity + ": " + f.Summary))
	}
	logs, err := s.logs(ctx, sc, &out.common)
	for i := range logs {
		if n := nodes[logs[i].node]; n != nil && logs[i].Severity == event.SeverityHigh {
			n.logs++
			n.addWrong(prose("error: " + string(logs[i].Summary)))
		}
	}
	return err
}

// silent returns 1 for a node that sent nothing for too long, otherwise 0.
func (n *nodeSummary) silent() int {
	if n.LastS > silentAfter.Seconds() {
		return 1
	}
	return 0
}

func (n *nodeSummary) addWrong(what data) {
	if len(n.Wrong) < maxWrong {
		n.Wrong = append(n.Wrong, what)
	}
}

// cut notes that not all could be read.
func (c *common) cut(more bool, what string) {
	if more {
		c.addNote("there are more %s than can be read: the newest are; ask for a shorter window", what)
	}
}

func (s *summaryOut) verdict(nodes []nodeSummary) {
	open, high, logs, other, silent := 0, 0, 0, 0, 0
	for i := range nodes {
		n := &nodes[i]
		open, high, logs, other = open+n.open, high+n.high, logs+n.logs, other+n.medium
		silent += n.silent()
	}
	switch {
	case len(nodes) == 0:
		s.Verdict = "no node sent anything in this window"
		return
	case open == 0 && high == 0 && other > 0:
		s.Verdict = data(fmt.Sprintf("nodes' agents tell of %s, and of nothing worse", counted(other, "MEDIUM finding")))
	case open == 0 && high == 0:
		s.Verdict = "no node's agent says that anything is wrong"
	default:
		s.Verdict = data(fmt.Sprintf("nodes' agents tell of %s that did not end, and of %s", counted(open, "rank event"),
			counted(high, "HIGH finding")))
	}
	if logs > 0 {
		s.Verdict += data("; logs have " + counted(logs, "error"))
	}
	if silent > 0 {
		s.Verdict += data(fmt.Sprintf("; %d of %s sent nothing in the last %v of the window", silent,
			counted(len(nodes), "node"), silentAfter))
	}
}

// eventText describes an event of a rank.
func eventText(e *question.Episode) string {
	text := e.Type
	if e.Rank != nil {
		text += fmt.Sprintf(" of rank %d", *e.Rank)
	}
	if e.Excess != nil {
		text += fmt.Sprintf(": %.0f %% slower", *e.Excess*100)
	}
	if e.Cause != "" {
		text += ", " + e.Cause
	}
	if e.Culprit != "" {
		text += " by " + string(name(e.Culprit))
	}
	if e.Resolved {
		text += ", ended " + moment(e.Until)
	}
	return text
}
