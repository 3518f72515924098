// Package socket receives the labels of programs at a Unix socket. It has no goroutine and never
// blocks: the owner of a Server calls Poll, which reads what has arrived within limits. What it
// refuses, it counts.
//
// Reading in Poll, and not beside it, gives an order: a label that a program sent before a call is
// returned by the Poll that comes after the call was drained from the kernel's ring, or by an earlier one.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/lib/unixsocket"
)

// The limits. Those of a single line are in package label.
const (
	MaxConns     = 256
	MaxProcesses = 1024    // that have labels at a time
	LinesOfConn  = 1000    // in a second
	BytesOfConn  = 1 << 20 // in a second
	MaxLabels    = 10_000  // of all connections together, in a second

	// Of a user who is neither root nor the tracer's.
	MaxConnsOfUser     = 64
	MaxProcessesOfUser = 256
	LinesOfUser        = 5_000 // in a second
	BytesOfUser        = 4 << 20

	backlog    = 64
	maxLookups = 256                 // of processes in /proc, in a second
	maxAhead   = uint64(time.Minute) // by which a label may be ahead of the clock
	chunkSize  = 64 << 10
)

// Options are the settings of a Server.
type Options struct {
	Path string // of the socket; empty: Path(Home)
	Home string // of the tracing user
	Proc proc.FS
	Now  func() time.Time // nil: time.Now
}

// Server receives labels. It is used by one goroutine.
type Server struct {
	path    string
	ino     uint64 // of the socket's file
	opts    Options
	uid     uint32 // of the tracing user
	fd      int
	epoll   int
	conns   map[int]*conn
	users   map[uint32]*user // that have connections
	procs   map[uint32]*process
	pidfds  map[int]*process
	second  uint64 // in progress
	labels  int    // in it
	lookups int    // in it
	refused Refused
	chunk   []byte
	out     []event.Label
}

// Refused counts what was refused, in lines but for Connections.
type Refused struct {
	Malformed   uint64 // too long, no JSON, or beyond a limit of a line
	NotAllowed  uint64 // about a process that is not the sender's
	TooMany     uint64 // beyond a limit of a second, or about too many processes
	Unsent      uint64 // that programs said they could not send
	Connections uint64
}

// Total is all that was refused.
func (r *Refused) Total() uint64 {
	return r.Malformed + r.NotAllowed + r.TooMany + r.Unsent + r.Connections
}

// Listen begins to listen. The error says what to do.
func Listen(o Options) (*Server, error) {
	if o.Path == "" {
		o.Path = Path(o.Home)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{
		path: o.Path, opts: o, uid: uint32(os.Geteuid()), fd: -1, epoll: -1, conns: map[int]*conn{},
		users: map[uint32]*user{}, procs: map[uint32]*process{}, pidfds: map[int]*process{}, chunk: make([]byte, chunkSize),
	}
	if err := s.listen(); err != nil {
		_ = s.Close() // what was opened so far
		return nil, s.mistake(err)
	}
	return s, nil
}

func (s *Server) listen() (err error) {
	if err = makeFolder(s.path, s.opts.Home); err != nil {
		return err
	}
	if s.fd, err = unixsocket.Bind(s.path, mode()); err != nil {
		return err
	}
	if s.ino, err = unixsocket.Inode(s.path); err != nil {
		return err
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	return s.watch(s.fd)
}

// mistake adds what to do to an error.
func (s *Server) mistake(err error) error {
	next := "choose another path: --annotate=PATH"
	switch {
	case errors.Is(err, unixsocket.ErrInUse):
		next = "stop that tracer, or choose another path for this one (--annotate=PATH) and give it to the programs " +
			"in $" + PathEnv
	case errors.Is(err, fs.ErrNotExist):
		next = "make its folder first, or choose another path: --annotate=PATH"
	}
	return fmt.Errorf("listen for labels at %s: %w; %s", s.path, err, next)
}

// Path is where the server listens.
func (s *Server) Path() string { return s.path }

// Refused is what was refused since the start.
func (s *Server) Refused() Refused { return s.refused }

// watch makes a descriptor one that wait reports.
func (s *Server) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Poll appends the labels that have arrived to a list, in order of arrival on each connection.
// It does not wait.
func (s *Server) Poll(to []event.Label) []event.Label {
	if s.epoll < 0 {
		return to
	}
	s.out = to
	now := uint64(s.opts.Now().UnixNano())
	if at := now / uint64(time.Second); at != s.second {
		s.second, s.labels, s.lookups = at, 0, 0
		for _, u := range s.users {
			u.lines, u.bytes = 0, 0
		}
	}
	var ready [MaxConns + MaxProcesses + 1]unix.EpollEvent // all, so that nobody can keep others out
	n, err := unix.EpollWait(s.epoll, ready[:], 0)
	if err != nil {
		n = 0 // interrupted: the next time
	}
	var ended []*process
	for _, e := range ready[:n] {
		fd := int(e.Fd)
		switch {
		case fd == s.fd:
			s.accept(now)
		case s.conns[fd] != nil:
			s.readConn(s.conns[fd], now)
		case s.pidfds[fd] != nil:
			ended = append(ended, s.pidfds[fd])
		}
	}
	for _, p := range ended { // after what they sent
		s.end(p, now)
	}
	to, s.out = s.out, nil
	return to
}

// accept takes the waiting connections. What was written to one before is read at the next Poll.
func (s *Server) accept(now uint64) {
	for range backlog {
		fd, _, err := unix.Accept4(s.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			return // none is left; of another error, such as too many files, the next one will be told
		}
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil || !s.room(cred.Uid) || s.watch(fd) != nil {
			s.refused.Connections++
			unix.Close(fd)
			continue
		}
		u := s.users[cred.Uid]
		if u == nil {
			u = &user{trusted: s.trusts(cred.Uid)}
			s.users[cred.Uid] = u
		}
		u.conns++
		c := &conn{fd: fd, user: u, peer: event.LabelSender{PID: uint32(cred.Pid), UID: cred.Uid, GID: cred.Gid}}
		if st, err := s.opts.Proc.StartTime(int(cred.Pid)); err == nil {
			c.started = st
		}
		s.conns[fd] = c
		s.readConn(c, now)
	}
}

// room reports whether a user may have another connection.
func (s *Server) room(uid uint32) bool {
	if len(s.conns) >= MaxConns {
		return false
	}
	u := s.users[uid]
	return u == nil || u.trusted || u.conns < MaxConnsOfUser
}

// user is a user that has connections.
type user struct {
	trusted      bool // may label any process, and has no limits but those of all
	conns        int
	lines, bytes int // in the second in progress
}

// trusts reports whether a user may label any process.
func (s *Server) trusts(uid uint32) bool { return uid == 0 || uid == s.uid }

// close ends a connection.
func (s *Server) close(c *conn) {
	unix.Close(c.fd)
	delete(s.conns, c.fd)
	if c.user.conns--; c.user.conns == 0 {
		delete(s.users, c.peer.UID)
	}
}

// Close ends all connections and removes the socket. It is safe to call twice.
func (s *Server) Close() error {
	for _, c := range s.conns {
		s.close(c)
	}
	for fd := range s.pidfds {
		unix.Close(fd)
	}
	clear(s.pidfds)
	clear(s.procs)
	if s.epoll >= 0 {
		unix.Close(s.epoll)
	}
	if s.fd >= 0 {
		unix.Close(s.fd)
		unixsocket.Remove(s.path, s.ino)
	}
	s.epoll, s.fd = -1, -1
	return nil
}
