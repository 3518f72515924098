package webserver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connLimiter bounds the number of connections. At the limit it closes the one that has been
// idle for longest, so that a peer with many idle connections cannot block others.
type connLimiter struct {
	max int

	mu    sync.Mutex // guards the rest, and what is in it
	conns map[net.Conn]*limitedConn
}

// limitedConn is one connection.
type limitedConn struct {
	connLimiter *connLimiter
	running     int       // requests that are being handled
	asked       bool      // there has been a request
	since       time.Time // when the last request ended, or the connection began
}

type limitedConnKey struct{}

// context is for http.Server.ConnContext: a connection begins.
func (c *connLimiter) context(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = map[net.Conn]*limitedConn{}
	}
	if len(c.conns) >= c.max {
		out := c.longestIdle()
		if out == nil { // all are being served
			go conn.Close() //nolint:errcheck // as below
			return ctx
		}
		delete(c.conns, out)
		go out.Close() //nolint:errcheck // closing TLS sends a message first, which may take a while
	}
	g := &limitedConn{connLimiter: c, since: time.Now()}
	c.conns[conn] = g
	return context.WithValue(ctx, limitedConnKey{}, g)
}

// state is for http.Server.ConnState: a connection ends.
func (c *connLimiter) state(conn net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, conn)
	}
}

// longestIdle is the connection that has had no request for longest, or nil.
func (c *connLimiter) longestIdle() net.Conn {
	var conn net.Conn
	var oldest time.Time
	for n, g := range c.conns {
		if g.running == 0 && (conn == nil || g.since.Before(oldest)) {
			conn, oldest = n, g.since
		}
	}
	return conn
}

// closeUnused closes connections that never sent a request. http.Server would wait for
// one for some seconds.
func (c *connLimiter) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, g := range c.conns {
		if !g.asked {
			go n.Close() //nolint:errcheck // as above
		}
	}
}

// working marks the connection of a request as busy until the result is called.
func working(ctx context.Context) func() {
	g, ok := ctx.Value(limitedConnKey{}).(*limitedConn)
	if !ok {
		return func() {}
	}
	g.addRunning(1)
	return func() { g.addRunning(-1) }
}

func (g *limitedConn) addRunning(n int) {
	g.connLimiter.mu.Lock()
	defer g.connLimiter.mu.Unlock()
	g.running += n
	g.asked = true
	g.since = time.Now()
}
