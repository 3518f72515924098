package main

import (
	"context"
	"runtime"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/serve/webserver"
)

// besideTracer limits the calls of agents, and of nodes, that run at a time in the tracing process.
var besideTracer = webserver.Limits{Calls: 2, PerTool: 1, Waiting: 16}

// serveBoth serves the recording while it is made, to agents and to nodes as requested, until its
// result is called.
func (t *tracing) serveBoth(ctx context.Context, f *traceFlags) (end func(), err error) {
	sql := asker(besideTracer.PerTool) // of both
	endMCP, err := t.serve(ctx, mcpService, f.mcp, sql, func(ctx context.Context, l *listener,
		src recording.Source,
	) error {
		server := mcptool.NewServer(src, mcptool.Options{
			Version: build().Version, Logger: l.opts.Logger, Now: t.c.now, Demos: demos(),
		})
		mcpserver.Protect(server, t.log, webserver.NewGate(besideTracer), l.opts.Logger)
		return mcpserver.Serve(ctx, l.ln, server, l.tls(), l.opts)
	})
	if err != nil {
		return nil, err
	}
	endNode, err := t.serve(ctx, nodeService, f.serve, sql, func(ctx context.Context, l *listener,
		src recording.Source,
	) error {
		return t.c.serveDashboard(ctx, src, nil, l, t.log, besideTracer)
	})
	if err != nil {
		endMCP()
		return nil, err
	}
	return func() { endMCP(); endNode() }, nil
}

// serve starts a server at an address, unless that is empty. It ends when the result is called.
func (t *tracing) serve(ctx context.Context, s service, address string, sql source.Asker,
	answer func(context.Context, *listener, recording.Source) error,
) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := t.c.listen(&listenAddress{service: s, address: address}, t.opts.Logger)
	if err != nil {
		return nil, err
	}
	l.describe(t.c.err, t.file.path)
	l.opts.Requests = &webserver.Requests{}
	t.opts.Busy = append(t.opts.Busy, l.opts.Requests.Pending)
	// With a place for each call, the tracer's thread never waits for one inside this process.
	// The kernel decides which thread gets a CPU.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + besideTracer.Calls)
	src := source.NewAsking(t.file.path, sql)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := answer(ctx, l, src); err != nil {
			t.opts.Logger.Error("nobody is served any longer; tracing goes on", "service", s.title, "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
		_ = src.Close() // a reader has no data to lose
	}, nil
}
