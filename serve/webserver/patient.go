package webserver

import (
	"net/http"
	"time"
)

// deadlineWriter gives a peer some time to take what is written to it, and no more: one
// that does not read holds what waits to be written.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Unwrap is for http.ResponseController.
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p *deadlineWriter) Write(b []byte) (int, error) {
	defer p.limit()()
	return p.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (p *deadlineWriter) FlushError() error {
	defer p.limit()()
	return p.rc.Flush()
}

// limit sets the deadline until its result is called: between two events a stream may
// be silent for long.
func (p *deadlineWriter) limit() func() {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // no deadline, no harm: in tests
	return func() { _ = p.rc.SetWriteDeadline(time.Time{}) }
}
