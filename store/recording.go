package store

import (
	"context"
	"time"

	"github.com/ingero-io/ingero/event"
)

// Recording is a Reader that also has every stored call, and counts them.
type Recording interface {
	Reader
	// Calls visits what CallTimes does, with all that is stored of it.
	Calls(ctx context.Context, w Window, visit func(*event.Call) bool) error
	// CallsOf visits those of some operations.
	CallsOf(ctx context.Context, w Window, ops []event.Op, visit func(*event.Call) bool) error
	// CallsIn counts the outermost calls of the whole seconds that a window touches, thinned ones
	// included.
	CallsIn(ctx context.Context, w Window) (uint64, error)
}

// Reach is how long before a moment is looked for what lasted beyond it.
const Reach = 2 * time.Minute
