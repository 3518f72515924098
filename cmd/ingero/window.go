package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ingero-io/ingero/store"
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
