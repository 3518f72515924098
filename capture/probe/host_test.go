package probe_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
)

func TestMain(m *testing.M) { probetest.Main(m) }

func TestSocketsOfWaitsAreRecorded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // what the other end waits for
			fmt.Fprintln(c, "answer")
			c.Close()
		}
	}()
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; read a <&3; sleep 10", port),
		probe.Options{})
	begin()
	pid := uint32(shell.Process.Pid)
	var o event.OffCPU
	probetest.Drained(t, tr, func(r *probe.Records) bool {
		for _, v := range r.OffCPU {
			if v.PID == pid && v.Class == event.Network && v.Socket.Kind != 0 {
				o = v
				return true
			}
		}
		return false
	})
	serves, known := o.Socket.Serves()
	if want := fmt.Sprintf("127.0.0.1:%d", port); o.Socket.Endpoint() != want || o.Socket.Kind != event.SocketTCP ||
		o.Inode == 0 || serves && known {
		t.Errorf("socket %+v, inode %d, other end %s; want %s", o.Socket, o.Inode, o.Socket.Endpoint(), want)
	}
}

func TestPagesOfMappedFilesAreBlockIO(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mapped")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 256*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("%s=%s exec %s < <(sleep 0.3; echo; sleep 5)",
		probetest.Toucher, file, exe), probe.Options{OffMin: time.Microsecond})
	begin()
	pid := uint32(shell.Process.Pid)
	r := probetest.Drained(t, tr, func(r *probe.Records) bool {
		n := 0
		for _, o := range r.OffCPU {
			if o.PID == pid && o.Class == event.BlockIO && o.Syscall < 0 && len(o.Kernel) > 0 {
				n++
			}
		}
		return n >= 10
	})
	lost, err := tr.Losses()
	if err != nil {
		t.Fatal(err)
	}
	// The kernel does not report each switch, and a rebuilt interval has no stack.
	without := uint64(0)
	for _, o := range r.OffCPU {
		if o.PID == pid && o.Class == event.BlockIO && o.Syscall < 0 && len(o.Kernel) == 0 {
			without++
		}
	}
	if without > lost[event.LostHealed] {
		t.Errorf("%d page-ins without a kernel stack, %d intervals rebuilt", without, lost[event.LostHealed])
	}
}
