package soak

import (
	"context"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// loops is a program that loads and unloads the libraries again and again.
var loops = churner{name: "dlopen in a loop", every: 900 * time.Millisecond, round: loadAgain}

func loadAgain(ctx context.Context, w *world) error {
	v, err := w.serve(ctx, cudastub.Options{Late: true})
	if v == nil || err != nil {
		return err
	}
	for range 5 {
		for _, c := range []string{"dlopen", "call cudaLaunchKernel 5", "dlclose"} {
			if _, err := v.Do(c); err != nil {
				return w.cut(ctx, v, err)
			}
		}
	}
	w.end(ctx, v)
	return nil
}
