package webserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The reasons why a body was not read.
var (
	ErrTooLarge   = errors.New("the request is too long")
	ErrIncomplete = errors.New("the request did not arrive in full")
)

// Body reads a request's whole body into memory, so that a peer that sends slowly holds only its
// connection.
func Body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, ErrTooLarge
	case err != nil:
		return nil, ErrIncomplete
	}
	return body, nil
}

// Begin marks a request's connection as in use until the result is called. Meanwhile it is not
// closed to make room for another one.
func Begin(w http.ResponseWriter, r *http.Request) (end func()) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not supported in tests
	return working(r.Context())
}

// Busy answers that the server is overloaded.
func Busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
