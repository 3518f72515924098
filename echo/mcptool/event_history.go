package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/echo/question"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

type historyIn struct {
	scope
	NodeID string `json:"node_id,omitempty" jsonschema:"default all"`
	Rank   *int32 `json:"rank,omitempty" jsonschema:"default all"`
	Metric string `json:"metric,omitempty" jsonschema:"its points; default logs and spans, without collectives and metrics"`
	paging
}

type historyOut struct {
	common
	Events     []oneEvent `json:"events" jsonschema:"newest first"`
	Next       []next     `json:"next"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

type oneEvent struct {
	At         string   `json:"at"`
	ClusterID  data     `json:"cluster_id"`
	NodeID     data     `json:"node_id"`
	Rank       *int32   `json:"rank,omitempty"`
	Kind       string   `json:"kind"`
	Name       data     `json:"name,omitempty"`
	Value      *float64 `json:"value,omitempty"`
	Unit       data     `json:"unit,omitempty"`
	Severity   data     `json:"severity,omitempty"`
	Text       data     `json:"text,omitempty"`
	DurationMS float64  `json:"duration_ms,omitempty"`
	Attrs      data     `json:"attrs,omitempty" jsonschema:"JSON, cut"`
}

func (h historyOut) rows() int { return len(h.Events) }

const historyName = "fleet.cluster.event_history"

// maxAttrs is how many characters of attributes are shown.
const maxAttrs = 160

var historyTool = tool[historyIn, historyOut]{
	name:  historyName,
	about: "What nodes told, one by one: logs and spans, or points of a metric.",
	run: func(ctx context.Context, s *Tools, in historyIn) (out historyOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		pinned, until := after(pinned)
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		sc.Node, sc.Rank = in.NodeID, in.Rank
		if at > 0 {
			sc.To = min(sc.To, until+1)
		}
		rows, more, err := s.ask.Rows(ctx, sc, question.Which{Metric: in.Metric}, at, mcpshape.MaxRows+1)
		if err != nil {
			return out, err
		}
		out.cut(more, "rows")
		if at == 0 {
			if err := s.leftOut(ctx, sc, &in, &out.common); err != nil {
				return out, err
			}
		}
		if len(rows) == 0 && at == 0 {
			out.addNote("there is nothing of that")
		}
		list := make([]oneEvent, 0, len(rows))
		for i := range rows {
			list = append(list, eventOf(&rows[i]))
		}
		args := about(in.ClusterID, out.Window)
		args["time_window"] = args["window"]
		delete(args, "window")
		out.Next = []next{{Tool: anomaliesName, Arguments: args, Why: "what is wrong, without repetitions"}}
		page, rest := part(list, in.paging, 0, out)
		if out.Events = page; rest > 0 {
			time, shown := shownOf(rows[:rest], until, at)
			out.NextCursor = in.next(shown, in, fmt.Sprint(out.Window, pinTime, time))
		}
		return out, nil
	},
}

// pinTime separates a cursor's window from the time of the last row that was shown. The next part begins with it: rows
// that come later, of times that were shown already, do not move it. The cursor's number is how many rows of that time
// were shown.
const pinTime = "~"

// after returns the window of a cursor, and the time up to which rows are left; 0 without a cursor.
func after(pinned string) (window string, until int64) {
	window, text, _ := strings.Cut(pinned, pinTime)
	until, _ = strconv.ParseInt(text, 10, 64) // 0: the cursor is of no event
	return window, until
}

// shownOf returns how many of the last rows of a part are of its last row's time, which is until; before is how many
// of them earlier parts showed.
func shownOf(rows []question.Row, until int64, before int) (time int64, shown int) {
	time = rows[len(rows)-1].At
	for _, r := range slices.Backward(rows) {
		if r.At != time {
			break
		}
		shown++
	}
	if time == until {
		shown += before
	}
	return time, shown
}

// leftOut notes what a history without a metric leaves out.
func (s *Tools) leftOut(ctx context.Context, sc question.Scope, in *historyIn, c *common) error {
	if in.Metric != "" {
		return nil
	}
	all, err := s.ask.Metrics(ctx, sc, "")
	if err != nil || len(all) == 0 {
		return err
	}
	var names []string
	points := int64(0)
	for i, m := range all {
		points += m.Points
		if i < maxNames/2 {
			names = append(names, string(name(m.Name)))
		}
	}
	more := ""
	if n := len(all) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	c.addNote("%d points of metrics are left out: give metric, such as %s%s", points, strings.Join(names, ", "), more)
	return nil
}

func eventOf(r *question.Row) oneEvent {
	e := oneEvent{
		At: moment(r.At), ClusterID: name(r.Cluster), NodeID: name(r.Node), Rank: r.Rank, Kind: r.Kind, Name: name(r.Name),
		Unit: name(r.Unit), Severity: name(r.Severity), Text: prose(r.Body), DurationMS: ms(float64(r.DurationNS)),
	}
	if v := number(r.Value); v == v { //nolint:gocritic // NaN
		v = significant(v, 6)
		e.Value = &v
	}
	if r.Attrs != "{}" {
		e.Attrs = data(mcpshape.Cut(mcpshape.Visible(r.Attrs), maxAttrs))
	}
	return e
}
