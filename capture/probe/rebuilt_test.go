package probe_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/event"
)

// A wait whose begin or end the kernel did not report is rebuilt when the thread is seen next. It says for
// which connection it was, as any other does.
func TestARebuiltWaitNamesItsConnection(t *testing.T) {
	t.Run("end", func(t *testing.T) {
		s := newShellThatWaits(t, "read -u 3 answer; echo running >&3; while :; do :; done")
		s.await("S")
		time.Sleep(50 * time.Millisecond) // what is waited for until then is not short
		s.unseen(func() { s.answer(); s.readLine() })
		s.check(50 * time.Millisecond)
	})
	t.Run("begin", func(t *testing.T) {
		s := newShellThatWaits(t, "read -u 3 answer; echo running >&3; while ! read -t 0 -u 3; do :; done; "+
			"read -u 3 answer; read -u 3 answer")
		s.await("S")
		s.answer() // the tracer has seen it come to a CPU
		s.readLine()
		s.unseen(func() { s.answer(); s.await("S") })
		time.Sleep(50 * time.Millisecond)
		s.answer()
		s.check(50 * time.Millisecond)
	})
}

// A shell that talks to the test over connection 3.
type shellThatWaits struct {
	*testing.T
	tr   *probe.Tracer
	pid  int
	port int
	conn net.Conn
}

func newShellThatWaits(t *testing.T, script string) *shellThatWaits {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &shellThatWaits{T: t, port: l.Addr().(*net.TCPAddr).Port}
	tr, shell, begin := probetest.AdoptShell(t, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; %s", s.port, script),
		probe.Options{})
	s.tr, s.pid = tr, shell.Process.Pid
	begin()
	if s.conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	return s
}

func (s *shellThatWaits) answer() { fmt.Fprintln(s.conn, "answer") }

// readLine waits for a line of the shell's.
func (s *shellThatWaits) readLine() {
	s.Helper()
	if _, err := bufio.NewReader(s.conn).ReadString('\n'); err != nil {
		s.Fatal(err)
	}
}

// await waits until the shell's state is the given one, of /proc/PID/stat.
func (s *shellThatWaits) await(state string) {
	s.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
		if err != nil {
			s.Fatal(err)
		}
		if strings.Contains(string(stat), "(bash) "+state) {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("the shell does not get into state %s: %s", state, stat)
		}
	}
}

func (s *shellThatWaits) unseen(f func()) {
	s.Helper()
	if err := s.tr.Unseen(f); err != nil {
		s.Fatal(err)
	}
}

// check expects a wait for the connection that was at least so long, and that something was rebuilt.
func (s *shellThatWaits) check(least time.Duration) {
	s.Helper()
	var wait event.OffCPU
	probetest.Drained(s.T, s.tr, func(r *probe.Records) bool {
		for _, o := range r.OffCPU {
			if int(o.PID) == s.pid && o.Class == event.Network && o.Duration >= uint64(least) {
				wait = o
			}
		}
		return wait.PID != 0
	})
	lost, err := s.tr.Losses()
	if err != nil {
		s.Fatal(err)
	}
	if lost[event.LostHealed] == 0 {
		s.Errorf("nothing was rebuilt: %v", lost)
	}
	if x := wait.Socket; int(x.RemotePort) != s.port {
		s.Errorf("the wait of %d ns is for %+v, want port %d", wait.Duration, x, s.port)
	}
}
