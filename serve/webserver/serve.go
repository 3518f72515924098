package webserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTime     = 5 * time.Second  // for a handshake, and for a request's header
	bodyTime       = 10 * time.Second // for a whole request to arrive
	writeTime      = 20 * time.Second // for a peer to read the answer
	idleTime       = 2 * time.Minute  // between two requests
	maxHeader      = 16 << 10
	maxStreams     = 32 // of one HTTP/2 connection
	maxConnections = 256

	// Patience is how long running requests may take at the end.
	Patience = 10 * time.Second
)

// Drain waits for running requests to end.
type Drain func(ctx context.Context)

// Serve answers on ln with h, behind the checks, until ctx ends: over TLS 1.3 with cert, or without
// TLS if cert is nil. At the end running requests may finish, for some seconds.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, cert *tls.Certificate, o Options) error {
	o = o.withDefaults()
	c := &connLimiter{max: maxConnections}
	hs := &http.Server{
		Handler: Check(h, o), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnState: c.state, ConnContext: c.context,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	if a := o.Requests; a != nil {
		a.addListener(ln)
		hs.Handler = a.counting(hs.Handler)
		hs.ConnState = func(conn net.Conn, s http.ConnState) {
			c.state(conn, s)
			a.state(conn, s)
		}
	}
	served := make(chan error, 1)
	if cert == nil {
		if o.ClientCAs != nil {
			return errors.New("certificates of clients can only be checked over TLS")
		}
		go func() { served <- hs.Serve(ln) }()
	} else {
		hs.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*cert}}
		if o.ClientCAs != nil {
			hs.TLSConfig.ClientCAs, hs.TLSConfig.ClientAuth = o.ClientCAs, tls.RequireAndVerifyClientCert
		}
		go func() { served <- hs.ServeTLS(ln, "", "") }()
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	return shutdown(hs, c, o.Draining)
}

// shutdown accepts no more connections, lets requests finish, and closes the rest.
func shutdown(hs *http.Server, c *connLimiter, draining Drain) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- hs.Shutdown(ctx) }()
	if draining != nil {
		draining(ctx)
	}
	c.closeUnused()
	err := <-done
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // they had enough time
	}
	return errors.Join(err, hs.Close())
}
