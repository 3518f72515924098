package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/label"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store/sqlite"
)

// compareBy compares how long each value of a label took.
func (c *console) compareBy(cmd *cobra.Command, f *compareFlags, args []string, limit float64) error {
	if cmd.Flags().Changed("nodes") {
		return usage("--by cannot be used with --nodes; copy the recordings here, or ask each node")
	}
	if len(args) != 2 {
		return usage("compare takes two recordings, or parts of recordings, not %d arguments", len(args))
	}
	var sums [2]*label.Result
	for i, arg := range args {
		var err error
		if sums[i], err = c.sumsBy(cmd.Context(), arg, f.by); err != nil {
			return err
		}
	}
	r := label.Compare(sums[0], sums[1])
	var err error
	if f.asJSON {
		err = commands.WriteJSON(c.out, r)
	} else {
		err = r.WriteText(c.out, c.width(c.out))
	}
	if err == nil && f.failAbove != "" && r.SlowerThan(limit) {
		return commands.ExitCode(commands.ExitFailure)
	}
	return err
}

// sumsBy are the sums of a recording, or of a part of one, by a label.
func (c *console) sumsBy(ctx context.Context, arg, key string) (*label.Result, error) {
	path, sel, err := c.part(arg)
	if err != nil {
		return nil, err
	}
	rec, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rec.Close() }() // a reader has no data to lose
	v, err := sel.View(ctx, rec)
	if err != nil {
		if recording.IsMistaken(err) {
			return nil, usage("%s: %w", arg, err)
		}
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	r, err := label.By(ctx, v, label.Options{Key: key, DB: arg, SumsOnly: true})
	if _, ok := errors.AsType[*label.NoKeyError](err); ok {
		return nil, usage("%s: %w", arg, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}
