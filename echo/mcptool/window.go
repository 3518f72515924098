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

// scope is what most tools are asked about.
type scope struct {
	ClusterID string `json:"cluster_id,omitempty" jsonschema:"default all"`
	Window    string `json:"window,omitempty" jsonschema:"such as 15m, 7d, all, FROM/TO in RFC 3339, 14:30-14:35 (UTC); default 1h"`
}

// common is what each answer has.
type common struct {
	Window string `json:"window"`
	Note   data   `json:"note,omitempty"`
}

// add adds a sentence to the note.
func (c *common) add(format string, args ...any) {
	if c.Note != "" {
		c.Note += "; "
	}
	c.Note += data(fmt.Sprintf(format, args...))
}

// hour is the window if none is given.
const hour = time.Hour

// window finds out which rows are asked for, and notes it.
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
			c.add("nothing was kept until now%s", of(cluster))
			oldest, newest = now.Add(-max(relative, hour)).UnixNano(), now.UnixNano()-1
		}
		if relative == 0 {
			from, to = oldest, newest+1
		} else if from = now.Add(-relative).UnixNano(); newest < from {
			c.add("nothing is newer than %s: this is the %s before that", moment(newest), relative)
			from, to = newest+1-int64(relative), newest+1
		}
	}
	sc.From, sc.To = from, to
	c.Window = moment(from) + "/" + moment(to)
	return sc, nil
}

// extent is from when to when rows are. If some are not older than a time, which may be 0 for none, the others are not
// looked at.
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

func of(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " of cluster " + string(name(cluster))
}

// moment is a time as it is told, to the nanosecond.
func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// longest is how long a relative window may be: 100 years of days.
const longest = 36500 * 24 * hour

// span reads a window. One that ends now has its length, too; of "all" nothing is known.
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

// year reports whether a time has nanoseconds that fit.
func year(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2262 }

// clock is the last time at which it was from one time of day to another.
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
	return wrong("the window %s is none: write 15m, 7d, all, 14:30-14:35 (UTC), or "+
		"2026-05-06T14:30:00Z/2026-05-06T14:35:00Z", name(text))
}
