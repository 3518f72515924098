package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// windowFlags choose a part of a recording.
type windowFlags struct{ store.Span }

func (w *windowFlags) add(f *pflag.FlagSet) {
	w.Dashes = "--"
	f.StringVar(&w.Since, "since", store.DefaultSince, `how far back to look, or "all"; in a saved file, counted from the end of its data`)
	f.StringVar(&w.From, "from", "", "begin of the window: RFC 3339, \"2006-01-02 15:04:05\", or a Unix time")
	f.StringVar(&w.To, "to", "", "end of the window, written as --from")
}

// choose turns the flags into a window of a recording, with a note on how it was
// chosen.
func (w *windowFlags) choose(sum store.Summary, now time.Time) (store.Window, string, error) {
	win, note, err := w.Window(sum, now)
	if err != nil {
		return win, note, usageError{err}
	}
	return win, note, nil
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
