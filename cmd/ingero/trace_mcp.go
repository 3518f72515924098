package main

import (
	"context"
	"runtime"

	"github.com/ingero-io/ingero/mcpserver"
	"github.com/ingero-io/ingero/mcptool"
)

// besideTracer is what agents may have running at a time in the process that traces. One
// CPU is left to the tracer, which would lose calls if it had to wait for long.
func besideTracer() mcpserver.Limits {
	return mcpserver.Limits{Calls: min(max(runtime.GOMAXPROCS(0)-1, 1), 4), PerTool: 1, Waiting: 16}
}

// serveMCP serves the recording while it is made, until its result is called.
func (t *tracing) serveMCP(ctx context.Context, address string) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := t.c.listenMCP(&mcpAddress{address: address}, t.opts.Logger)
	if err != nil {
		return nil, err
	}
	l.describe(t.c.err, t.file.path)
	src := mcptool.File(t.file.path)
	server := mcptool.NewServer(src, mcptool.Options{Version: build().Version, Logger: t.opts.Logger, Now: t.c.now})
	mcpserver.Protect(server, t.log, besideTracer(), t.opts.Logger)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.serve(ctx, server); err != nil {
			t.opts.Logger.Error("AI agents are no longer served; tracing goes on", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
		_ = src.Close() // a reader has nothing to lose
	}, nil
}
