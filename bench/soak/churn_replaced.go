package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// replaced is an upgrade: the libraries of a running program are replaced, and then deleted, while it uses them. All
// files of a round are new to the tracer. The space of what was deleted has to be free again (see world.churn).
var replaced = churner{name: "libraries replaced and deleted", every: 1500 * time.Millisecond, round: replaceLibraries}

func replaceLibraries(ctx context.Context, w *world) error {
	dir := filepath.Join(w.churn, fmt.Sprint(w.next("upgrade")))
	defer os.RemoveAll(dir)
	first, err := cudastub.Extract(dir)
	if err != nil {
		return err
	}
	old, err := w.serve(ctx, cudastub.Options{LibDir: first.LibDir}, "call cudaLaunchKernel 5")
	if old == nil || err != nil {
		return err
	}
	seen(ctx)
	if _, err := cudastub.Extract(dir); err != nil { // it replaces the files
		w.end(ctx, old)
		return err
	}
	upgraded, err := w.serve(ctx, cudastub.Options{LibDir: first.LibDir}, "call cudaLaunchKernel 5")
	if upgraded == nil || err != nil {
		w.end(ctx, old)
		return err
	}
	seen(ctx)
	err = os.RemoveAll(dir)
	for _, v := range []*cudastub.Victim{old, upgraded} {
		if _, e := v.Do("call cudaLaunchKernel 5"); e != nil {
			_ = w.cut(ctx, v, e)
			continue
		}
		w.end(ctx, v)
	}
	return err
}
