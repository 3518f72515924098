// Command real-fetch fetches the programs by other authors that "make real" traces, into the cache: what a
// slow network takes for that is then no part of the tests.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/ingero-io/ingero/internal/real/jax"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/onnx"
	"github.com/ingero-io/ingero/internal/real/torch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := fetch(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fetch fetches what is not in the cache, and reports it to progress.
func fetch(ctx context.Context, progress io.Writer) error {
	if _, err := llama.Fetch(ctx, progress); err != nil {
		return err
	}
	if _, err := onnx.Fetch(ctx, progress); err != nil {
		return err
	}
	if _, err := jax.Fetch(ctx, progress); err != nil {
		return err
	}
	f, err := torch.Fetch(ctx, progress)
	if err != nil {
		return err
	}
	return f.FetchTriton(ctx, progress)
}
