// Package eventsocket sends events, as lines of JSON, to programs that read them at a Unix socket, such as one that
// cordons nodes. A slow reader misses lines; it never delays the tracer.
package eventsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/unixsocket"
)

// System is the path of the socket of a tracer that runs as root.
const System = "/run/ingero/straggler.sock"

// own is the path of another user's socket, below the home directory.
const own = ".ingero/run/straggler.sock"

const (
	// maxReaders is how many readers may be connected.
	maxReaders = 16
	// writeTime is how long a reader may leave a line unread while others wait behind it.
	writeTime = 50 * time.Millisecond
	// waiting is how many lines may wait for a reader; further ones are dropped.
	waiting = 256
	// maxActive is how many ongoing events are kept, to repeat them to new readers.
	maxActive = 1024
)

// Options of a socket.
type Options struct {
	Path  string // empty: System for root, else below Home
	Home  string // of the user
	Group string // name or number of a group that may read too; empty: none
}

// Server sends events at the socket. Its methods may be called by several goroutines.
type Server struct {
	path     string
	inode    uint64
	listener net.Listener
	accepted sync.WaitGroup

	mu      sync.Mutex // guards the rest
	readers map[*reader]bool
	active  map[string][]byte // lines of ongoing events, by type and id
	order   []string          // of active
	counts  Counts
	closed  bool
}

// Counts are totals since the start.
type Counts struct {
	Events  uint64 // sent, with or without a reader
	Dropped uint64 // lines that a reader missed: it was too slow
	Refused uint64 // readers beyond maxReaders
	Readers int    // now
}

type reader struct {
	conn  net.Conn
	lines chan []byte
}

// Listen starts to listen. The error says what to do.
func Listen(o Options) (*Server, error) {
	path, folder := o.Path, fs.FileMode(0)
	switch {
	case path == "" && os.Geteuid() == 0:
		path, folder = System, 0o755
	case path == "":
		path, folder = filepath.Join(o.Home, own), 0o700
	}
	s := &Server{path: path, readers: map[*reader]bool{}, active: map[string][]byte{}}
	var err error
	s.listener, s.inode, err = unixsocket.Listen(unixsocket.Options{Path: path, Folder: folder, Group: o.Group})
	if err != nil {
		next := "choose another path: --events=PATH"
		if errors.Is(err, fs.ErrNotExist) {
			next = "make its folder first, or choose another path: --events=PATH"
		}
		return nil, fmt.Errorf("listen for readers of events at %s: %w; %s", path, err, next)
	}
	s.accepted.Go(s.accept)
	return s, nil
}

// Path returns the path that the server listens at.
func (s *Server) Path() string { return s.path }

// Counts returns totals since the start.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Readers = len(s.readers)
	return c
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(writeTime)
			continue
		}
		s.addClient(c)
	}
}

// addClient connects a reader: it gets the ongoing events first.
func (s *Server) addClient(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.readers) >= maxReaders {
		s.counts.Refused++
		_ = c.Close() // nothing was sent
		return
	}
	r := &reader{conn: c, lines: make(chan []byte, waiting)}
	s.readers[r] = true
	for _, key := range s.order {
		s.give(r, s.active[key])
	}
	s.accepted.Go(func() { s.write(r) })
	s.accepted.Go(func() { s.watch(r) })
}

// give queues a line for a reader, or drops it. mu is held.
func (s *Server) give(r *reader, line []byte) {
	select {
	case r.lines <- line:
	default:
		s.counts.Dropped++
	}
}

// write sends a reader's lines until it has gone. After a line that was sent in part it closes the connection: the
// reader could not parse what follows.
func (s *Server) write(r *reader) {
	defer func() {
		s.remove(r)
		_ = r.conn.Close() // if the server is closed, after the last line
	}()
	for line := range r.lines {
		if err := r.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return
		}
		n, err := r.conn.Write(line)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = r.atOnce(line) // this program itself may have had no CPU
		}
		if err == nil {
			continue
		}
		s.mu.Lock()
		s.counts.Dropped++
		s.mu.Unlock()
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// atOnce sends what can be sent without waiting. If nothing can, the error is os.ErrDeadlineExceeded.
func (r *reader) atOnce(line []byte) (n int, err error) {
	c, ok := r.conn.(syscall.Conn)
	if !ok {
		return 0, os.ErrDeadlineExceeded
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := r.conn.SetWriteDeadline(time.Time{}); err != nil {
		return 0, err
	}
	if waited := raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), line)
		return true
	}); waited != nil {
		return 0, waited
	}
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return 0, os.ErrDeadlineExceeded
	case err == nil && n < len(line):
		return n, os.ErrDeadlineExceeded
	}
	return max(n, 0), err
}

// watch waits until a reader has gone. It ignores what the reader sends.
func (s *Server) watch(r *reader) {
	var b [64]byte
	for {
		if _, err := r.conn.Read(b[:]); err != nil {
			s.remove(r)
			return
		}
	}
}

func (s *Server) remove(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers[r] {
		delete(s.readers, r)
		close(r.lines)
		_ = r.conn.Close() // lines not yet sent are discarded
	}
}

// Send sends an event to all readers. It does not wait for them.
func (s *Server) Send(e *wire.Event) error {
	line, err := wire.AppendEvent(nil, e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Events++
	s.remember(e, line)
	for r := range s.readers {
		s.give(r, line)
	}
	return nil
}

// remember keeps an event that began, and drops one that ended. mu is held.
func (s *Server) remember(e *wire.Event, line []byte) {
	if e.ID == "" {
		return
	}
	if _, known := s.active[e.ID]; known || e.Resolved {
		delete(s.active, e.ID)
		for i, id := range s.order {
			if id == e.ID {
				s.order = append(s.order[:i], s.order[i+1:]...)
				break
			}
		}
	}
	if e.Resolved {
		return
	}
	if len(s.order) >= maxActive {
		delete(s.active, s.order[0])
		s.order = s.order[1:]
	}
	s.active[e.ID] = line
	s.order = append(s.order, e.ID)
}

// Close ends all connections and removes the socket. It is safe to call twice.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for r := range s.readers {
		close(r.lines)
	}
	clear(s.readers)
	s.mu.Unlock()
	err := s.listener.Close()
	unixsocket.Remove(s.path, s.inode)
	s.accepted.Wait()
	return err
}
