package soak

import (
	"context"
	"time"
)

// stops is a tracer that does not run for a while. Its buffers hold what happens meanwhile, or it states what is lost.
var stops = churner{name: "SIGSTOP of the tracer", after: 50 * time.Second, every: time.Minute, round: stopTracer}

func stopTracer(ctx context.Context, w *world) error {
	const long = 3 * time.Second
	return w.tracer.pause(ctx, long)
}
