package main

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// tellEvery is how often the log says at most that there are too many connections.
const tellEvery = time.Minute

// limited is a listener with a limit on open connections. The others wait, and the log says so.
func limited(l net.Listener, most int, logger *slog.Logger) net.Listener {
	return netutil.LimitListener(&counting{Listener: l, most: int64(most), logger: logger}, most)
}

// counting is a listener that counts its open connections. It is not called when there are too many.
type counting struct {
	net.Listener
	most   int64
	logger *slog.Logger
	open   atomic.Int64
	told   time.Time // only one goroutine accepts
}

// Accept implements net.Listener.
func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.open.Add(1) >= l.most && time.Since(l.told) >= tellEvery {
		l.told = time.Now()
		l.logger.Warn("no more connections over gRPC are taken until one ends: send through collectors, "+
			"which have one for many senders", "connections", l.most)
	}
	return &counted{c, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.end()
	return c.Conn.Close()
}
