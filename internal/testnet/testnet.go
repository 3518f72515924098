// Package testnet joins two network namespaces for tests, with a wire that loses and delays
// packets where netem is not to be had. Nothing ships it.
package testnet

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// Wire joins two network namespaces with tunnels, and loses and delays what it is told
// to.
type Wire struct {
	Drop  atomic.Int32 // so many packets with data are lost, from the near to the far end
	Delay atomic.Int64 // ns, from the far to the near end
	// Near and Far run a function on a thread in the namespace of an end. Processes
	// that it starts are there too.
	Near, Far func(f func() error)
	lose      func(data []byte) bool
	ends      [2]*os.File
}

// The addresses of the ends.
const (
	NearAddress = "10.9.0.1"
	FarAddress  = "10.9.0.2"
)

var addresses = [2][4]byte{{10, 9, 0, 1}, {10, 9, 0, 2}}

// New makes a wire, which is there until the test ends. What lose says so of is lost on
// the way to the far end, beside what Drop says; nil: nothing.
func New(t testing.TB, lose func(data []byte) bool) *Wire {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		kerneltest.Lacks(t, "no tunnels: "+err.Error())
	}
	w := &Wire{lose: lose}
	w.Near, w.Far = w.in(t, 0), w.in(t, 1)
	go w.carry(0)
	go w.carry(1)
	t.Cleanup(func() { w.ends[0].Close(); w.ends[1].Close() })
	return w
}

// in makes a thread in a network namespace of its own with a tunnel, that of the given
// end. The thread ends with the test.
func (w *Wire) in(t testing.TB, end int) (run func(f func() error)) {
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
		return up("wire0", addresses[end])
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
func (w *Wire) carry(from int) {
	for {
		b := make([]byte, 2048)
		n, err := w.ends[from].Read(b)
		if err != nil {
			return
		}
		b = b[:n]
		if data := payload(b); from == 0 && len(data) > 0 && (w.Drop.Add(-1) >= 0 || w.lose != nil && w.lose(data)) {
			continue
		}
		if d := time.Duration(w.Delay.Load()); from == 1 && d > 0 {
			time.AfterFunc(d, func() { _, _ = w.ends[0].Write(b) }) // the test may be over
			continue
		}
		if _, err := w.ends[1-from].Write(b); err != nil {
			return
		}
	}
}

// payload is the data that an IPv4 packet of TCP carries.
func payload(b []byte) []byte {
	if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return nil
	}
	ip := int(b[0]&15) * 4
	head := ip + int(b[ip+12]>>4)*4
	return b[min(head, len(b)):]
}
