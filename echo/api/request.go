package api

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
)

// requestID is the header by which a request can be found again in the log.
const requestID = "X-Request-Id"

// maxID is how long the id of a caller may be.
const maxID = 128

// idOf is the id that the caller gave, if it can be written into a log; else one of ours.
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
