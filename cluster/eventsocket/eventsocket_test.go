package eventsocket_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/eventsocket"
	"github.com/ingero-io/ingero/cluster/wire"
)

func listen(t *testing.T, o eventsocket.Options) *eventsocket.Server {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "s")
	}
	s, err := eventsocket.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, s *eventsocket.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// lines reads the ids of the next n events; "!" marks a resolved one.
func lines(t *testing.T, r *bufio.Reader, n int) (list []string) {
	t.Helper()
	for range n {
		l, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %v: %v", list, err)
		}
		e, err := wire.ParseEvent(l)
		if err != nil {
			t.Fatal(err)
		}
		id := e.ID
		if e.Resolved {
			id += "!"
		}
		list = append(list, id)
	}
	return list
}

func event(id string, resolved bool) *wire.Event {
	kind := wire.EventStraggler
	if resolved {
		kind = wire.EventResolved
	}
	return &wire.Event{Type: kind, Node: "n", Cluster: "c", At: time.Unix(1, 0), ID: id, Resolved: resolved}
}

func send(t *testing.T, s *eventsocket.Server, e *wire.Event) {
	t.Helper()
	if err := s.Send(e); err != nil {
		t.Fatal(err)
	}
}

// readers waits until the server has n readers.
func readers(t *testing.T, s *eventsocket.Server, n int) {
	t.Helper()
	for range 2000 {
		if s.Counts().Readers == n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%+v, want %d readers", s.Counts(), n)
}

func TestReadersGetEvents(t *testing.T) {
	s := listen(t, eventsocket.Options{})
	send(t, s, event("a", false))
	send(t, s, event("b", false))
	send(t, s, event("a", true))
	first := bufio.NewReader(dial(t, s)) // a has ended
	if got := fmt.Sprint(lines(t, first, 1)); got != "[b]" {
		t.Errorf("a new reader gets %s", got)
	}
	second := bufio.NewReader(dial(t, s))
	lines(t, second, 1)
	send(t, s, event("c", false))
	send(t, s, event("b", true))
	for _, r := range []*bufio.Reader{first, second} {
		if got := fmt.Sprint(lines(t, r, 2)); got != "[c b!]" {
			t.Errorf("got %s", got)
		}
	}
	send(t, s, event("d", false))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(lines(t, first, 1)); got != "[d]" {
		t.Errorf("at the end: %s", got)
	}
	if _, err := os.Lstat(s.Path()); err == nil {
		t.Error("the socket is still there")
	}
}

// A reader that does not read delays neither the sender nor other readers, and never gets a line after a partial one.
func TestASlowReader(t *testing.T) {
	s := listen(t, eventsocket.Options{})
	slow := dial(t, s)
	fast := bufio.NewReader(dial(t, s))
	readers(t, s, 2)
	const n = 3000
	long := strings.Repeat("x", 200)
	for i := range n {
		e := event(fmt.Sprint(i), true)
		e.Mode = long
		send(t, s, e)
		if got := fmt.Sprint(lines(t, fast, 1)); got != fmt.Sprintf("[%d!]", i) {
			t.Fatalf("%s, want %d", got, i)
		}
	}
	c := s.Counts()
	if c.Events != n || c.Dropped == 0 {
		t.Errorf("%+v: this tests nothing, or drops are not counted", c)
	}
	go s.Close()
	last, r := -1, bufio.NewReader(slow)
	for {
		l, err := r.ReadBytes('\n')
		if err != nil {
			break // a line sent in part ends the connection
		}
		e, err := wire.ParseEvent(l)
		if err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		var id int
		if _, err := fmt.Sscan(e.ID, &id); err != nil || id <= last {
			t.Fatalf("%s after %d", e.ID, last)
		}
		last = id
	}
	if last < 0 {
		t.Error("the slow reader got nothing")
	}
}

func TestReadersAreLimited(t *testing.T) {
	s := listen(t, eventsocket.Options{})
	for range 16 {
		dial(t, s)
	}
	readers(t, s, 16)
	c := dial(t, s)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("one more reader is not refused")
	}
	if got := s.Counts(); got.Refused != 1 || got.Readers != 16 {
		t.Errorf("%+v", got)
	}
}

func TestTheSocketIsForItsUserOrAGroup(t *testing.T) {
	for group, want := range map[string]os.FileMode{"": 0o700, fmt.Sprint(os.Getgid()): 0o770} {
		s := listen(t, eventsocket.Options{Group: group})
		info, err := os.Lstat(s.Path())
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("group %q: %v, %v", group, info.Mode(), err)
		}
		if _, err := eventsocket.Listen(eventsocket.Options{Path: s.Path()}); err == nil {
			t.Error("a second one listens at the same path")
		}
	}
	if _, err := eventsocket.Listen(eventsocket.Options{
		Path: filepath.Join(t.TempDir(), "s"), Group: "no such group",
	}); err == nil || !strings.Contains(err.Error(), "no such group") {
		t.Errorf("an unknown group: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := eventsocket.Listen(eventsocket.Options{Path: file}); err == nil {
		t.Error("a file is replaced")
	}
}
