// Package dashboard is the page for browsers. It is built from web/ by "make web", which
// commits it to dist/, and shows what the node API answers: there is no logic on data here.
package dashboard

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

//go:embed dist
var files embed.FS

// policy allows the page its own files and nothing else: no request leaves the server that
// it came from, no script stands in it, and no other page frames it. Charts place their
// parts with style properties, which it does not concern.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at / and leaves all that is not of it to api.
func Handler(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := file(r)
		if !ok {
			api.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
			return
		}
		body, err := files.ReadFile(name)
		if err != nil { // file has seen it
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // another version may be started at the same address
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	})
}

// Public reports whether a request is for a file of the page. They hold no data, so that
// they can be had without a token: the page asks for it.
func Public(r *http.Request) bool {
	_, ok := file(r)
	return ok
}

// file is the embedded file that a request is for.
func file(r *http.Request) (string, bool) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if path == "" {
		path = "index.html"
	}
	name := "dist/" + path
	if !fs.ValidPath(name) {
		return "", false
	}
	info, err := fs.Stat(files, name)
	return name, err == nil && !info.IsDir()
}
