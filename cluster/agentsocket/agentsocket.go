// Package agentsocket says at a Unix socket what an agent knows of the ranks on its node: who connects gets one
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
	"github.com/ingero-io/ingero/internal/unixsocket"
)

// System is the path of the socket of a tracer that is run by root.
const System = "/run/ingero/straggler-status.sock"

// own is the path below the home folder of another user.
const own = ".ingero/run/straggler-status.sock"

// writeTime is how long a reader may take.
const writeTime = time.Second

// Beside is the path of the socket that belongs to the one for events at a path: /run/x.sock has
// /run/x-status.sock.
func Beside(events string) string { return strings.TrimSuffix(events, ".sock") + "-status.sock" }

// service is the home of the user as which a package's service runs.
const service = "/var/lib/ingero"

// Paths are those at which an agent is looked for: the user's own, and that of root's; for root, also the service's.
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
	Group string // name or number of a group that may ask too; empty: none
}

// Server has the socket.
type Server struct {
	path     string
	inode    uint64
	listener net.Listener
	answer   func() *wire.AgentStatus
	done     sync.WaitGroup
	close    sync.Once
}

// Listen begins to answer. answer is called by one goroutine.
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
		return nil, fmt.Errorf("listen for questions at %s: %w", path, err)
	}
	s.done.Go(s.accept)
	return s, nil
}

// Path is where the server listens.
func (s *Server) Path() string { return s.path }

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many files
			time.Sleep(writeTime / 10)
			continue
		}
		s.write(c)
	}
}

// write answers, and closes the connection. Who does not read waits alone: an answer fits a socket's buffer, or the
// rest of it is not sent.
func (s *Server) write(c net.Conn) {
	defer func() { _ = c.Close() }() // what was not read is lost
	line, err := wire.AppendAgentStatus(nil, s.answer())
	if err != nil || c.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
		return
	}
	_, _ = c.Write(line) // who has gone needs no answer
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

// Ask asks the agent at a path. An error is of the connection, or says that the answer is none.
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
