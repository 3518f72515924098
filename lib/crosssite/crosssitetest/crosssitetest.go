// Package crosssitetest has the requests that web pages, users and programs send, to try servers with them.
package crosssitetest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Request is a request, and whether a server at 127.0.0.1:8080 may answer it.
type Request struct {
	About   string
	Allowed bool
	Method  string
	Host    string
	Header  http.Header
}

// own is the server in the file of requests.
const own = "127.0.0.1:8080"

// Requests reads lib/crosssite/testdata/requests.txt.
func Requests(t testing.TB) (list []Request) {
	t.Helper()
	path := inTree(t, "lib/crosssite/testdata/requests.txt")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line, about, _ := strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := Request{
			About: words[1] + strings.TrimRight(about, "\n"), Allowed: words[0] == "allowed", Method: words[1],
			Host: own, Header: http.Header{},
		}
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			if value = strings.ReplaceAll(value, "%20", " "); name == "Host" {
				r.Host = value
				continue
			}
			r.Header.Set(name, value)
		}
		list = append(list, r)
	}
	if len(list) < 20 {
		t.Fatalf("%d requests", len(list))
	}
	return list
}

// inTree is a file of the tree that the test runs in.
func inTree(t testing.TB, name string) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
		if abs, err := filepath.Abs(dir); err != nil || abs == "/" {
			t.Fatalf("%s is not above this folder", name)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Try sends all requests to paths of a handler for programs at 127.0.0.1. Those that must be refused are answered
// with 403, and the others with anything else.
func Try(t *testing.T, h http.Handler, paths ...string) {
	t.Helper()
	for _, path := range paths {
		for _, q := range Requests(t) {
			r := httptest.NewRequest(q.Method, path, nil)
			r.Host, r.Header = q.Host, q.Header
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if (w.Code == http.StatusForbidden) == q.Allowed {
				t.Errorf("%s, %s %v: %d %s", path, q.About, q.Header, w.Code, w.Body)
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" ||
				w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" ||
				w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s, %s: other pages may read the answer: %v", path, q.About, w.Header())
			}
		}
	}
}

// TryAt sends all requests to paths of a server that listens at an address of 127.0.0.1.
func TryAt(t *testing.T, address string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		for _, q := range Requests(t) {
			r, err := http.NewRequestWithContext(t.Context(), q.Method, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Header = q.Header; q.Host != own {
				r.Host = q.Host
			}
			if r.Header.Get("Origin") == "http://"+own {
				r.Header.Set("Origin", "http://"+address)
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if (resp.StatusCode == http.StatusForbidden) == q.Allowed {
				t.Errorf("%s, %s %v: %s", path, q.About, q.Header, resp.Status)
			}
		}
	}
}
