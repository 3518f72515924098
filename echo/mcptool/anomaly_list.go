package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/echo/question"
	"github.com/ingero-io/ingero/event"
)

type anomaliesIn struct {
	ClusterID string         `json:"cluster_id,omitempty" jsonschema:"default all"`
	Window    string         `json:"time_window,omitempty" jsonschema:"as window elsewhere"`
	Severity  event.Severity `json:"severity_filter,omitempty" jsonschema:"this and above; default LOW"`
	paging
}

type anomaliesOut struct {
	common
	Counts     map[string]int `json:"counts" jsonschema:"by severity, of all"`
	Anomalies  []anomaly      `json:"anomalies" jsonschema:"newest first"`
	Next       []next         `json:"next"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

type anomaly struct {
	TS        string         `json:"ts" jsonschema:"told last"`
	First     string         `json:"first,omitempty"`
	Times     int64          `json:"times,omitempty"`
	Severity  event.Severity `json:"severity"`
	Summary   data           `json:"summary"`
	ClusterID data           `json:"cluster_id"`
	NodeID    data           `json:"node_id"`
	Rank      *int32         `json:"rank,omitempty"`
	Source    string         `json:"source" jsonschema:"finding, rank event, log"`

	at   int64
	node nodeKey
}

func (a anomaliesOut) rows() int { return len(a.Anomalies) }

const anomaliesName = "fleet.cluster.anomaly_list"

// Severity numbers of OpenTelemetry.
const (
	warning = 13
	failure = 17
)

var anomaliesTool = tool[anomaliesIn, anomaliesOut]{
	name:  anomaliesName,
	about: "What is wrong: findings, events of ranks, warnings and errors of logs, each once.",
	run: func(ctx context.Context, s *Tools, in anomaliesIn) (out anomaliesOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		all, err := s.anomalies(ctx, sc, &out.common)
		if err != nil {
			return out, err
		}
		out.Counts = map[string]int{}
		least := cmp.Or(in.Severity, event.SeverityLow)
		var list []anomaly
		for _, a := range all {
			out.Counts[string(a.Severity)]++
			if event.CompareSeverity(a.Severity, least) <= 0 {
				list = append(list, a)
			}
		}
		if len(list) == 0 {
			out.addNote("nothing of severity %s or above was told in this window", least)
		}
		out.Next = []next{{
			Tool: stragglersName, Arguments: about(in.ClusterID, out.Window),
			Why: "which rank the others wait for, and why",
		}}
		page, rest := part(list, in.paging, at, out)
		if out.Anomalies = page; rest > 0 {
			out.NextCursor = in.next(rest, in, out.Window)
		}
		return out, nil
	},
}

// anomalies returns all of a scope, the newest first.
func (s *Tools) anomalies(ctx context.Context, sc question.Scope, c *common) ([]anomaly, error) {
	var list []anomaly
	findings, more, err := s.ask.Findings(ctx, sc)
	if err != nil {
		return nil, err
	}
	c.cut(more, "findings")
	for _, f := range findings {
		a := anomaly{
			at: f.Last, Severity: event.Severity(f.Severity), Summary: prose(f.Summary), ClusterID: name(f.Cluster),
			NodeID: name(f.Node), Rank: f.Rank, Source: "finding",
		}
		if !slices.Contains(event.Severities, a.Severity) {
			a.Severity = event.SeverityLow
		}
		list = append(list, a.since(f.First, f.Times))
	}
	episodes, more, err := s.ask.Episodes(ctx, sc)
	if err != nil {
		return nil, err
	}
	c.cut(more, "events of ranks")
	for i := range episodes {
		e := &episodes[i]
		a := anomaly{
			at: e.Last, Severity: event.SeverityMedium, Summary: prose(eventText(e)), ClusterID: name(e.Cluster),
			NodeID: name(e.Node), Rank: e.Rank, Source: "rank event",
		}
		switch e.Type {
		case health.KindHang.String(), health.KindGone.String(), health.KindMissing.String():
			a.Severity = event.SeverityHigh // the job stands still
		case health.KindCohortSlow.String():
			a.Severity = event.SeverityLow
		}
		list = append(list, a.since(e.Since, 0))
	}
	logs, err := s.logs(ctx, sc, c)
	list = append(list, logs...)
	slices.SortStableFunc(list, func(a, b anomaly) int { return cmp.Compare(b.at, a.at) })
	return list, err
}

func (a anomaly) since(first, times int64) anomaly {
	a.TS, a.Times = moment(a.at), times
	if first < a.at {
		a.First = moment(first)
	}
	return a
}

// maxLogs is how many log records are read.
const maxLogs = 5000

// logs returns warnings and errors of logs; equal ones of a node once.
func (s *Tools) logs(ctx context.Context, sc question.Scope, c *common) ([]anomaly, error) {
	rows, more, err := s.ask.Rows(ctx, sc, question.Which{Severity: warning, But: true}, 0, maxLogs+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > maxLogs {
		rows, more = rows[:maxLogs], true
	}
	c.cut(more, "lines of logs")
	type key struct{ cluster, node, name, body string }
	type group struct {
		anomaly
		first, times int64
	}
	groups, order := map[key]*group{}, []*group{}
	for i := range rows { // the newest first
		r := &rows[i]
		k := key{r.Cluster, r.Node, r.Name, r.Body}
		g := groups[k]
		if g == nil {
			g = &group{anomaly: anomaly{
				at: r.At, Severity: event.SeverityMedium, ClusterID: name(r.Cluster), NodeID: name(r.Node), Rank: r.Rank,
				Source: r.Kind, Summary: prose(logText(r)), node: nodeKey{r.Cluster, r.Node},
			}}
			if r.SeverityNumber >= failure {
				g.Severity = event.SeverityHigh
			}
			groups[k], order = g, append(order, g)
		}
		g.first, g.times = r.At, g.times+1
	}
	var list []anomaly
	for _, g := range order {
		list = append(list, g.since(g.first, g.times))
	}
	return list, nil
}

func logText(r *question.Row) string {
	switch {
	case r.Body == "":
		return r.Name
	case r.Name == "":
		return r.Body
	}
	return fmt.Sprintf("%s: %s", r.Name, r.Body)
}
