package soak

import (
	"context"
	"time"
)

// kills is kill -9 of the tracer, which is then started on the same file, before the disk becomes full: the end of a
// tracer that a full disk ends may take so long that this would hide it. It is rare: each life is judged on its own,
// and the shorter it is, the less its slope says.
var kills = churner{name: "kill -9 of the tracer", after: 15 * time.Second, every: 20 * time.Minute, round: killTracer}

func killTracer(ctx context.Context, w *world) error {
	if _, _, ok := w.tracer.running(); !ok {
		return nil
	}
	return w.tracer.kill(ctx)
}
