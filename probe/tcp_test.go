package probe_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/probe"
)

// wire joins two network namespaces, and loses and delays what it is told to.
type wire struct {
	drop  atomic.Int32 // packets with data, from the near to the far end
	delay atomic.Int64 // ns, from the far to the near end
	ends  [2]*os.File
}

var wireAddr = [2][4]byte{{10, 9, 0, 1}, {10, 9, 0, 2}}

// in runs f on a thread in a network namespace of its own with a tunnel, that of the
// given end. The thread ends with the test.
func (w *wire) in(t *testing.T, end int) (run func(f func() error)) {
	t.Helper()
	work, done := make(chan func() error), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range work {
			done <- f()
		}
	}()
	t.Cleanup(func() { close(work) })
	run = func(f func() error) {
		t.Helper()
		work <- f
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	run(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open tunnel: %w", err)
		}
		i, err := unix.NewIfreq("wire0")
		if err != nil {
			return err
		}
		i.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, i); err != nil {
			return fmt.Errorf("make tunnel: %w", err)
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		w.ends[end] = os.NewFile(uintptr(fd), "wire0")
		return up("wire0", wireAddr[end])
	})
	return run
}

// up gives an interface an address in a network of 256, and switches it on.
func up(name string, addr [4]byte) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	for _, step := range []struct {
		request uint
		addr    [4]byte
	}{{unix.SIOCSIFADDR, addr}, {unix.SIOCSIFNETMASK, [4]byte{255, 255, 255, 0}}} {
		i, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := i.SetInet4Addr(step.addr[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(s, step.request, i); err != nil {
			return fmt.Errorf("give %s an address: %w", name, err)
		}
	}
	i, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	i.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, i); err != nil {
		return fmt.Errorf("switch on %s: %w", name, err)
	}
	return nil
}

// carry moves packets from one end to the other until the ends are closed.
func (w *wire) carry(from int) {
	for {
		b := make([]byte, 2048)
		n, err := w.ends[from].Read(b)
		if err != nil {
			return
		}
		b = b[:n]
		if from == 0 && payload(b) > 0 && w.drop.Add(-1) >= 0 {
			continue
		}
		if d := time.Duration(w.delay.Load()); from == 1 && d > 0 {
			time.AfterFunc(d, func() { _, _ = w.ends[0].Write(b) }) // the test may be over
			continue
		}
		if _, err := w.ends[1-from].Write(b); err != nil {
			return
		}
	}
}

// payload is how much data an IPv4 packet of TCP carries.
func payload(b []byte) int {
	if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return 0
	}
	ip := int(b[0]&15) * 4
	return len(b) - ip - int(b[ip+12]>>4)*4
}

// A shell talks to a server over a wire: what the wire loses is sent again, what it
// delays is a spike, and a port where nobody listens refuses.
func TestTroubleOnConnectionsIsRecorded(t *testing.T) {
	kerneltest.Require(t)
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		kerneltest.Lacks(t, "no tunnels: "+err.Error())
	}
	var w wire
	near, far := w.in(t, 0), w.in(t, 1)
	go w.carry(0)
	go w.carry(1)
	t.Cleanup(func() { w.ends[0].Close(); w.ends[1].Close() })
	var l net.Listener
	far(func() (err error) { l, err = net.Listen("tcp4", "10.9.0.2:0"); return err })
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
				w.drop.Store(1)
			case "delay":
				w.delay.Store(int64(60 * time.Millisecond))
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
	near(shell.Start)
	t.Cleanup(func() { shell.Process.Kill(); shell.Wait() })
	if err := tr.Adopt(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)

	seen := map[event.Op]event.Connection{}
	var r probe.Records
	for end := time.Now().Add(8 * time.Second); len(seen) < 3 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		tr.Drain(&r, 1<<30)
		for _, c := range r.Connections {
			if _, ok := seen[c.Op]; c.Remote == [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 9, 15: 2} && !ok {
				seen[c.Op] = c
			}
		}
	}
	pid := uint32(shell.Process.Pid)
	for op, right := range map[event.Op]func(c event.Connection) bool{
		event.OpTCPRetransmit: func(c event.Connection) bool {
			return c.PID == pid && int(c.RemotePort) == port && c.State == 1 && c.Bytes >= 5 && c.Retrans >= 1 && c.Inode != 0 && c.MinRTT > 0
		},
		event.OpTCPSpike: func(c event.Connection) bool {
			return c.PID == pid && int(c.RemotePort) == port && c.Duration > 55e6 && c.Duration < 500e6 && c.MinRTT < 20_000 && c.Retrans >= 1
		},
		event.OpTCPConnectFailed: func(c event.Connection) bool {
			return c.PID != pid && c.PID != 0 && c.RemotePort == 9 && c.Error == int32(unix.ECONNREFUSED) && c.Duration > 50_000
		},
	} {
		c, ok := seen[op]
		if !ok || !right(c) || c.Comm != "bash" || c.LocalPort == 0 || c.LocalEndpoint() != fmt.Sprintf("10.9.0.1:%d", c.LocalPort) {
			t.Errorf("%s: seen %v, %+v", op, ok, c)
		}
	}
	if n, err := tr.Losses(); err != nil || n[event.LostConnection] != 0 {
		t.Errorf("%d lost, %v", n[event.LostConnection], err)
	}
}
