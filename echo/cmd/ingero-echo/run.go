package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ingero-io/ingero/echo/api"
	"github.com/ingero-io/ingero/echo/ingest"
	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/lib/crosssite"
	"github.com/ingero-io/ingero/serve/webserver"
)

const (
	// retainEvery is how often old rows are deleted.
	retainEvery = time.Minute
	headerTime  = 5 * time.Second
	idleTime    = 2 * time.Minute
	maxHeader   = 16 << 10 // bytes
	// maxConnections is how many connections there may be over gRPC. Each takes some 70 KB of memory.
	maxConnections = 4096
)

// serve opens the store and serves it until ctx ends. Then requests end, what waits is written, and the store is
// closed.
func (f *serveFlags) serve(ctx context.Context, errs io.Writer, env func(string) string) error {
	s, err := f.check(errs, env)
	if err != nil {
		return err
	}
	file, err := f.open(ctx, s, env)
	if err != nil {
		return err
	}
	queue := intake.New(file, intake.Options{})
	in := ingest.New(ingest.Options{Queue: queue, Tokens: s.tokens, Logger: s.few})
	err = f.servers(ctx, s, file, queue, in)
	queue.Close()
	c := queue.Counts()
	s.logger.Info("the store is closed", "store", f.name(), "kept", c.Kept, "duplicates", c.Duplicates)
	return errors.Join(err, file.Close())
}

// servers runs them until ctx ends or one fails.
func (f *serveFlags) servers(ctx context.Context, s *settings, file store.Store, queue *intake.Queue,
	in *ingest.Server,
) error {
	all, ctx := errgroup.WithContext(ctx)
	a := &asked{store: file, tokens: s.tokens, rates: s.rates, audit: s.audit, logger: s.few}
	questions, end := a.handler()
	for _, one := range []struct {
		what, flag, at string
		serve          func(net.Listener) error
	}{
		{"OTLP over gRPC", "--otlp-addr", f.otlp, func(l net.Listener) error { return f.overGRPC(ctx, l, s, in) }},
		{"OTLP over HTTP", "--otlp-http-addr", f.otlpHTTP, func(l net.Listener) error {
			return f.overHTTP(ctx, l, s, in.Handler(), nil)
		}},
		{"questions", "--mcp-addr", f.api, func(l net.Listener) error { return f.overHTTP(ctx, l, s, questions, end) }},
		{"health", "--health-addr", f.health, func(l net.Listener) error {
			return withoutTLS(ctx, l, crosssite.Handler(healthHandler(file, queue, in, s.few), false), s.few)
		}},
	} {
		if one.at == "" {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", one.at)
		if err != nil {
			all.Go(func() error { return fmt.Errorf("listen for %s: %w; give another %s", one.what, err, one.flag) })
			break
		}
		s.logger.Info("listening", "for", one.what, "at", l.Addr().String(), "tls", s.cert != nil && one.what != "health")
		all.Go(func() error { return one.serve(l) })
	}
	all.Go(func() error { retain(ctx, file, s.retention, s.logger); return nil })
	return all.Wait()
}

// overGRPC answers until ctx ends, and then lets running requests end for some time.
func (f *serveFlags) overGRPC(ctx context.Context, l net.Listener, s *settings, in *ingest.Server) error {
	var o []grpc.ServerOption
	if s.cert != nil {
		conf := &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*s.cert}, NextProtos: []string{"h2"},
		}
		if s.clientCAs != nil {
			conf.ClientAuth, conf.ClientCAs = tls.RequireAndVerifyClientCert, s.clientCAs
		}
		o = append(o, grpc.Creds(credentials.NewTLS(conf)))
	}
	g := in.GRPC(o...)
	served := make(chan error, 1)
	go func() { served <- g.Serve(limited(l, maxConnections, s.logger)) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve gRPC: %w", err)
	case <-ctx.Done():
	}
	late := time.AfterFunc(webserver.Patience, g.Stop)
	defer late.Stop()
	g.GracefulStop()
	if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // it ended before it had begun
		return err
	}
	return nil
}

func (f *serveFlags) overHTTP(ctx context.Context, l net.Listener, s *settings, h http.Handler, end webserver.Drain,
) error {
	return webserver.Serve(ctx, l, h, s.cert, webserver.Options{
		ClientCAs: s.clientCAs, Names: f.hosts, Addresses: !loopback(l.Addr().String()), Draining: end, Refuse: api.Refuse,
		Logger: s.few,
	})
}

// withoutTLS answers without TLS and without asking for a token, until ctx ends.
func withoutTLS(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: idleTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { _ = srv.Close() }) // nothing is lost
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}

// retain deletes old rows until ctx ends.
func retain(ctx context.Context, file store.Keeper, r store.Retention, logger *slog.Logger) {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch n, err := file.Retain(ctx, time.Now().UnixNano(), r); {
		case err != nil && ctx.Err() == nil:
			logger.Error("old rows cannot be deleted", "err", err)
		case n > 0:
			logger.Info("old rows are deleted", "rows", n)
		}
	}
}
