package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/ingest"
)

// If an address is in use, the error names the flag that has another one.
func TestAnAddressInUseNamesItsFlag(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	flags := []string{"--otlp-addr", "--otlp-http-addr", "--mcp-addr", "--health-addr"}
	for _, used := range flags {
		args := []string{"serve", "--db-path", filepath.Join(t.TempDir(), "echo.db")}
		for _, flag := range flags {
			at := "127.0.0.1:0"
			if flag == used {
				at = l.Addr().String()
			}
			args = append(args, flag, at)
		}
		var errs strings.Builder
		code := run(t.Context(), args, io.Discard, &errs, func(string) string { return "" })
		if code != exitFailure || !strings.Contains(errs.String(), "already in use; give another "+used+"\n") {
			t.Errorf("%s: exit code %d: %s", used, code, &errs)
		}
	}
}

// endless is a listener to which peers connect at once, as often as it accepts them.
type endless struct {
	mu       sync.Mutex
	peers    []net.Conn // of the accepted connections
	accepted chan struct{}
	end      chan struct{}
	once     sync.Once
}

// Accept implements net.Listener.
func (l *endless) Accept() (net.Conn, error) {
	select {
	case l.accepted <- struct{}{}:
	case <-l.end:
		return nil, net.ErrClosed
	}
	peer, conn := net.Pipe()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peers = append(l.peers, peer)
	return conn, nil
}

// Close implements net.Listener.
func (l *endless) Close() error { l.once.Do(func() { close(l.end) }); return nil }

// Addr implements net.Listener.
func (l *endless) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// There are only so many connections over gRPC at a time. When one ends, there is room for another.
func TestConnectionsOverGRPCAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		l := &endless{accepted: make(chan struct{}, 2*maxConnections), end: make(chan struct{})}
		in := ingest.New(ingest.Options{Tokens: &access.Tokens{}})
		var log strings.Builder
		ended := make(chan error, 1)
		go func() {
			ended <- (&serveFlags{}).overGRPC(ctx, l, &settings{logger: slog.New(slog.NewTextHandler(&log, nil))}, in)
		}()
		synctest.Wait()
		if n := len(l.accepted); n != maxConnections {
			t.Errorf("%d connections", n)
		}
		if err := l.peers[0].Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(l.accepted); n != maxConnections+1 {
			t.Errorf("after one ended: %d connections", n)
		}
		stop()
		for _, peer := range l.peers {
			_ = peer.Close()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "no more connections over gRPC are taken until one ends"); n != 1 {
			t.Errorf("the log says it %d times: %s", n, &log)
		}
	})
}

// The log says again that there are too many connections, but not more than once a minute.
func TestTooManyConnectionsAreInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		inner := &endless{accepted: make(chan struct{}, 10), end: make(chan struct{})}
		l := limited(inner, 2, slog.New(slog.NewTextHandler(&log, nil)))
		for i, want := range []int{0, 1, 1, 2, 2} { // lines after each connection, of which the third and later ones wait
			if i == 3 {
				time.Sleep(tellEvery) // of virtual time
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(log.String(), "connections=2"); n != want {
				t.Errorf("after connection %d: %d lines; want %d", i+1, n, want)
			}
			if i > 0 {
				_ = c.Close()
				_ = c.Close() // counts once
			}
		}
	})
}
