package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// windowFlags choose a part of a recording.
type windowFlags struct {
	since    string
	from, to string
}

func (w *windowFlags) add(f *pflag.FlagSet) {
	f.StringVar(&w.since, "since", "5m", `how far back to look, or "all"; in a saved file, counted from the end of its data`)
	f.StringVar(&w.from, "from", "", "begin of the window: RFC 3339, \"2006-01-02 15:04:05\", or a Unix time")
	f.StringVar(&w.to, "to", "", "end of the window, written as --from")
}

// choose turns the flags into a window of a recording. A note says how it was
// chosen when it is not what was asked for, or not everything there is.
func (w *windowFlags) choose(sum store.Summary, now time.Time) (store.Window, string, error) {
	if w.from != "" || w.to != "" {
		return w.absolute()
	}
	if w.since == "all" {
		return store.Window{}, "", nil
	}
	since, err := parseSince(w.since)
	if err != nil {
		return store.Window{}, "", err
	}
	if sum.Last == 0 {
		return store.Window{}, "", nil
	}
	end := max(uint64(now.UnixNano()), sum.Last+1) // our clock may be behind that of the recorded machine
	note := ""
	if sum.Last+uint64(since) < end {
		end = sum.Last + 1
		note = fmt.Sprintf("the recording ends %s; this is its last %s", ago(now, sum.Last), short(since))
	}
	from := end - min(end, uint64(since))
	switch {
	case from <= sum.First && note != "":
		note = fmt.Sprintf("the recording ends %s; this is all of it", ago(now, sum.Last))
	case from > sum.First && note != "":
		note += fmt.Sprintf(" of %s (--since all for everything)", short(time.Duration(sum.Last-sum.First)))
	}
	return store.Window{From: max(from, sum.First), To: min(end, sum.Last+1)}, note, nil
}

func (w *windowFlags) absolute() (win store.Window, note string, err error) {
	if w.from != "" {
		if win.From, err = parseTime("--from", w.from); err != nil {
			return win, "", err
		}
	}
	if w.to != "" {
		if win.To, err = parseTime("--to", w.to); err != nil {
			return win, "", err
		}
	}
	if win.To != 0 && win.To <= win.From {
		return win, "", usage("--to %s is not after --from %s", w.to, w.from)
	}
	return win, "", nil
}

// parseSince reads a positive duration; a bare number is seconds.
func parseSince(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		if days, ok := strings.CutSuffix(s, "d"); ok {
			n, e := strconv.ParseFloat(days, 64)
			d, err = time.Duration(n*24*float64(time.Hour)), e
		} else if n, e := strconv.ParseUint(s, 10, 32); e == nil {
			d, err = time.Duration(n)*time.Second, nil
		}
	}
	if err != nil || d <= 0 {
		return 0, usage(`--since %q is no duration; write for example 30s, 5m, 2h, 1d or "all"`, s)
	}
	return d, nil
}

// parseTime reads a point in time as Unix nanoseconds.
func parseTime(flag, s string) (uint64, error) {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		for n != 0 && n < 1e17 { // seconds, milliseconds or microseconds since 1973
			n *= 1000
		}
		return n, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil && t.UnixNano() > 0 {
			return uint64(t.UnixNano()), nil
		}
	}
	return 0, usage(`%s %q is no time; write for example 2026-01-31T15:04:05Z, "2026-01-31 15:04:05" (local) or Unix seconds`, flag, s)
}

// ago says when something was, in words.
func ago(now time.Time, ns uint64) string {
	t := time.Unix(0, int64(ns))
	if d := now.Sub(t); d < 48*time.Hour {
		return short(d.Round(time.Second)) + " ago"
	}
	return "on " + t.UTC().Format("2006-01-02 15:04 UTC")
}

// short is a duration without trailing zero units: 5m, 1h30m.
func short(d time.Duration) string {
	if d > 10*time.Second {
		d = d.Round(time.Second)
	} else {
		d = d.Round(10 * time.Millisecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// view is a part of a recording.
type view struct {
	rec    sqlite.Recording
	path   string
	sum    store.Summary
	window store.Window
	note   string // how the window was chosen, if it is not what was asked for
}

// view opens a recording at the window that the flags choose.
func (c *console) view(ctx context.Context, db string, w *windowFlags) (*view, error) {
	v := &view{}
	var err error
	if v.path, err = c.database(db); err != nil {
		return nil, err
	}
	if v.rec, err = sqlite.Open(v.path); err != nil {
		return nil, err
	}
	if v.sum, err = v.rec.Summary(ctx); err == nil {
		v.window, v.note, err = w.choose(v.sum, c.now())
	}
	if err != nil {
		return nil, errors.Join(err, v.rec.Close())
	}
	return v, nil
}

// oneRecording takes the recording from the arguments, if it is there and not in the flag.
func oneRecording(db *string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if *db != "" {
		return usage("both --db %s and %s name a recording; give one", *db, args[0])
	}
	*db = args[0]
	return nil
}
