package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// windowFlags select a part of a recording.
type windowFlags struct{ recording.Span }

func (w *windowFlags) addFlags(f *pflag.FlagSet) {
	w.Dashes = "--"
	f.StringVar(&w.Since, "since", "",
		`how far back to look: 5m, 1d, "all"; counted from the end of a recording that is finished
(default: all; for a recording that is still being written, 5m)`)
	f.StringVar(&w.From, "from", "", "start of the window: RFC 3339, \"2006-01-02 15:04:05\", 15:04, or a Unix time")
	f.StringVar(&w.To, "to", "", "end of the window, in the same formats as --from")
}

// view is a part of a recording in a file.
type view struct {
	*recording.View
	path string
}

// view opens a recording with the selected window and processes; without any, all.
func (c *console) view(ctx context.Context, db string, w *windowFlags, pids ...uint32) (*view, error) {
	path, err := c.toRead(db)
	if err != nil {
		return nil, err
	}
	rec, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	q := recording.Question{Span: w.Span}
	for _, pid := range pids {
		q.PIDs = append(q.PIDs, int64(pid))
	}
	v, err := recording.Ask(ctx, rec, q, c.now())
	if err == nil {
		return &view{v, path}, nil
	}
	if _, ok := errors.AsType[*recording.NoProcessError](err); ok {
		err = fmt.Errorf("%w%s", err, traced(ctx, rec))
	}
	if recording.IsMistaken(err) {
		err = commands.UsageError{Err: err}
	}
	return nil, errors.Join(err, rec.Close())
}

// traced is the end of an error message: which processes a recording has, or empty if none.
func traced(ctx context.Context, rec store.Recording) string {
	list, err := store.List[store.Process](ctx, rec, store.Window{})
	if err != nil {
		return "" // the error before it is the one to report
	}
	var names []string
	for i := range list {
		if p := &list[i]; p.Traced {
			names = append(names, fmt.Sprintf("%s (%d)", clean(p.Name), p.PID))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; traced were " + listed(names)
}

// oneRecording takes the recording from the arguments, unless the flag names one.
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
