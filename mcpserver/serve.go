package mcpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	headerTime     = 5 * time.Second // for a handshake, and for a request's header
	idleTime       = 2 * time.Minute // between two requests
	maxHeader      = 16 << 10
	maxStreams     = 32 // of one HTTP/2 connection
	maxConnections = 256
)

// Serve answers on ln until ctx ends: over TLS 1.3 with cert, or without TLS if cert
// is nil. At the end calls that are running may finish, for some seconds.
func Serve(ctx context.Context, ln net.Listener, server *mcp.Server, cert *tls.Certificate, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &crowd{max: maxConnections}
	h := newHandler(server, o)
	hs := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnState: c.state, ConnContext: c.context,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	if cert == nil {
		go func() { served <- hs.Serve(ln) }()
	} else {
		hs.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*cert}}
		go func() { served <- hs.ServeTLS(ln, "", "") }()
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	return h.shutdown(hs, c)
}

// shutdown takes no more connections, lets calls finish, ends the sessions with their
// streams, and closes what is left.
func (h *handler) shutdown(hs *http.Server, c *crowd) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- hs.Shutdown(ctx) }()
	h.drain(ctx)
	c.dismiss()
	for s := range h.server.Sessions() {
		go s.Close() //nolint:errcheck // one that waits for a call ends with its connection
	}
	err := <-done
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // they had their time
	}
	return errors.Join(err, hs.Close())
}
