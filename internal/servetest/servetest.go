// Package servetest is for tests of programs that serve over HTTP until they are ended.
package servetest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Buffer may be written and read at the same time.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// patience is how long is waited for what a program prints.
const patience = 30 * time.Second

// After waits until a text was written, with the rest of its line, and returns that rest.
func (b *Buffer) After(t testing.TB, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, after, ok := strings.Cut(b.String(), text); ok {
			if line, _, whole := strings.Cut(after, "\n"); whole {
				return line
			}
		}
	}
	t.Fatalf("%q was not printed: %s", text, b)
	return ""
}

// Get asks a URL.
func Get(t testing.TB, url string) (code int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}
