package recording

import (
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Number of spans of calls to read to find steps, and of calls in each: enough for the steps of a few threads, and
// quick to read.
const (
	MaxSpans  = 12
	SpanCalls = 2000
)

type callTimesReader interface {
	CallTimes(ctx context.Context, w store.Window, visit func(*event.CallTime) bool) error
}

// CallSpans reads some calls of each equal part of a window, which must have an end: at most
// MaxSpans lists of at most SpanCalls calls.
func CallSpans(ctx context.Context, r callTimesReader, w store.Window) (spans [][]event.CallTime, err error) {
	if w.To <= w.From {
		return nil, nil
	}
	part := (w.To - w.From) / MaxSpans
	var buf []event.CallTime
	for i := range uint64(MaxSpans) {
		in := store.Window{From: w.From + i*part, To: w.From + (i+1)*part}
		buf = buf[:0]
		err := r.CallTimes(ctx, in, func(c *event.CallTime) bool {
			buf = append(buf, *c)
			return len(buf) < SpanCalls
		})
		if err != nil {
			return nil, err
		}
		if len(buf) > 0 {
			spans = append(spans, slices.Clone(buf))
		}
	}
	return spans, nil
}
