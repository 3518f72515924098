package main

import (
	"context"
	"runtime"

	"github.com/ingero-io/ingero/mcpserver"
	"github.com/ingero-io/ingero/mcptool"
	"github.com/ingero-io/ingero/store/source"
	"github.com/ingero-io/ingero/webserver"
)

// besideTracer is what agents may have running at a time in the process that traces.
var besideTracer = webserver.Limits{Calls: 2, PerTool: 1, Waiting: 16}

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
	// With a place for each call, the tracer's thread never waits for one inside this
	// process. Who has a CPU is then the kernel's choice, for which the tracer comes
	// before the calls: see agent's guest.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + besideTracer.Calls)
	src := source.File(t.file.path)
	server := mcptool.NewServer(src, mcptool.Options{Version: build().Version, Logger: t.opts.Logger, Now: t.c.now})
	mcpserver.Protect(server, t.log, besideTracer, t.opts.Logger)
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
