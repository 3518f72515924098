package event

import (
	"fmt"
	"net/netip"
)

// SocketKind is the protocol of a socket, as far as it matters here.
type SocketKind uint8

// The kinds of sockets.
const (
	SocketTCP   SocketKind = 1 + iota
	SocketUnix             // of the same machine
	SocketOther            // UDP, netlink, …
)

var socketNames = [...]string{"", "tcp", "unix", "other"}

// String returns the name used in SQL and text, empty for no socket.
func (k SocketKind) String() string {
	if int(k) < len(socketNames) {
		return socketNames[k]
	}
	return fmt.Sprintf("socket-%d", uint8(k))
}

// SocketByName is the inverse of String.
func SocketByName(name string) (SocketKind, bool) {
	for k, n := range socketNames {
		if n == name {
			return SocketKind(k), true
		}
	}
	return 0, false
}

// Socket is what a thread waited for in a socket call. The zero value is none.
type Socket struct {
	Kind       SocketKind
	LocalPort  uint16 // 0 except for internet sockets
	RemotePort uint16
	Remote     [16]byte // address of the other end, IPv4 mapped into IPv6
	Peer       uint32   // SocketUnix: PID at the other end when it was connected, 0 if unknown
	Bound      bool     // SocketUnix: has an address of its own, as an accepted one has
}

// Addr is the address of the other end, without a zone.
func (s *Socket) Addr() string { return netip.AddrFrom16(s.Remote).Unmap().String() }

// Endpoint is the other end as "10.0.0.7:5432", empty if there is none.
func (s *Socket) Endpoint() string {
	if s.RemotePort == 0 {
		return ""
	}
	return netip.AddrPortFrom(netip.AddrFrom16(s.Remote).Unmap(), s.RemotePort).String()
}

// IsRemote reports whether the other end is known not to be this machine's
// loopback.
func (s *Socket) IsRemote() bool {
	return s.RemotePort != 0 && !netip.AddrFrom16(s.Remote).Unmap().IsLoopback()
}

// ephemeral is the first port that Linux gives to sockets which connect without
// choosing a port (net.ipv4.ip_local_port_range).
const ephemeral = 32768

// Serves reports whether this end was accepted from a listening socket: it has the
// well-known port, or the address. known is false if neither shows it.
func (s *Socket) Serves() (serves, known bool) {
	switch {
	case s.Kind == SocketUnix:
		return s.Bound, s.Bound
	case s.RemotePort == 0 || s.LocalPort == 0:
		return false, false
	}
	own, other := s.LocalPort >= ephemeral, s.RemotePort >= ephemeral
	return other && !own, own != other
}
