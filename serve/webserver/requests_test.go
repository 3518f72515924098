package webserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/serve/webserver"
)

// eventually waits for what others bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func TestPendingRequestsAreKnown(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, leave, begin := make(chan bool), make(chan bool), make(chan bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- true
		if r.Header.Get("Accept") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		<-leave
	})
	a := &webserver.Requests{}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		<-begin
		served <- webserver.Serve(ctx, &held{ln, begin}, h, nil, webserver.Options{Requests: a})
	}()
	if a.Pending() {
		t.Error("somebody is there before it is served")
	}
	begin <- true

	// One that is not accepted yet, which then asks nothing for now.
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a connection to accept", a.Pending)
	begin <- true // accept it
	eventually(t, "a connection that began", a.Pending)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-inside
	if !a.Pending() {
		t.Error("nobody waits for the answer of a request")
	}
	leave <- true
	eventually(t, "the answer has been given", func() bool { return !a.Pending() })

	// The same connection again, which asks for a stream: nobody waits for its end.
	if _, err := io.WriteString(conn,
		"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a request to read, or one that is being read", func() bool {
		select {
		case <-inside:
			return true
		default:
			return false
		}
	})
	eventually(t, "the stream is open", func() bool { return !a.Pending() })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection is closed", func() bool { return !a.Pending() })
	cancel()
	close(begin)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// held is a listener that accepts when it is released.
type held struct {
	net.Listener
	accept chan bool
}

func (h *held) Accept() (net.Conn, error) {
	<-h.accept
	return h.Listener.Accept()
}

func (h *held) SyscallConn() (c syscall.RawConn, err error) {
	return h.Listener.(*net.TCPListener).SyscallConn()
}
