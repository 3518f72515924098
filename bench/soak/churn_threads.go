package soak

import (
	"context"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// threads come and go within a program, some of them within a call.
var threads = churner{name: "threads", every: 800 * time.Millisecond, round: manyThreads}

func manyThreads(ctx context.Context, w *world) error {
	v, err := w.serve(ctx, cudastub.Options{}, "call cudaLaunchKernel 10 threads=16", "exit-in-call cudaLaunchKernel",
		"call cudaStreamSynchronize 1 threads=16")
	if v == nil || err != nil {
		return err
	}
	w.end(ctx, v)
	return nil
}
