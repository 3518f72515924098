package webserver

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Requests knows whether a server has requests to answer. A process that runs at idle priority
// asks it from a thread that does not. The zero value is ready; pass it in Options.
type Requests struct {
	mu      sync.Mutex // guards the rest
	sockets map[any]syscall.RawConn
	begun   map[net.Conn]bool // connections without a request so far, including those in a handshake
	running int               // requests
}

// Pending reports whether there is a connection to accept, a request to read, or one that
// is being answered. It never blocks.
func (a *Requests) Pending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running > 0 || len(a.begun) > 0 {
		return true
	}
	var fds []unix.PollFd
	for _, c := range a.sockets {
		_ = c.Control(func(fd uintptr) { // a closed one has none
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		})
	}
	n, err := unix.Poll(fds, 0)
	return n > 0 && err == nil
}

// addListener watches for connections to accept.
func (a *Requests) addListener(ln net.Listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addSocket(ln, ln)
}

// addSocket keeps the socket behind a listener or connection.
func (a *Requests) addSocket(key, socket any) {
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
func (a *Requests) state(conn net.Conn, s http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch s {
	case http.StateNew:
		var socket any = conn
		if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
			socket = t.NetConn()
		}
		a.addSocket(conn, socket)
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

// counting counts the requests that are being answered. Event streams are not counted: they
// stay open until the client leaves.
func (a *Requests) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			a.addRunning(1)
			defer a.addRunning(-1)
		}
		next.ServeHTTP(w, r)
	})
}

func (a *Requests) addRunning(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running += n
}
