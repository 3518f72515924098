package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// Sources are the recordings that a reader may ask for a side of: the served one, and others that the server was
// started with. No other file can be asked for.
type Sources struct {
	Own    recording.Source
	Others []recording.Source
}

// NoSideError means that a reader asked for something that is not a side.
type NoSideError struct{ err error }

func (e *NoSideError) Error() string { return e.err.Error() }
func (e *NoSideError) Unwrap() error { return e.err }

// Side returns the side that a reader asks for: all of the served recording ("" or "all"), a part of it ("0s-30s",
// "rank=0"), another one by its file name ("main.db"), or a part of that ("main.db@0s-30s"). The error is a
// *NoSideError if there is no such side.
func (s *Sources) Side(ctx context.Context, text string) (side *Side, err error) {
	src, part, err := s.find(text)
	if err != nil {
		return nil, &NoSideError{err}
	}
	sel := recording.Selection{Rank: -1}
	if part != "" {
		if sel, err = recording.ParseSelection(part); err != nil {
			return nil, &NoSideError{fmt.Errorf("%w%s", err, s.or())}
		}
	}
	err = src.Read(ctx, func(r store.Recording) (err error) {
		side, err = Read(ctx, r, sel)
		return err
	})
	switch {
	case recording.IsMistaken(err):
		return nil, &NoSideError{err}
	case err != nil:
		return nil, err
	}
	side.Name, side.Report.DB = text, src.Name()
	if text == "" || text == "all" {
		side.Name = filepath.Base(src.Name())
	}
	return side, nil
}

// find returns the recording that a text names, and the part of it; empty: all of it.
func (s *Sources) find(text string) (src recording.Source, part string, err error) {
	if text == "all" {
		text = ""
	}
	name, part, cut := strings.Cut(text, "@")
	i := slices.IndexFunc(s.Others, func(o recording.Source) bool {
		return filepath.Base(o.Name()) == filepath.Base(name)
	})
	switch {
	case i >= 0 && name != "":
		return s.Others[i], part, nil
	case !cut && name != "":
		return s.Own, name, nil
	case name == "" && (part != "" || !cut), name == filepath.Base(s.Own.Name()):
		return s.Own, part, nil
	}
	return nil, "", fmt.Errorf("there is no recording %q to compare with%s", name, s.or())
}

// or lists the recordings that may be named.
func (s *Sources) or() string {
	var names []string
	for _, o := range s.Others {
		names = append(names, filepath.Base(o.Name()))
	}
	if len(names) == 0 {
		return "; start the server with --baseline FILE for another recording"
	}
	return "; other recordings here: " + strings.Join(names, ", ")
}
