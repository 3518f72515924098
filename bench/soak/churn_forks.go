package soak

import (
	"context"
	"fmt"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// forks is a program whose children make calls, and that forks and executes another one within calls.
var forks = churner{name: "fork and exec", every: 700 * time.Millisecond, round: forkAndExec}

func forkAndExec(ctx context.Context, w *world) error {
	const made = 20
	v, err := w.serve(ctx, cudastub.Options{}, "call cudaMalloc 5", fmt.Sprintf("spawn cudaLaunchKernel %d", made),
		"fork-in-call cudaMalloc", "exec-in-call cudaFree", "call cudaLaunchKernel 5")
	if v == nil || err != nil {
		return err
	}
	w.end(ctx, v)
	return nil
}
