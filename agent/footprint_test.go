package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// touchesEnv makes the test program one that touches things: its value is the
// folder, and where servers listen.
const touchesEnv = "INGERO_TEST_TOUCHES"

// TestHelperTouches is no test: it is the program whose footprint is taken. Each
// thing is done a number of times of its own.
func TestHelperTouches(t *testing.T) {
	args := strings.Fields(os.Getenv(touchesEnv))
	if len(args) == 0 {
		t.Skip("only for TestFootprintOfAProcessWithoutCUDA")
	}
	dir, tcp, closed, path := args[0], args[1], args[2], args[3]
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(filepath.Join(dir, "sub", "data"), unix.O_CREAT|unix.O_RDWR, 0o600)
	check(err)
	block := make([]byte, 1000)
	for i := range 5 {
		_, err = unix.Pwrite(fd, block, int64(i)*1000)
		check(err)
	}
	for i := range 3 {
		_, err = unix.Pread(fd, block[:700], int64(i))
		check(err)
	}
	check(unix.Fdatasync(fd))
	check(unix.Close(fd))
	check(os.Remove(filepath.Join(dir, "sub", "data"))) // its inode may be the next one's
	fd, err = unix.Open(filepath.Join(dir, "second"), unix.O_CREAT|unix.O_RDWR, 0o600)
	check(err)
	_, err = unix.Pwrite(fd, block[:11], 0)
	check(err)
	for range 4 {
		if _, err := unix.Open(filepath.Join(dir, "missing"), unix.O_RDONLY, 0); err != unix.ENOENT {
			t.Fatal(err)
		}
	}
	for range 2 {
		check(unix.Nanosleep(&unix.Timespec{Nsec: 60e6}, nil))
	}
	c, err := net.Dial("tcp", tcp)
	check(err)
	_, err = c.Write(block[:123])
	check(err)
	_, err = io.ReadFull(c, block[:45])
	check(err)
	if _, err := net.Dial("tcp", closed); err == nil {
		t.Fatal("connected to a closed port")
	}
	u, err := net.Dial("unix", path)
	check(err)
	_, err = u.Write(block[:77])
	check(err)
	manyMessages(t)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), 1, 0, 0, 0, 0); errno == 0 {
		t.Fatal("a file is no io_uring")
	}
	check(exec.Command("/bin/sh", "-c", "read x < "+filepath.Join(dir, "second")+"; exit 0").Run())
	used := func() int64 {
		var r unix.Rusage
		check(unix.Getrusage(unix.RUSAGE_SELF, &r))
		return r.Utime.Nano() + r.Stime.Nano()
	}
	for end := used() + 200e6; used() < end; { // user time, however busy the machine is
		for range 1_000_000 {
			block[0]++
		}
	}
	fmt.Println("used", used())
	_, _ = in.ReadString('\n') // in a call when tracing ends
}

// mmsghdr is a message of sendmmsg and recvmmsg.
type mmsghdr struct {
	unix.Msghdr
	len uint32
	_   uint32
}

// manyMessages sends messages of 100, 101 and 102 bytes by one call, to an address that
// only the messages have, and receives them by another.
func manyMessages(t *testing.T) {
	var ends [2]int
	var at [2]*unix.SockaddrInet4
	for i := range ends {
		var err error
		if ends[i], err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err == nil {
			err = unix.Bind(ends[i], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		if err != nil {
			t.Fatal(err)
		}
		name, err := unix.Getsockname(ends[i])
		if err != nil {
			t.Fatal(err)
		}
		at[i] = name.(*unix.SockaddrInet4)
	}
	to := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(at[1].Port>>8 | at[1].Port<<8&0xff00), Addr: at[1].Addr}
	for end, nr := range []uintptr{unix.SYS_SENDMMSG, unix.SYS_RECVMMSG} {
		var list [3]mmsghdr
		for i := range list {
			v := unix.Iovec{Base: &make([]byte, 200)[0]}
			v.SetLen(200)
			if list[i].Iov = &v; end == 0 {
				v.SetLen(100 + i)
				list[i].Name, list[i].Namelen = (*byte)(unsafe.Pointer(&to)), unix.SizeofSockaddrInet4
			}
			list[i].SetIovlen(1)
		}
		if n, _, errno := unix.Syscall6(nr, uintptr(ends[end]), uintptr(unsafe.Pointer(&list)), uintptr(len(list)), 0, 0,
			0); n != 3 || list[2].len != 102 {
			t.Fatal(n, errno, list)
		}
	}
}

// serve answers each connection with 45 bytes.
func serve(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write(make([]byte, 45))
		}
	}()
	return l
}

