package event

import "net/netip"

// Connection is an event of a TCP connection. Thread is the thread that opened it or
// waits on it, if known.
type Connection struct {
	At       uint64 // Unix ns
	Duration uint64 // ns: how long connecting was tried before it failed, or the round trip
	Thread
	Comm       string
	Op         Op       // tcp_retransmit, tcp_connect_failed, tcp_rtt_spike
	Local      [16]byte // IPv4 mapped into IPv6
	Remote     [16]byte
	LocalPort  uint16
	RemotePort uint16
	State      uint8  // TCP_ESTABLISHED is 1, TCP_SYN_SENT 2: the kernel's tcp_states.h
	Error      int32  // errno of a failed connect; 0 if it was given up
	Bytes      uint32 // of the segment that was sent again
	Retrans    uint32 // segments of the connection sent again so far
	RTT        uint32 // smoothed round trip, us
	MinRTT     uint32 // minimum round trip of the last minutes, us; 0 none yet
	Inode      uint64 // of the socket
}

// Endpoint is the other end as "10.0.0.7:5432".
func (c *Connection) Endpoint() string {
	return netip.AddrPortFrom(netip.AddrFrom16(c.Remote).Unmap(), c.RemotePort).String()
}

// LocalEndpoint is this end.
func (c *Connection) LocalEndpoint() string {
	return netip.AddrPortFrom(netip.AddrFrom16(c.Local).Unmap(), c.LocalPort).String()
}

// tcpStates are the names of the kernel's tcp_states.h.
var tcpStates = [...]string{
	"", "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close", "close_wait",
	"last_ack", "listen", "closing", "new_syn_recv",
}

// TCPState names a state of a TCP connection; empty if the number is unknown.
func TCPState(n uint8) string {
	if int(n) < len(tcpStates) {
		return tcpStates[n]
	}
	return ""
}

// HostMemory is how a process used the host's memory in one second.
type HostMemory struct {
	At          uint64 // Unix ns, end of the second
	PID         uint32
	MinorFaults uint64 // pages it was given, or found in the page cache, without waiting
	MajorFaults uint64 // pages that it had to wait for while they were read
	RSS         uint64 // bytes of memory it holds
	Private     uint64 // bytes of that which are not of a file or shared; 0: not known
	Swap        uint64 // bytes of its memory that are swapped out
}
