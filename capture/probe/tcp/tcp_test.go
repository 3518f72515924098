package tcp_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/testnet"
)

// A shell talks to a server over a wire: what the wire loses is sent again, what it
// delays is a spike, and a port where nobody listens refuses.
func TestConnectionProblemsAreRecorded(t *testing.T) {
	kerneltest.Require(t)
	w := testnet.New(t, nil)
	var l net.Listener
	w.Far(func() (err error) { l, err = net.Listen("tcp4", testnet.FarAddress+":0"); return err })
	t.Cleanup(func() { l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for s := bufio.NewScanner(c); s.Scan(); {
			switch s.Text() {
			case "lose":
				w.Drop.Store(1)
			case "delay":
				w.Delay.Store(int64(60 * time.Millisecond))
			}
			fmt.Fprintln(c, "answer")
		}
	}()

	tr, err := probe.Open(probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	script := fmt.Sprintf(`read line
say() { echo $1 >&3; read answer <&3; }
exec 3<>/dev/tcp/10.9.0.2/%d
say hello; say hello; say lose; say lost; say hello; say delay; say late
(exec 4<>/dev/tcp/10.9.0.2/9) 2>/dev/null
exec sleep 5`, port)
	shell := exec.Command("bash", "-c", script)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.Near(shell.Start)
	t.Cleanup(func() { shell.Process.Kill(); shell.Wait() })
	if err := tr.Adopt(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)

	seen := map[event.Op]event.Connection{}
	var r probe.Records
	for end := time.Now().Add(8 * time.Second); len(seen) < 3 &&
		time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		tr.Drain(&r, 1<<30)
		for _, c := range r.Connections {
			have, ok := seen[c.Op]
			// a busy machine has spikes of its own, before ours
			if ok && (c.Op != event.OpTCPSpike || c.Duration <= have.Duration) {
				continue
			}
			if c.Remote == [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 9, 15: 2} {
				seen[c.Op] = c
			}
		}
	}
	pid := uint32(shell.Process.Pid)
	for op, right := range map[event.Op]func(c event.Connection) bool{
		event.OpTCPRetransmit: func(c event.Connection) bool {
			return c.PID == pid && int(c.RemotePort) == port && c.State == 1 && c.Bytes >= 5 && c.Retrans >= 1 && c.Inode != 0 &&
				c.MinRTT > 0
		},
		event.OpTCPSpike: func(c event.Connection) bool {
			return c.PID == pid && int(c.RemotePort) == port && c.Duration > 55e6 && c.Duration < 500e6 && c.MinRTT < 20_000 &&
				c.Retrans >= 1
		},
		event.OpTCPConnectFailed: func(c event.Connection) bool {
			return c.PID != pid && c.PID != 0 && c.RemotePort == 9 && c.Error == int32(unix.ECONNREFUSED) && c.Duration > 50_000
		},
	} {
		c, ok := seen[op]
		if !ok || !right(c) || c.Comm != "bash" || c.LocalPort == 0 ||
			c.LocalEndpoint() != fmt.Sprintf("10.9.0.1:%d", c.LocalPort) {
			t.Errorf("%s: seen %v, %+v", op, ok, c)
		}
	}
	if n, err := tr.Losses(); err != nil || n[event.LostConnection] != 0 {
		t.Errorf("%d lost, %v", n[event.LostConnection], err)
	}
}

// A connection over IPv6 that is refused has its addresses.
func TestRefusedConnectionsOverIPv6AreRecorded(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		kerneltest.Lacks(t, "no IPv6: "+err.Error())
	}
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	l.Close() // nobody listens there now
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("exec 2>/dev/null 3<>/dev/tcp/::1/%d", port), probe.Options{})
	begin()
	local := netip.IPv6Loopback().As16()
	r := probetest.Drained(t, tr, func(r *probe.Records) bool {
		return slices.ContainsFunc(r.Connections,
			func(c event.Connection) bool { return c.RemotePort == port && c.Remote == local })
	})
	for _, c := range r.Connections {
		if c.RemotePort == port && (c.Op != event.OpTCPConnectFailed || c.Error != int32(unix.ECONNREFUSED) ||
			c.Local != local || c.LocalPort == 0 || int(c.PID) != shell.Process.Pid) {
			t.Errorf("%+v", c)
		}
	}
}
