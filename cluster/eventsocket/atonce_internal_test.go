package eventsocket

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A passed deadline says nothing about the reader if this program had no CPU: what can be sent at once is sent. A
// reader that does not read gets no more than fits its buffer.
func TestWhatFitsIsSentAfterTheDeadline(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := &reader{conn: conn}
	line := bytes.Repeat([]byte("x"), 256)
	sent := 0
	for range 1 << 16 {
		if err := conn.SetWriteDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Write(line); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after the deadline %d bytes are sent: %v", n, err)
		}
		n, err := r.atOnce(line)
		sent += n
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	if sent < len(line) || sent == len(line)<<16 {
		t.Errorf("%d bytes are sent to one that does not read", sent)
	}
	if err := peer.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := 0
	for b := make([]byte, 1<<16); got < sent; {
		n, err := peer.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
}
