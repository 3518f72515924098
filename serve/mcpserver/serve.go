package mcpserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// Serve answers on ln until ctx ends: over TLS 1.3 with cert, or without TLS if cert is nil. At the
// end running calls may finish, for some seconds.
func Serve(ctx context.Context, ln net.Listener, server *mcp.Server, cert *tls.Certificate, o webserver.Options) error {
	h := newHandler(server, o.Logger)
	o.Draining = h.end
	return webserver.Serve(ctx, ln, h, cert, o)
}

// Mount is the handler of a server without the checks of package webserver, for one that has more to serve at its
// address, and how it ends: webserver.Options.Draining.
func Mount(server *mcp.Server, log *slog.Logger) (http.Handler, webserver.Drain) {
	h := newHandler(server, log)
	return h, h.end
}

// end lets calls finish and ends the sessions with their streams.
func (h *handler) end(ctx context.Context) {
	h.drain(ctx)
	for s := range h.use.server.Sessions() {
		go s.Close() //nolint:errcheck // one that waits for a call ends with its connection
	}
}
