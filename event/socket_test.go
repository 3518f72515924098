package event_test

import (
	"net/netip"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestSocketsIdentifyTheServer(t *testing.T) {
	tcp := func(local uint16, remote string) event.Socket {
		a := netip.MustParseAddrPort(remote)
		return event.Socket{Kind: event.SocketTCP, LocalPort: local, Remote: a.Addr().As16(), RemotePort: a.Port()}
	}
	for name, c := range map[string]struct {
		socket                event.Socket
		serves, known, remote bool
		end                   string
	}{
		"client":             {tcp(40000, "10.0.0.7:5432"), false, true, true, "10.0.0.7:5432"},
		"server":             {tcp(8000, "10.0.0.7:50000"), true, true, true, "10.0.0.7:50000"},
		"server, same host":  {tcp(8000, "127.0.0.1:50000"), true, true, false, "127.0.0.1:50000"},
		"both ports by luck": {tcp(40000, "[::1]:50000"), false, false, false, "[::1]:50000"},
		"accepted unix":      {event.Socket{Kind: event.SocketUnix, Bound: true}, true, true, false, ""},
		"socket pair":        {event.Socket{Kind: event.SocketUnix}, false, false, false, ""},
		"none":               {event.Socket{}, false, false, false, ""},
	} {
		serves, known := c.socket.Serves()
		if serves != c.serves || known != c.known || c.socket.IsRemote() != c.remote || c.socket.Endpoint() != c.end {
			t.Errorf("%s: serves %v, known %v, remote %v, other end %q", name, serves, known, c.socket.IsRemote(),
				c.socket.Endpoint())
		}
	}
}
