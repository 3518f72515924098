package webserver

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Awaited knows whether somebody waits for a server's answer. It serves a process that
// otherwise gives way to other programs: it asks from a thread that does not.
// The zero value is ready; Options has it.
type Awaited struct {
	mu      sync.Mutex // guards the rest
	sockets map[any]syscall.RawConn
	begun   map[net.Conn]bool // connections that have not asked yet, among them those shaking hands
	running int               // requests
}

// Anybody reports whether there is a connection to accept, a request to read, or one that
// is being answered. It never waits.
func (a *Awaited) Anybody() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running > 0 || len(a.begun) > 0 {
		return true
	}
	var fds []unix.PollFd
	for _, c := range a.sockets {
		_ = c.Control(func(fd uintptr) { // one that is closed has nobody
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		})
	}
	n, err := unix.Poll(fds, 0)
	return n > 0 && err == nil
}

// listens is told of the listener.
func (a *Awaited) listens(ln net.Listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(ln, ln)
}

// add remembers the socket behind a listener or connection.
func (a *Awaited) add(key, socket any) {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		if a.sockets == nil {
			a.sockets = map[any]syscall.RawConn{}
		}
		a.sockets[key] = raw
	}
}

// state is for http.Server.ConnState.
func (a *Awaited) state(conn net.Conn, s http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch s {
	case http.StateNew:
		var socket any = conn
		if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
			socket = t.NetConn()
		}
		a.add(conn, socket)
		if a.begun == nil {
			a.begun = map[net.Conn]bool{}
		}
		a.begun[conn] = true
	case http.StateActive, http.StateIdle:
		delete(a.begun, conn)
	case http.StateHijacked, http.StateClosed:
		delete(a.begun, conn)
		delete(a.sockets, conn)
	}
}

// count is a handler that counts the requests that are being answered. Those for a stream
// of events are not: they are open for as long as the client is there.
func (a *Awaited) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			a.run(1)
			defer a.run(-1)
		}
		next.ServeHTTP(w, r)
	})
}

func (a *Awaited) run(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running += n
}
