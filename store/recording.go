package store

import (
	"context"
	"time"

	"github.com/ingero-io/ingero/event"
)

// Recording is a Reader that also has every stored call, and the number of calls.
type Recording interface {
	Reader
	// Calls visits the same calls as CallTimes, with all their fields.
	Calls(ctx context.Context, w Window, visit func(*event.Call) bool) error
	// CallsOf visits the calls of some operations.
	CallsOf(ctx context.Context, w Window, ops []event.Op, visit func(*event.Call) bool) error
	// CallsIn counts the outermost calls of the whole seconds that a window touches, thinned ones
	// included.
	CallsIn(ctx context.Context, w Window) (uint64, error)
}

// Reach is how long before a given time calls and gaps may begin for Reaching to find them.
const Reach = 2 * time.Minute
