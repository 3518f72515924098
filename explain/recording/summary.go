package recording

import (
	"context"
	"time"

	"github.com/ingero-io/ingero/store"
)

// Summary is an overview of a recording.
type Summary struct {
	store.Summary
	Outermost uint64 // calls not within another one, exact
	State     State
	Uncounted bool // dropped records were not counted
}

// State says whether a recording is complete.
type State uint8

// The states.
const (
	Complete State = iota
	Live           // it is being written
	CutOff         // the tracer did not stop cleanly
)

// Summarize reads the summary of a recording.
func Summarize(ctx context.Context, r Reader, now time.Time) (s Summary, err error) {
	if s.Summary, err = r.Summary(ctx); err != nil {
		return s, err
	}
	if s.Outermost, err = r.CallsIn(ctx, store.Window{}); err != nil {
		return s, err
	}
	s.Uncounted = uncounted(r)
	n := len(s.Sessions)
	switch {
	case s.Summary.Live(now):
		s.State = Live
	case n > 0 && s.Sessions[n-1].Stopped == 0 && !s.Uncounted:
		s.State = CutOff
	}
	return s, nil
}

// uncounted reports whether a recording has no counts of dropped records: an earlier Ingero made it.
func uncounted(r Reader) bool {
	_, earlier := r.(store.LegacyReader)
	return earlier
}
