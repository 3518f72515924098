package recording

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Span is a part of a recording as users specify it. Since may be "all"; From and To take
// precedence over it.
type Span struct {
	Since    string // a duration: "5m", "1d", or seconds; "all"; empty: see DefaultSince
	From, To string // times: RFC 3339, "2006-01-02 15:04:05", "15:04", or Unix time
	Dashes   string // prefix of these names in errors and notes: "--" on a command line
}

// DefaultSince is the default window of a recording that is still being written. The default for
// others is all.
const DefaultSince = "5m"

// Window converts a span to a window of a recording. It counts from now while the recording is being written,
// otherwise from its end. The note says how the window was chosen if it differs from the request, or is not the whole
// recording: a saved recording must never look empty. Choose also says what is left out.
func (s Span) Window(sum store.Summary, now time.Time) (store.Window, string, error) {
	if s.From != "" || s.To != "" {
		w, err := s.absolute(sum)
		if err != nil || sum.Last == 0 || w.From <= sum.Last && (w.To == 0 || w.To > sum.First) {
			return w, "", err
		}
		utc := func(ns uint64) string { return time.Unix(0, int64(ns)).UTC().Format(time.RFC3339) }
		return w, fmt.Sprintf("nothing was recorded in this window: the recording covers %s to %s", utc(sum.First),
			utc(sum.Last)), nil
	}
	live := sum.Live(now)
	if s.Since == "all" || s.Since == "" && !live {
		note := ""
		if s.Since == "" && sum.Last != 0 {
			note = ended(now, sum.Last) + "; this shows all of it"
		}
		return store.Window{}, note, nil
	}
	if s.Since == "" {
		s.Since = DefaultSince
	}
	since, err := s.since()
	if err != nil || sum.Last == 0 {
		return store.Window{}, "", err
	}
	end := sum.Last + 1
	if live {
		end = max(uint64(now.UnixNano()), end) // this clock may be behind the recorded machine's
	}
	from := end - min(end, uint64(since))
	note := ""
	switch {
	case live:
	case from <= sum.First:
		note = ended(now, sum.Last) + "; this shows all of it"
	default:
		note = fmt.Sprintf("%s; this shows its last %s of %s (%ssince all shows everything)",
			ended(now, sum.Last), report.FormatDuration(since),
			report.FormatDuration(time.Duration(sum.Last-sum.First)), s.Dashes)
	}
	return store.Window{From: max(from, sum.First), To: min(end, sum.Last+1)}, note, nil
}

func (s Span) absolute(sum store.Summary) (w store.Window, err error) {
	if s.From != "" {
		if w.From, err = s.time("from", s.From, sum); err != nil {
			return w, err
		}
	}
	if s.To != "" {
		if w.To, err = s.time("to", s.To, sum); err != nil {
			return w, err
		}
		// After ten in the evening, one o'clock is on the next day.
		if at, ok := timeOfDay(s.To, sum); ok && w.To <= w.From {
			w.To = uint64(at.AddDate(0, 0, 1).UnixNano())
		}
	}
	if w.To != 0 && w.To <= w.From {
		return w, fmt.Errorf("%[1]sto %[2]s is not after %[1]sfrom %[3]s", s.Dashes, s.To, s.From)
	}
	return w, nil
}

// timeOfDay parses a time without a date, as "15:04" (local) or "15:04Z", on the last day on which the recording has
// it.
func timeOfDay(value string, sum store.Summary) (time.Time, bool) {
	zone := time.Local
	if v, ok := strings.CutSuffix(value, "Z"); ok {
		zone, value = time.UTC, v
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		t, err := time.Parse(layout, value)
		if err != nil {
			continue
		}
		first, last := time.Unix(0, int64(sum.First)), time.Unix(0, int64(sum.Last)).In(zone)
		at := time.Date(last.Year(), last.Month(), last.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
		if before := at.AddDate(0, 0, -1); at.After(last) && !before.Before(first) {
			at = before
		}
		return at, at.UnixNano() > 0
	}
	return time.Time{}, false
}

// since parses a positive duration; a bare number is seconds.
func (s Span) since() (time.Duration, error) {
	d, err := time.ParseDuration(s.Since)
	if err != nil {
		if days, ok := strings.CutSuffix(s.Since, "d"); ok {
			n, e := strconv.ParseFloat(days, 64)
			d, err = time.Duration(n*24*float64(time.Hour)), e
		} else if n, e := strconv.ParseUint(s.Since, 10, 32); e == nil {
			d, err = time.Duration(n)*time.Second, nil
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`invalid %ssince %q: want a duration like 30s, 5m, 2h or 1d, or "all"`, s.Dashes, s.Since)
	}
	return d, nil
}

// time parses a point in time as Unix nanoseconds.
func (s Span) time(name, value string, sum store.Summary) (uint64, error) {
	if t, ok := timeOfDay(value, sum); ok {
		return uint64(t.UnixNano()), nil
	}
	if n, err := strconv.ParseUint(value, 10, 63); err == nil {
		for n != 0 && n < 1e17 { // seconds, milliseconds or microseconds since 1973
			n *= 1000
		}
		return n, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, value, time.Local); err == nil && t.UnixNano() > 0 {
			return uint64(t.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf(`invalid %s%s %q: `+
		`want a time like 2026-01-31T15:04:05Z, "2026-01-31 15:04:05" or 15:04 (local), or Unix seconds`,
		s.Dashes, name, value)
}

// ended describes when a recording ended.
func ended(now time.Time, ns uint64) string {
	t := time.Unix(0, int64(ns))
	switch d := now.Sub(t); {
	case d < 0:
		return "the recording has ended"
	case d < 48*time.Hour:
		return "the recording ended " + report.FormatDuration(d.Round(time.Second)) + " ago"
	}
	return "the recording ended on " + t.UTC().Format("2006-01-02 15:04 UTC")
}
