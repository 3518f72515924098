package probe_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/testnet"
)

// Some kernels leave out calls of a tracepoint now and then (LostSwitch). A segment that was sent again without a
// report is found in the kernel's counter when the wait for the answer ends, with the time at which it was sent.
func TestSegmentsSentAgainUnseenAreFoundAfterTheWait(t *testing.T) {
	kerneltest.Require(t)
	w := testnet.New(t, nil)
	var l net.Listener
	w.Far(func() (err error) { l, err = net.Listen("tcp4", testnet.FarAddress+":0"); return err })
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for s := bufio.NewScanner(c); s.Scan(); {
			if s.Text() == "lose" {
				w.Drop.Store(1)
			}
			fmt.Fprintln(c, "answer")
		}
	}()
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	if err := tr.UnseenSegments(); err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	shell := exec.Command("bash", "-c", fmt.Sprintf(`read line
say() { echo $1 >&3; read answer <&3; }
exec 3<>/dev/tcp/%s/%d
say hello; say lose; say lost; say hello; say hello
exec sleep 5`, testnet.FarAddress, port))
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

	var longest event.OffCPU // the wait for the answer to what was lost
	var again []event.Connection
	var r probe.Records
	for end := time.Now().Add(10 * time.Second); longest.Duration < 150e6 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		tr.Drain(&r, 1<<30)
		for _, o := range r.OffCPU {
			if o.Class == event.Network && int(o.Socket.RemotePort) == port && o.Duration > longest.Duration {
				longest = o
			}
		}
		for _, c := range r.Connections {
			if c.Op == event.OpTCPRetransmit && int(c.RemotePort) == port && int(c.PID) == shell.Process.Pid {
				again = append(again, c)
			}
		}
	}
	if len(again) != 1 {
		t.Fatalf("%+v; the wait: %+v", again, longest)
	}
	c, until := again[0], longest.Start+longest.Duration
	if c.At < longest.Start+longest.Duration/2 || c.At >= until || c.Retrans != 1 || c.Comm != "bash" || c.State != 1 {
		t.Errorf("%+v is not in the second half of %d to %d", c, longest.Start, until)
	}
}
