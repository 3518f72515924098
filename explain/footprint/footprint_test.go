package footprint_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/footprint"
	"github.com/ingero-io/ingero/explain/report"
)

func sample() *footprint.Sum {
	s := footprint.New("amd64")
	s.Add(&event.Footprint{
		Syscalls: []event.SyscallCount{
			{PID: 10, Nr: 0, Calls: 5, Errors: 1, NS: 50, MaxNS: 40, CPUNS: 10},
			{PID: 11, Nr: 0, Calls: 1, NS: 9, MaxNS: 9},
			{PID: 10, Nr: 232, Calls: 2, NS: 3e9, MaxNS: 2e9, CPUNS: 1000},
		},
		Errors: []event.SyscallError{{PID: 10, Nr: 0, Errno: 11, Count: 1}},
		Touched: []event.Touched{{
			PID: 10, Kind: event.TouchFile, Inode: 1,
			Path: "/srv/" + strings.Repeat("deep/", 40) + "data\x1b[2J.txt", Opens: 1, ReadBytes: 7,
		}},
		Misses: []event.Miss{{PID: 10, Errno: 2, Path: "package.json", Count: 3}},
		CPU: []event.ProcessCPU{
			{PID: 10, Comm: "node", NS: 5e6, InNS: 1e6},
			{PID: 11, Parent: 10, Comm: "sh", NS: 10, Ended: 5},
		},
	})
	s.Add(&event.Footprint{ // counts are increments, what was used is a total
		Syscalls: []event.SyscallCount{{PID: 10, Nr: 0, Calls: 1, NS: 60, MaxNS: 60}},
		Touched: []event.Touched{
			{PID: 10, Kind: event.TouchFile, Inode: 1, Path: "/srv/a", Opens: 2, ReadBytes: 9000},
			{
				PID: 10, Kind: event.TouchSocket, Inode: 2, Opens: 1, WriteBytes: 80,
				Endpoint: event.Endpoint{Family: "inet6", Protocol: "tcp", Remote: "::1", RemotePort: 443, How: event.HowConnect},
			},
		},
		Programs:  []event.Program{{At: 2, PID: 11, Path: "/bin/sh", Args: []string{"sh", "-c", "ls"}}},
		Libraries: []event.MappedLibrary{{PID: 10, Path: "/lib/libc.so.6"}},
	})
	return s
}

func TestFootprintsAreAddedUp(t *testing.T) {
	f := sample().Report()
	read := f.Syscalls[0]
	if read.Syscall != "read" || read.Calls != 6 || read.Errors != 1 || read.TotalNS != 110 || read.MaxNS != 60 ||
		read.CPUNS != 10 || read.Errnos["EAGAIN"] != 1 {
		t.Errorf("%+v", read)
	}
	if len(f.Files) != 1 || f.Files[0].Path != "/srv/a" || f.Files[0].Opens != 2 || f.Files[0].ReadBytes != 9000 {
		t.Errorf("%+v", f.Files)
	}
	if p := f.Processes[0]; p.PID != 10 || p.Syscalls != 8 || p.Errors != 1 || p.UserNS != 4e6 || p.KernelNS != 1e6 {
		t.Errorf("%+v", p)
	}
	if want := "no CUDA call was made: this is the footprint of node (10) and another process: 9 system calls, 1 of " +
		"them failed, 5 ms on a CPU, 1 file, 1 socket, 1 program executed"; f.Verdict() != want {
		t.Errorf("%s, want\n%s", f.Verdict(), want)
	}
	if footprint.New("amd64").Report() != nil {
		t.Error("a footprint of nothing")
	}
}

func TestFootprintFitsTheTerminal(t *testing.T) {
	f := sample().Report()
	f.Files[0].Path = "/srv/" + strings.Repeat("deep/", 40) + "data\x1b[2J.txt"
	for _, width := range []int{60, 80, 132} {
		var b strings.Builder
		if err := report.WriteFootprint(&b, f, report.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := len([]rune(line)); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{
			"read ", "1 EAGAIN", "data?[2J.txt", "tcp to [::1]:443", "9 kB", "package.json",
			"ENOENT", "/bin/sh -c ls", "libc.so.6", "node",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at %d columns there is no %q in\n%s", width, want, &b)
			}
		}
	}
}

func TestAFootprintThatEndedEarlyIsReportedAsSuch(t *testing.T) {
	s := sample()
	first := ^uint64(0)
	for _, p := range s.Report().Processes {
		first = min(first, p.FirstNS)
	}
	for at, want := range map[uint64]string{0: "", first + 3_200_000_000: "until CUDA was loaded (3.2 s);"} {
		s.Over(at)
		var b strings.Builder
		if err := report.WriteFootprint(&b, s.Report(), report.TextOptions{Width: 132}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(b.String(), "until CUDA"); said != (want != "") || !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

// Operations of io_uring are not seen; the report says so if it was used.
func TestUseOfIOUringIsReported(t *testing.T) {
	for enters, want := range map[uint64]string{0: "", 1: "(entered once):", 7: "(entered 7 times):"} {
		s := sample()
		s.Add(&event.Footprint{Syscalls: []event.SyscallCount{{PID: 10, Nr: 426, Calls: enters + 2, Errors: 2}}})
		var b strings.Builder
		if err := report.WriteFootprint(&b, s.Report(), report.TextOptions{Width: 132}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(b.String(), "not seen: "); said != (want != "") || !strings.Contains(b.String(), want) {
			t.Errorf("entered %d times, %q is not in\n%s", enters, want, &b)
		}
	}
}
