package soak

import (
	"context"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// programs start, and end by themselves, by a crash, or within a call.
var programs = churner{name: "programs that end or crash", every: 600 * time.Millisecond, round: endSomehow}

func endSomehow(ctx context.Context, w *world) error {
	v, err := w.serve(ctx, cudastub.Options{}, "call cudaLaunchKernel 50", "call cudaMalloc 3",
		"call cudaStreamSynchronize 1")
	if v == nil {
		return err
	}
	signals := []syscall.Signal{0, syscall.SIGSEGV, syscall.SIGKILL, 0, syscall.SIGABRT}
	n := w.next("program") % int64(len(signals))
	if signals[n] == syscall.SIGKILL { // within a call that would never return
		_, err = v.Do("hang cudaStreamSynchronize on=lock at=cuStreamSynchronize stream=7")
	}
	if signals[n] == 0 || err != nil {
		w.end(ctx, v)
		return err
	}
	_ = syscall.Kill(v.PID(), signals[n]) // it is there: nobody has waited for it
	_ = v.Close()                         // it says that it was killed
	return err
}
