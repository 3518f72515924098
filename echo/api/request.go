package api

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
)

// requestID is the header with the id of a request in the log.
const requestID = "X-Request-Id"

// maxID is the greatest length of a caller's id.
const maxID = 128

// idOf returns the caller's id if it is fit for a log, otherwise a random one.
func idOf(r *http.Request) string {
	id := r.Header.Get(requestID)
	visible := !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' })
	if id != "" && len(id) <= maxID && visible {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
