package main

import (
	"context"
	"errors"

	"github.com/ingero-io/ingero/explain/label"
	"github.com/ingero-io/ingero/lib/commands"
)

// explainBy sums up a recording by a label.
func (c *console) explainBy(ctx context.Context, f *explainFlags) error {
	v, err := c.view(ctx, f.db, &f.window, f.pids...)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // a reader has no data to lose
	r, err := label.By(ctx, v.View, label.Options{Key: f.by, DB: v.path})
	if _, ok := errors.AsType[*label.NoKeyError](err); ok {
		return commands.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return commands.WriteJSON(c.out, r)
	}
	return label.WriteText(c.out, r, c.width(c.out))
}
