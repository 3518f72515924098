package syscalls_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/probetest"
	"github.com/ingero-io/ingero/capture/probe/syscalls"
	"github.com/ingero-io/ingero/event"
)

// What does not fit into a table is counted, and what does is still right.
func TestFullFootprintTablesCountLosses(t *testing.T) {
	const entries = 6
	tr, shell, begin := probetest.AdoptShell(t, "for i in 1 2 3; do read x < /etc/passwd; : > /dev/null; : < "+
		"/no/such/$i; done 2>/dev/null; read line", probe.Options{})
	l, err := tr.Open(syscalls.Probe(entries))
	if err != nil {
		t.Fatal(err)
	}
	f := syscalls.NewFootprint(l)
	defer f.Close()
	if err := f.Watch(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	begin()
	var got event.Footprint
	var lost uint64
	for end := time.Now().Add(10 * time.Second); lost == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		n, err := tr.Losses()
		if err != nil {
			t.Fatal(err)
		}
		lost = n[event.LostFootprint]
	}
	if got, err = f.Read(uint64(time.Now().UnixNano()), true); err != nil {
		t.Fatal(err)
	}
	if lost == 0 || len(got.Syscalls) != entries || len(got.Touched) > entries {
		t.Errorf("%d entries lost, %d calls and %d files of %d", lost, len(got.Syscalls), len(got.Touched), entries)
	}
}

// A process that ended makes room, and what came before is not reported again.
func TestProcessesThatEndMakeRoomForOthers(t *testing.T) {
	tr, shell, begin := probetest.AdoptShell(t, "exit 0", probe.Options{})
	f, err := tr.OpenFootprint()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Watch(shell.Process.Pid); err != nil {
		t.Fatal(err)
	}
	begin()
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	pid := uint32(shell.Process.Pid)
	f.Ended(pid, 1)
	first, err := f.Read(2, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Syscalls) == 0 || len(first.CPU) != 1 || first.CPU[0].PID != pid || first.CPU[0].NS == 0 ||
		first.CPU[0].Ended != 1 {
		t.Errorf("%+v", first)
	}
	if again, err := f.Read(3, true); err != nil || !again.IsZero() {
		t.Errorf("reported again: %+v, %v", again, err)
	}
	if n, err := f.Entries(); err != nil || n != 0 {
		t.Errorf("%d entries are left, %v", n, err)
	}
}

func TestProtocolsAreNamed(t *testing.T) {
	for protocol, want := range map[uint16]string{
		unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp", unix.IPPROTO_MPTCP: "mptcp", unix.IPPROTO_SCTP: "protocol-132",
	} {
		v := &syscalls.SyscallsTouch{Family: unix.AF_INET, Protocol: protocol}
		if got := syscalls.EndpointOf(v, "").Protocol; got != want {
			t.Errorf("%d is %q, want %q", protocol, got, want)
		}
	}
}
