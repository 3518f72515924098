package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/echo/question"
)

// scope has the common arguments of most tools.
type scope struct {
	ClusterID string `json:"cluster_id,omitempty" jsonschema:"default all"`
	Window    string `json:"window,omitempty" jsonschema:"15m, 7d, all, FROM/TO in RFC 3339, 14:30-14:35 (UTC); default 1h"`
}

// common has the common fields of answers.
type common struct {
	Window string `json:"window"`
	Note   data   `json:"note,omitempty"`
}

// addNote adds a sentence to the note.
func (c *common) addNote(format string, args ...any) {
	if c.Note != "" {
		c.Note += "; "
	}
	c.Note += data(fmt.Sprintf(format, args...))
}

// hour is the default window.
const hour = time.Hour

// window returns the scope of the rows to read, and notes its window.
func (s *Tools) window(ctx context.Context, c *common, cluster, text string) (question.Scope, error) {
	sc := question.Scope{Cluster: cluster}
	now := s.options.Now()
	from, to, relative, err := span(text, now)
	if err != nil {
		return sc, err
	}
	if relative > 0 || text == "all" {
		oldest, newest, err := s.extent(ctx, cluster, now, relative)
		switch {
		case err != nil:
			return sc, err
		case newest == 0:
			c.addNote("nothing was kept until now%s", ofCluster(cluster))
			oldest, newest = now.Add(-max(relative, hour)).UnixNano(), now.UnixNano()-1
		}
		if relative == 0 {
			from, to = oldest, newest+1
		} else if from = now.Add(-relative).UnixNano(); newest < from {
			c.addNote("nothing is newer than %s: this is the %s before that", moment(newest), relative)
			from, to = newest+1-int64(relative), newest+1
		}
	}
	if relative > 0 || text == "all" {
		if err := s.ahead(ctx, c, cluster, now); err != nil {
			return sc, err
		}
	}
	sc.From, sc.To = from, to
	c.Window = moment(from) + "/" + moment(to)
	return sc, nil
}

// off is by how much a node's clock may differ from this machine's, unless it is noted.
const off = time.Minute

// ahead notes the nodes whose newest rows are of the future: a window that ends now does not have them.
func (s *Tools) ahead(ctx context.Context, c *common, cluster string, now time.Time) error {
	list, err := s.ask.Ahead(ctx, cluster, now.Add(off).UnixNano())
	if err != nil || len(list) == 0 {
		return err
	}
	most, names := int64(0), make([]string, len(list))
	for i, n := range list {
		most, names[i] = max(most, n.Last-now.UnixNano()), n.Node
	}
	c.addNote("rows of %s are of times up to %.0f s ahead, which this window does not have: are clocks wrong there?",
		some(names), time.Duration(most).Seconds())
	return nil
}

// some joins the first few names.
func some(names []string) string {
	const few = 3
	list := make([]string, min(few, len(names)))
	for i := range list {
		list[i] = string(name(names[i]))
	}
	text := strings.Join(list, ", ")
	if n := len(names) - len(list); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// extent returns the times of the oldest and the newest row. If there are rows in the last old, it ignores older
// ones; old may be 0 for none.
func (s *Tools) extent(ctx context.Context, cluster string, now time.Time, old time.Duration) (oldest, newest int64,
	err error,
) {
	if old > 0 {
		oldest, newest, err = s.ask.Extent(ctx, cluster, now.Add(-old).UnixNano(), now.UnixNano())
		if err != nil || newest != 0 {
			return oldest, newest, err
		}
	}
	return s.ask.Extent(ctx, cluster, 0, now.UnixNano())
}

func ofCluster(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " of cluster " + string(name(cluster))
}

// moment formats a time, to the nanosecond.
func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// longest bounds a relative window: 100 years of days.
const longest = 36500 * 24 * hour

// span parses a window. relative is its length if it ends now, otherwise 0. For "all" everything is 0.
func span(text string, now time.Time) (from, to int64, relative time.Duration, err error) {
	text = cmp.Or(text, "1h")
	if text == "all" {
		return 0, 0, 0, nil
	}
	if a, b, ok := strings.Cut(text, "/"); ok {
		begin, err1 := time.Parse(time.RFC3339Nano, a)
		end, err2 := time.Parse(time.RFC3339Nano, b)
		if err1 == nil && err2 == nil && begin.Before(end) && year(begin) && year(end) {
			return begin.UnixNano(), end.UnixNano(), 0, nil
		}
		return 0, 0, 0, badWindow(text)
	}
	if a, b, ok := strings.Cut(text, "-"); ok && a != "" {
		return clock(a, b, now)
	}
	relative, err = time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		if n > 0 && n <= float64(longest/hour/24) {
			relative = time.Duration(n * float64(24*hour))
		}
	}
	if err != nil || relative <= 0 || relative > longest {
		return 0, 0, 0, badWindow(text)
	}
	return now.Add(-relative).UnixNano(), now.UnixNano(), relative, nil
}

// year reports whether a time fits in nanoseconds.
func year(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2262 }

// clock returns the last interval between two times of day.
func clock(a, b string, now time.Time) (from, to int64, relative time.Duration, err error) {
	begin, err1 := time.Parse("15:04", a)
	end, err2 := time.Parse("15:04", b)
	if err1 != nil || err2 != nil {
		return 0, 0, 0, badWindow(a + "-" + b)
	}
	now = now.UTC()
	on := func(t time.Time) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	first, last := on(begin), on(end)
	if !first.Before(last) {
		last = last.AddDate(0, 0, 1)
	}
	if first.After(now) {
		first, last = first.AddDate(0, 0, -1), last.AddDate(0, 0, -1)
	}
	return first.UnixNano(), last.UnixNano(), 0, nil
}

func badWindow(text string) error {
	return wrong("the window %s is invalid: write 15m, 7d, all, 14:30-14:35 (UTC), or "+
		"2026-05-06T14:30:00Z/2026-05-06T14:35:00Z", name(text))
}
