// Package agentsocket serves, at a Unix socket, what an agent knows of the ranks on its node. Each client gets one
// line of JSON.
package agentsocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/unixsocket"
)

// System is the path of the socket of a tracer that runs as root.
const System = "/run/ingero/straggler-status.sock"

// own is the path of another user's socket, below the home directory.
const own = ".ingero/run/straggler-status.sock"

// writeTime is how long a client may take to read the answer.
const writeTime = time.Second

// Beside returns the path of the status socket that belongs to an event socket: /run/x-status.sock for /run/x.sock.
func Beside(events string) string { return strings.TrimSuffix(events, ".sock") + "-status.sock" }

// service is the home directory of the user that a packaged service runs as.
const service = "/var/lib/ingero"

// Paths returns the paths where an agent may listen: the user's own and root's; for root, also the service's.
func Paths(home string) []string {
	if os.Geteuid() == 0 {
		return []string{System, filepath.Join(service, own)}
	}
	return []string{filepath.Join(home, own), System}
}

// Options of a socket.
type Options struct {
	Path  string // empty: System for root, else below Home
	Home  string // of the user
	Group string // name or number of a group that may connect too; empty: none
}

// Server answers at the socket.
type Server struct {
	path     string
	inode    uint64
	listener net.Listener
	answer   func() *wire.AgentStatus
	done     sync.WaitGroup
	close    sync.Once
}

// Listen starts to answer. answer is called by one goroutine.
func Listen(o Options, answer func() *wire.AgentStatus) (*Server, error) {
	path, folder := o.Path, fs.FileMode(0)
	if path == "" {
		path, folder = Paths(o.Home)[0], 0o700
		if path == System {
			folder = 0o755
		}
	}
	s := &Server{path: path, answer: answer}
	var err error
	s.listener, s.inode, err = unixsocket.Listen(unixsocket.Options{Path: path, Folder: folder, Group: o.Group})
	if err != nil {
		return nil, fmt.Errorf("listen for status requests at %s: %w", path, err)
	}
	s.done.Go(s.accept)
	return s, nil
}

// Path returns the path that the server listens at.
func (s *Server) Path() string { return s.path }

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(writeTime / 10)
			continue
		}
		s.write(c)
	}
}

// write sends the answer and closes the connection. An answer fits a socket's buffer, so a client that does not read
// delays no other one.
func (s *Server) write(c net.Conn) {
	defer func() { _ = c.Close() }() // what the client has not read is discarded
	line, err := wire.AppendAgentStatus(nil, s.answer())
	if err != nil || c.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
		return
	}
	_, _ = c.Write(line) // a client that has gone needs no answer
}

// Close removes the socket. It is safe to call twice.
func (s *Server) Close() (err error) {
	s.close.Do(func() {
		err = s.listener.Close()
		unixsocket.Remove(s.path, s.inode)
		s.done.Wait()
	})
	return err
}

// Ask asks the agent at a path. It returns an error of the connection, or about a malformed answer.
func Ask(ctx context.Context, path string) (*wire.AgentStatus, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing was written
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if err := c.SetReadDeadline(time.Now().Add(2 * writeTime)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(c, wire.MaxAgentStatus+1))
	if err != nil {
		return nil, err
	}
	return wire.ParseAgentStatus(b)
}
