package webserver

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines notes what deadline there was at each write.
type deadlines struct {
	*httptest.ResponseRecorder
	now     time.Time
	atWrite []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.now = t; return nil }

func (d *deadlines) Write(p []byte) (int, error) {
	d.atWrite = append(d.atWrite, d.now)
	return d.ResponseRecorder.Write(p)
}

func (d *deadlines) FlushError() error {
	d.atWrite = append(d.atWrite, d.now)
	return nil
}

// TestWritesHaveADeadlineButPausesDoNot writes and flushes like a stream of events.
func TestWritesHaveADeadlineButPausesDoNot(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w := &deadlineWriter{d, http.NewResponseController(d)}
	if _, err := w.Write([]byte("event")); err != nil {
		t.Fatal(err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Fatal(err)
	}
	if len(d.atWrite) != 2 || d.atWrite[0].IsZero() || d.atWrite[1].IsZero() {
		t.Errorf("deadlines of a write and a flush: %v", d.atWrite)
	}
	if !d.now.IsZero() {
		t.Errorf("a deadline stays: %v", d.now)
	}
}
