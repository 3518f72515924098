// Package recording answers questions about a recording: which part of it a question is about (Ask), and what can be
// answered without a diagnosis. The command line, the MCP tools and the node API use it, so that the same question
// covers the same part everywhere, and each answer says what it leaves out. It reads no file itself.
package recording

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Reader is what Choose needs of a recording.
type Reader interface {
	Summary(ctx context.Context) (store.Summary, error)
	// CallsIn counts the outermost calls of the whole seconds that a window touches, thinned ones
	// included.
	CallsIn(ctx context.Context, w store.Window) (uint64, error)
}

// Part is the part of a recording that a question is about.
type Part struct {
	Sum    store.Summary // of the whole recording
	Window store.Window
	Note   string // how the window was chosen and what it leaves out; empty: all, as asked
	Live   bool   // the recording is being written
}

// Choose finds the part that a span asks for.
func Choose(ctx context.Context, r Reader, s Span, now time.Time) (p Part, err error) {
	if p.Sum, err = r.Summary(ctx); err != nil {
		return p, err
	}
	p.Live = p.Sum.Live(now)
	if p.Window, p.Note, err = s.Window(p.Sum, now); err != nil {
		return p, spanError{err}
	}
	out, err := p.leftOut(ctx, r)
	if err != nil {
		return p, err
	}
	p.Note = strings.TrimPrefix(p.Note+"; "+out, "; ")
	p.Note = strings.TrimSuffix(p.Note, "; ")
	return p, nil
}

// spanError is an invalid span.
type spanError struct{ error }

// Whole reports whether the part is all of the recording.
func (p *Part) Whole() bool { return p.fromBegin() && p.toEnd() }

func (p *Part) fromBegin() bool { return p.Window.From <= p.Sum.First }
func (p *Part) toEnd() bool     { return p.Window.To == 0 || p.Window.To > p.Sum.Last }

// Bounds returns the bounds of the window, or of the recording where it is open; Unix ns, 0 if nothing was recorded.
// The second bound is exclusive.
func (p *Part) Bounds() (from, to uint64) {
	from, to = p.Window.From, p.Window.To
	if from == 0 {
		from = p.Sum.First
	}
	if to == 0 && p.Sum.Last != 0 {
		to = p.Sum.Last + 1
	}
	return from, to
}

// leftOut describes how many calls of the recording are outside the part.
func (p *Part) leftOut(ctx context.Context, r Reader) (string, error) {
	if p.Whole() {
		return "", nil
	}
	in, err := r.CallsIn(ctx, p.Window)
	if err != nil {
		return "", err
	}
	all, err := r.CallsIn(ctx, store.Window{})
	if err != nil {
		return "", err
	}
	where := "before and after"
	switch {
	case p.fromBegin():
		where = "after"
	case p.toEnd():
		where = "before"
	}
	if in >= all {
		return "", nil
	}
	return fmt.Sprintf("the recording has %s more %s it", report.Plural(all-in, "call"), where), nil
}
