package webserver

import (
	"net/http"
	"time"
)

// deadlineWriter limits how long a write may take, so that a peer that does not read
// cannot hold memory for ever.
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

// limit sets the deadline and returns the function that clears it: a stream may be silent for
// long between two events.
func (p *deadlineWriter) limit() func() {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not supported in tests
	return func() { _ = p.rc.SetWriteDeadline(time.Time{}) }
}
