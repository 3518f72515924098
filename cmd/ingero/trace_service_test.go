package main

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/agent"
)

func TestSystemdIsNotified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var log bytes.Buffer
	s := newSupervisor(os.Getenv, slog.New(slog.NewTextHandler(&log, nil)))
	s.Second(&agent.Status{Calls: 12_345, PerSecond: 100})
	s.Second(&agent.Status{Calls: 12_445, PerSecond: 100})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"READY=1\nWATCHDOG=1\nSTATUS=12,345 calls, 100/s", "WATCHDOG=1\nSTATUS=12,445 calls, 100/s", "STOPPING=1",
	} {
		b := make([]byte, 1000)
		n, err := l.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("%q, want %q; %v", b[:n], want, err)
		}
	}

	// Nobody listens any more: that is said once, and tracing goes on.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.Second(&agent.Status{})
	s.Second(&agent.Status{})
	if n := strings.Count(log.String(), "systemd could not be notified"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}

func TestWithoutSystemdNothingIsNotified(t *testing.T) {
	if s := newSupervisor(func(string) string { return "" }, slog.New(slog.DiscardHandler)); s != nil {
		t.Error("there is a supervisor without $NOTIFY_SOCKET")
	}
}

// With --quiet there is no line a second, but all that is found.
func TestQuietViewPrintsOnlyWhatIsFound(t *testing.T) {
	var out bytes.Buffer
	v := newLineView(&out, 0, "")
	v.quiet = true
	v.Second(&agent.Status{Elapsed: 5e9, Calls: 1})
	v.print("[HIGH] found")
	if err := v.lines.close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "[HIGH] found\n" {
		t.Errorf("%q", out.String())
	}
}
