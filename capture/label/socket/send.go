package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/label"
)

// ErrNoTracer says that no tracer takes labels.
var ErrNoTracer = errors.New("no tracer takes labels")

// Sender is a connection to a tracer.
type Sender struct {
	conn net.Conn
	Path string // of the socket
	UID  uint32 // of the tracer's user
}

// sendTime is how long a tracer may take to have room for a line.
const sendTime = 2 * time.Second

// Dial connects to the tracer at the first of several paths at which one listens.
func Dial(paths []string) (*Sender, error) {
	for _, path := range paths {
		c, err := net.DialTimeout("unix", path, sendTime)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("send labels to %s: %w", path, errors.Unwrap(err))
		}
		s := &Sender{conn: c, Path: path}
		if s.UID, err = tracer(c); err != nil {
			return nil, errors.Join(fmt.Errorf("send labels to %s: %w", path, err), c.Close())
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w at %s; start one with: ingero trace --annotate", ErrNoTracer, strings.Join(paths, " or "))
}

// tracer is the user of the program that listens.
func tracer(c net.Conn) (uid uint32, err error) {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if e := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); e != nil || err != nil {
		return 0, errors.Join(e, err)
	}
	return cred.Uid, nil
}

// Send sends a line.
func (s *Sender) Send(l *label.Line) error {
	b, err := l.Append(nil)
	if err == nil {
		_ = s.conn.SetWriteDeadline(time.Now().Add(sendTime)) // without it, Write may wait longer
		_, err = s.conn.Write(b)
	}
	if err != nil {
		return fmt.Errorf("send labels to %s: %w", s.Path, err)
	}
	return nil
}

// Close ends the connection.
func (s *Sender) Close() error { return s.conn.Close() }
