package socket

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/label"
	"github.com/ingero-io/ingero/event"
)

// conn is a program's connection.
type conn struct {
	fd      int
	user    *user
	peer    event.LabelSender
	started uint64 // the sender's start time, 0 if it had ended when the connection was taken
	part    []byte // the begin of a line whose rest has not arrived
	skip    bool   // the rest of a line is left out
	second  uint64 // in progress
	lines   int    // that it may still have
	bytes   int    // in it
}

// readConn reads what has arrived on a connection, up to its limit of the second: the rest stays with the
// kernel, and the sender notices that it cannot send more.
func (s *Server) readConn(c *conn, now uint64) {
	if at := now / uint64(time.Second); at != c.second {
		// What was not used of one second may be used in the next one: lines wait while the tracer is behind.
		c.lines = int(min(uint64(c.lines)+LinesOfConn*(at-min(c.second, at)), 2*LinesOfConn))
		c.second, c.bytes = at, 0
	}
	for c.bytes < BytesOfConn && (c.user.trusted || c.user.bytes < BytesOfUser) {
		n, err := unix.Read(c.fd, s.chunk)
		if err == unix.EAGAIN || err == unix.EINTR {
			return
		}
		if n <= 0 { // the end, or an error that ends it
			if len(c.part) > 0 && !c.skip {
				s.line(c, c.part, now)
			}
			s.close(c)
			return
		}
		c.bytes += n
		c.user.bytes += n
		s.split(c, s.chunk[:n], now)
	}
}

// split takes the lines out of what was read.
func (s *Server) split(c *conn, b []byte, now uint64) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		line := b[:i]
		b = b[i+1:]
		if c.skip {
			c.skip = false
			continue
		}
		if len(c.part) > 0 {
			line = append(c.part, line...)
			c.part = line[:0]
		}
		s.line(c, line, now)
	}
	if c.skip {
		return
	}
	c.part = append(c.part, b...)
	if len(c.part) > label.MaxLine {
		s.refused.Malformed++
		c.part, c.skip = nil, true
	}
	if len(c.part) == 0 && cap(c.part) > 1024 {
		c.part = nil // many idle connections take no memory
	}
}

// line handles a line of a connection.
func (s *Server) line(c *conn, line []byte, now uint64) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	c.user.lines++
	if c.lines == 0 || !c.user.trusted && c.user.lines > LinesOfUser {
		s.refused.TooMany++
		return
	}
	c.lines--
	l, err := label.Parse(line)
	if err != nil || l.At > now+maxAhead || l.To > now+maxAhead {
		s.refused.Malformed++
		return
	}
	s.refused.Unsent += min(l.Dropped, maxUnsent)
	if s.labels += len(l.Pairs); s.labels > MaxLabels {
		s.refused.TooMany++
		return
	}
	s.take(c, &l, now)
}

// maxUnsent bounds what a line is believed of how many could not be sent.
const maxUnsent = 1 << 20

// take returns the labels of a line from Poll, but for those that hold already.
func (s *Server) take(c *conn, l *label.Line, now uint64) {
	started, why := s.about(c, l)
	if why != nil {
		*why++
		return
	}
	e := event.Label{
		Arrived: now, Since: l.At, PID: l.PID, StartTime: started, Sender: c.peer,
	}
	if e.PID == 0 {
		e.PID = c.peer.PID
	}
	if e.Since == 0 {
		e.Since = now
	}
	switch {
	case l.IsSpan():
		e.Since, e.Until = l.From, l.To
	case started == 0: // the process has ended
		e.Until = max(now, e.Since+1)
	}
	about := s.procs[e.PID]
	for _, p := range l.Pairs {
		if started != 0 && !l.IsSpan() && about.holds(p.Key, p.Value, e.Since) {
			continue
		}
		e.Key, e.Value = p.Key, p.Value
		s.out = append(s.out, e)
	}
}
