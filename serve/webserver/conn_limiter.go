package webserver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connLimiter bounds the number of connections. When there are too many, the one that has
// done nothing for longest makes room: a peer that opens many and asks nothing keeps nobody
// else out.
type connLimiter struct {
	max int

	mu    sync.Mutex // guards the rest, and what is in it
	conns map[net.Conn]*guest
}

// guest is one connection.
type guest struct {
	connLimiter *connLimiter
	running     int       // requests that were let in and are being handled
	asked       bool      // there was one
	since       time.Time // of the last one's end
}

type guestKey struct{}

// context is for http.Server.ConnContext: a connection begins.
func (c *connLimiter) context(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = map[net.Conn]*guest{}
	}
	if len(c.conns) >= c.max {
		out := c.longestIdle()
		if out == nil { // everybody is being served
			go conn.Close() //nolint:errcheck // as below
			return ctx
		}
		delete(c.conns, out)
		go out.Close() //nolint:errcheck // TLS says good-bye first, which may take a while
	}
	g := &guest{connLimiter: c, since: time.Now()}
	c.conns[conn] = g
	return context.WithValue(ctx, guestKey{}, g)
}

// state is for http.Server.ConnState: a connection ends.
func (c *connLimiter) state(conn net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, conn)
	}
}

// longestIdle is the connection that has been without a request for longest, nil if
// there is none.
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

// closeUnused closes those connections that never asked anything. http.Server would wait
// some seconds for them to.
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
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		return func() {}
	}
	g.add(1)
	return func() { g.add(-1) }
}

func (g *guest) add(n int) {
	g.connLimiter.mu.Lock()
	defer g.connLimiter.mu.Unlock()
	g.running += n
	g.asked = true
	g.since = time.Now()
}
