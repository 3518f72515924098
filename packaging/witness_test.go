package packaging_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sockets are what the witness recorded, with the program that the process ran when it began to use the socket.
const sockets = `select coalesce(b.path, s.comm) as path, coalesce(b.args, '') as args, s.family, coalesce(s.role, '') as role,
  coalesce(s.remote, '') as remote, coalesce(s.remote_port, 0) as remote_port, coalesce(s.local_port, 0) as local_port
from sockets s left join programs b on b.pid = s.pid and b.timestamp =
  (select max(timestamp) from programs where pid = s.pid and timestamp <= s.timestamp)`

// socket is a row of it.
type socket struct {
	Path, Args   string // of the program
	Family, Role string
	Remote       string
	RemotePort   int `json:"remote_port"`
	LocalPort    int `json:"local_port"`
}

// byDefault are the ports at which programs listen that are not told another one: their --help says so.
var byDefault = map[string][]int{
	"ingero": {8080}, "ingero-fleet": {4318}, "ingero-echo": {4317, 4318, 8080, 8081}, "straggler-sink": {9464},
}

// judge says what programs did with sockets that their command lines do not name, to what they connected because they
// were told to, and at which ports they listened. Programs of the system are left out; every other one counts.
func judge(rows []socket) (bad, told, listening []string) {
	add := func(list *[]string, what string) {
		if !slices.Contains(*list, what) {
			*list = append(*list, what)
		}
	}
	for _, s := range rows {
		if of := filepath.Dir(s.Path); slices.Contains([]string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"}, of) {
			continue
		}
		name := filepath.Base(s.Path)
		switch to := s.to(); {
		case s.Role == "accept":
		case s.Role == "listen" && s.LocalPort != 0:
			what := fmt.Sprintf("%s %d", name, s.LocalPort)
			add(&listening, what)
			if !slices.Contains(byDefault[name], s.LocalPort) && !strings.Contains(s.Args, fmt.Sprintf(":%d", s.LocalPort)) {
				add(&bad, what)
			}
		case to == "" || s.Role == "listen": // netlink, pairs, addresses in the file system
		case strings.Contains(s.Args, to), to == nameServer && strings.Contains(s.Args, ".example"):
			add(&told, name+" "+to)
		default:
			add(&bad, name+" "+to)
		}
	}
	for _, list := range []([]string){bad, told, listening} {
		slices.Sort(list)
	}
	return bad, told, listening
}

// to is the other end: "192.0.2.1:80", or a path; empty if there is none.
func (s *socket) to() string {
	switch {
	case s.RemotePort != 0:
		return net.JoinHostPort(s.Remote, strconv.Itoa(s.RemotePort))
	case s.Family == "inet" || s.Family == "inet6":
		return ""
	}
	return s.Remote
}

func TestJudge(t *testing.T) {
	const (
		ingero = "/usr/local/bin/ingero"
		trace  = `["ingero","trace","--otlp","grpc://127.0.0.1:4317"]`
	)
	bad, told, listening := judge([]socket{
		{Path: ingero, Args: trace, Family: "inet", Role: "connect", Remote: "127.0.0.1", RemotePort: 4317, LocalPort: 40000},
		{Path: ingero, Args: trace, Family: "inet", Role: "connect", Remote: "127.0.0.1", RemotePort: 4317, LocalPort: 40001},
		{Path: ingero, Args: trace, Family: "inet", Role: "connect", Remote: "127.0.0.1", RemotePort: 4318},
		{Path: ingero, Args: `["ingero","demo"]`, Family: "inet", Role: "connect", Remote: "127.0.0.1", RemotePort: 4317},
		{Path: ingero, Args: trace, Family: "inet", Remote: "192.0.2.9", RemotePort: 53}, // sent without a connection
		{Path: ingero, Args: trace, Family: "inet", Role: "connect", Remote: "192.0.2.53", RemotePort: 53},
		{Path: ingero, Args: `["ingero","query","--nodes","gpu-1.example:8080"]`, Family: "inet", Role: "connect", Remote: "192.0.2.53", RemotePort: 53},
		{Path: ingero, Args: `["ingero","dashboard"]`, Family: "inet6", Role: "listen", LocalPort: 8080},
		{Path: ingero, Args: trace, Family: "inet6", Role: "listen", LocalPort: 9999},
		{Path: ingero, Args: `["ingero","trace","--mcp",":8443"]`, Family: "inet6", Role: "listen", LocalPort: 8443},
		{Path: ingero, Args: trace, Family: "unix", Role: "connect", Remote: "/run/other.sock"},
		{Path: "/usr/local/bin/ingero-fleet", Family: "inet", Role: "accept", Remote: "127.0.0.1", RemotePort: 40000, LocalPort: 4318},
		{Path: ingero, Args: trace, Family: "netlink"},
		{Path: ingero, Args: trace, Family: "inet6", Role: "connect", Remote: "2001:db8::1", RemotePort: 443},
		{Path: "/usr/bin/curl", Family: "inet", Role: "connect", Remote: "127.0.0.1", RemotePort: 8080},
		{Path: "child", Family: "inet", Role: "connect", Remote: "192.0.2.9", RemotePort: 80}, // began no program of its own
	})
	for _, c := range []struct{ got, want []string }{
		{bad, []string{
			"child 192.0.2.9:80", "ingero /run/other.sock", "ingero 127.0.0.1:4317", "ingero 127.0.0.1:4318", "ingero 192.0.2.53:53",
			"ingero 192.0.2.9:53", "ingero 9999", "ingero [2001:db8::1]:443",
		}},
		{told, []string{"ingero 127.0.0.1:4317", "ingero 192.0.2.53:53"}},
		{listening, []string{"ingero 8080", "ingero 8443", "ingero 9999"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
