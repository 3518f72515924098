// Package fewlogs makes a logger for what clients bring about: however many messages they send, there is one line of a
// kind in a while. It is not for what happens once, such as listening at an address.
package fewlogs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Every is how often there is a line of one kind.
const Every = 10 * time.Second

// LeftOut is the attribute with how many lines of the kind were left out since the last one.
const LeftOut = "left_out"

// maxKinds bounds the kinds that are told apart: messages are constants, so there are few.
const maxKinds = 256

// New returns a logger to the same place as log that writes a line of each message at most once in Every, with how
// many were left out. now is a clock.
func New(log *slog.Logger, now func() time.Time) *slog.Logger {
	return slog.New(&handler{log.Handler(), &kinds{now: now, byMessage: map[string]*kind{}}})
}

// kinds are what was logged. A handler's copies with attributes share them.
type kinds struct {
	now func() time.Time

	mu        sync.Mutex // guards the rest
	byMessage map[string]*kind
}

type kind struct {
	last time.Time
	out  int
}

// pass reports whether a line may be written, and how many were left out before.
func (k *kinds) pass(message string) (leftOut int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	one := k.byMessage[message]
	if one == nil {
		if len(k.byMessage) >= maxKinds {
			clear(k.byMessage)
		}
		k.byMessage[message] = &kind{last: now}
		return 0, true
	}
	if d := now.Sub(one.last); d >= 0 && d < Every {
		one.out++
		return 0, false
	}
	leftOut, one.last, one.out = one.out, now, 0
	return leftOut, true
}

type handler struct {
	slog.Handler
	kinds *kinds
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	n, ok := h.kinds.pass(r.Message)
	if !ok {
		return nil
	}
	if n > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int(LeftOut, n))
	}
	return h.Handler.Handle(ctx, r)
}

func (h *handler) WithAttrs(list []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(list), h.kinds}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.kinds}
}