// footprintOf traces the helper and returns what Run said, the process and what it
// said of its own CPU time.
func footprintOf(t *testing.T, o agent.Options, env string) (agent.Summary, uint32, time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperTouches$", "-test.v=false")
	// Go's own signals would interrupt its calls, if it has to wait for a CPU.
	cmd.Env = append(os.Environ(), touchesEnv+"="+env, "GODEBUG=asyncpreemptoff=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	if l, err := lines.ReadString('\n'); l != "ready\n" {
		t.Fatalf("the program said %q, %v", l, err)
	}
	var used int64
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	o.PIDs = []int{cmd.Process.Pid}
	o.Started = func(agent.Start) {
		go func() {
			fmt.Fprintln(in)
			l, _ := lines.ReadString('\n')
			if _, err := fmt.Sscanf(l, "used %d", &used); err != nil {
				t.Errorf("the program said %q: %v", l, err)
			}
			stop()
		}()
	}
	s, err := agent.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, uint32(cmd.Process.Pid), time.Duration(used)
}

func TestFootprintOfAProcessWithoutCUDA(t *testing.T) {
	kerneltest.Require(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	tcp, gone, path := serve(t, "tcp", "127.0.0.1:0"), serve(t, "tcp", "127.0.0.1:0"), filepath.Join(dir, "socket")
	serve(t, "unix", path)
	gone.Close()
	db := filepath.Join(dir, "run.db")
	o := agent.Options{
		UID: agent.AnyUser,
		Record: &agent.Recording{Path: db, Node: "here", Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	}
	s, pid, used := footprintOf(t, o, strings.Join([]string{dir, tcp.Addr().String(), gone.Addr().String(), path}, " "))
	f := s.Footprint
	if f == nil {
		t.Fatal("no footprint was taken")
	}
	for _, l := range s.Losses {
		if l.Kind.String() == "footprint" {
			t.Errorf("%d entries were lost", l.Count)
		}
	}
	checkCalls(t, f, pid)
	checkSockets(t, f, tcp, gone, path)
	child := checkFiles(t, f, pid, dir)
	checkProcesses(t, f, pid, child, used)
	checkFootprintSQL(t, db, pid, f)
}

func checkCalls(t *testing.T, f *report.Footprint, pid uint32) {
	t.Helper()
	syscall := func(name string) report.FootprintSyscall {
		i := slices.IndexFunc(f.Syscalls, func(c report.FootprintSyscall) bool { return c.PID == pid && c.Syscall == name })
		if i < 0 {
			t.Errorf("no %s was counted", name)
			return report.FootprintSyscall{}
		}
		return f.Syscalls[i]
	}
	for name, want := range map[string]uint64{"pwrite64": 6, "pread64": 3, "fdatasync": 1} {
		if c := syscall(name); c.Calls != want || c.Errors != 0 || c.MaxNS == 0 || c.TotalNS < c.MaxNS ||
			c.CPUNS > c.TotalNS {
			t.Errorf("%+v, want %d calls", c, want)
		}
	}
	if c := syscall("nanosleep"); c.Calls < 2 || c.MaxNS < 60e6 || c.MaxNS > 2e9 || c.TotalNS < 120e6 ||
		c.CPUNS > c.TotalNS/2 {
		t.Errorf("%+v, want two calls of 60 ms or more and hardly any time on a CPU", c)
	}
	if c := syscall("openat"); c.Errnos["ENOENT"] < 4 {
		t.Errorf("%+v, want four that found nothing", c)
	}
}

// checkFiles returns the child, which read one of the files.
func checkFiles(t *testing.T, f *report.Footprint, pid uint32, dir string) (child uint32) {
	t.Helper()
	file := func(pid uint32, path string) (sum report.FootprintFile) {
		for _, x := range f.Files {
			if x.Path == path && x.PID == pid {
				sum.Opens += x.Opens
				sum.ReadBytes += x.ReadBytes
				sum.WriteBytes += x.WriteBytes
				sum.Reads += x.Reads
				sum.Writes += x.Writes
			}
		}
		return sum
	}
	if x := file(pid, filepath.Join(dir, "sub", "data")); x != (report.FootprintFile{
		Opens: 1, Reads: 3, ReadBytes: 2100,
		Writes: 5, WriteBytes: 5000,
	}) {
		t.Errorf("sub/data: %+v; all: %+v", x, f.Files)
	}
	if x := file(pid, filepath.Join(dir, "second")); x != (report.FootprintFile{Opens: 1, Writes: 1, WriteBytes: 11}) {
		t.Errorf("second: %+v", x)
	}
	if !slices.Contains(f.Missing,
		report.FootprintMissing{PID: pid, Path: filepath.Join(dir, "missing"), Error: "ENOENT", Count: 4}) {
		t.Errorf("not opened: %+v", f.Missing)
	}
	i := slices.IndexFunc(f.Programs,
		func(p report.FootprintProgram) bool { return p.Path == "/bin/sh" && slices.Contains(p.Args, "-c") })
	if i < 0 || f.Programs[i].PID == pid {
		t.Fatalf("programs: %+v", f.Programs)
	}
	child = f.Programs[i].PID
	if x := file(child, filepath.Join(dir, "second")); x.Opens != 1 || x.ReadBytes != 11 {
		t.Errorf("second, of the child: %+v", x)
	}
	return child
}

func checkSockets(t *testing.T, f *report.Footprint, tcp, gone net.Listener, path string) {
	t.Helper()
	socket := func(remote string, port int) report.FootprintSocket {
		i := slices.IndexFunc(f.Sockets,
			func(x report.FootprintSocket) bool { return x.Remote == remote && int(x.RemotePort) == port })
		if i < 0 {
			t.Errorf("no socket to %s:%d in %+v", remote, port, f.Sockets)
			return report.FootprintSocket{}
		}
		return f.Sockets[i]
	}
	if x := socket("127.0.0.1", tcp.Addr().(*net.TCPAddr).Port); x.Protocol != "tcp" || x.Role != "connect" ||
		x.WriteBytes != 123 || x.ReadBytes != 45 || x.Errors != 0 {
		t.Errorf("tcp: %+v", x)
	}
	if x := socket("127.0.0.1", gone.Addr().(*net.TCPAddr).Port); x.Role != "connect" || x.WriteBytes != 0 {
		t.Errorf("refused: %+v", x)
	}
	// Who sent the messages bound a port, and who got them knows no other end.
	sent := slices.ContainsFunc(f.Sockets, func(x report.FootprintSocket) bool {
		return x.Protocol == "udp" && x.Remote == "127.0.0.1" && x.RemotePort != 0 && x.WriteBytes == 303 && x.ReadBytes == 0
	})
	received := slices.ContainsFunc(f.Sockets, func(x report.FootprintSocket) bool {
		return x.Protocol == "udp" && x.ReadBytes == 303 && x.WriteBytes == 0
	})
	if !sent || !received {
		t.Errorf("messages: sent %v, received %v; %+v", sent, received, f.Sockets)
	}
	if x := socket(path, 0); x.Family != "unix" || x.Role != "connect" || x.WriteBytes != 77 {
		t.Errorf("unix: %+v", x)
	}
}

func checkProcesses(t *testing.T, f *report.Footprint, pid, child uint32, used time.Duration) {
	t.Helper()
	var seen int
	for _, p := range f.Processes {
		switch p.PID {
		case pid:
			seen++
			if ns := time.Duration(p.CPUNS); ns > used+used/10 || ns < used/3 || p.UserNS < 150e6 ||
				p.UserNS+p.KernelNS != p.CPUNS || p.EndedNS != 0 {
				t.Errorf("%+v, though the process used %s since it started", p, used)
			}
		case child:
			seen++
			if p.Parent != pid || p.EndedNS <= p.FirstNS || p.CPUNS == 0 || p.Process != "sh" {
				t.Errorf("child: %+v", p)
			}
		}
	}
	if seen != 2 {
		t.Errorf("processes: %+v", f.Processes)
	}
	for _, who := range []uint32{pid, child} {
		if !slices.ContainsFunc(f.Libraries,
			func(l report.FootprintLibrary) bool { return l.PID == who && strings.HasPrefix(l.Path, "/") }) {
			t.Errorf("nothing is mapped by %d: %+v", who, f.Libraries)
		}
	}
}

// checkFootprintSQL holds the views against what Run said.
func checkFootprintSQL(t *testing.T, db string, pid uint32, f *report.Footprint) {
	t.Helper()
	for _, c := range f.Syscalls {
		if c.PID != pid {
			continue
		}
		// The query of the published example counts calls.
		rows, err := sqlite.Query(t.Context(), db, fmt.Sprintf("select count(*), sum(duration_ns) <= %d, max(duration_ns) "+
			"from host_events where pid = %d and syscall = '%s'",
			c.TotalNS, pid, c.Syscall), store.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		if v := rows.Values(); len(v) != 3 || v[0] != int64(c.Calls) || v[1] != int64(1) || v[2] != int64(c.MaxNS) {
			t.Errorf("host_events has %v of %s, want %d calls, the longest %d ns", v, c.Syscall, c.Calls, c.MaxNS)
		}
		rows.Close()
	}
	// The other queries of that example, as they stand there; but for io_events without a
	// limit, because requests of others come first.
	for query, want := range map[string]string{
		"SELECT comm, syscall, COUNT(*) AS n\n     FROM host_events\n    GROUP BY comm, syscall\n    ORDER BY n DESC LIMIT 20": "rt_sigaction",
		"SELECT * FROM net_events LIMIT 20":  "127.0.0.1",
		"SELECT * FROM io_events":            filepath.Join("sub", "data"),
		"SELECT * FROM cuda_events LIMIT 20": "",
	} {
		rows, err := sqlite.Query(t.Context(), db, query, store.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		n := 0
		for ; rows.Next(); n++ {
			fmt.Fprintln(&all, rows.Values()...)
		}
		if (want == "") != (n == 0) || !strings.Contains(all.String(), want) {
			t.Errorf("%s has no %q in %d rows:\n%s", query, want, n, &all)
		}
		rows.Close()
	}
	var text bytes.Buffer
	if err := report.WriteFootprint(&text, f, report.TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(text.String(), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	t.Logf("\n%s", &text)
}
