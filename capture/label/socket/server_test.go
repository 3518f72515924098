package socket_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/label/socket"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/lib/unixsocket"
)

// listen starts a server with a clock that stands still until it is set.
func listen(t *testing.T) (*socket.Server, *time.Time) {
	t.Helper()
	at := time.Unix(1_700_000_000, 5)
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // everybody may enter it, as that of root's tracer
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s, err := socket.Listen(socket.Options{
		Path: filepath.Join(dir, "a.sock"), Proc: proc.New(""), Now: func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, &at
}

func dial(t *testing.T, s *socket.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, lines string) {
	t.Helper()
	if _, err := c.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
}

// words are labels in short.
func words(list []event.Label) string {
	var b strings.Builder
	for _, l := range list {
		if l.Key == "" {
			b.WriteString("ended ")
			continue
		}
		fmt.Fprintf(&b, "%s=%s ", l.Key, l.Value)
	}
	return strings.TrimSpace(b.String())
}

// lines are n lines with the numbers from 0 on.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func TestLabelsArriveWithTheirSender(t *testing.T) {
	t.Parallel()
	s, at := listen(t)
	c := dial(t, s)
	send(t, c, `{"labels":{"step":1,"epoch":2}}`+"\n\n"+`{"labels":{"step":2},"ts":77}`+"\n"+`{"labels":{"half"`)
	got := s.Poll(nil)
	if w := words(got); w != "epoch=2 step=1 step=2" {
		t.Fatalf("labels %q", w)
	}
	started, err := proc.New("").StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := event.Label{
		Arrived: uint64(at.UnixNano()), Since: 77, PID: uint32(os.Getpid()), StartTime: started, Key: "step", Value: "2",
		Sender: event.LabelSender{PID: uint32(os.Getpid()), UID: uint32(os.Getuid()), GID: uint32(os.Getgid())},
	}
	if got[2] != want || got[0].Since != want.Arrived {
		t.Errorf("%+v, want %+v", got[2], want)
	}
	send(t, c, `:"x"},"span_start":5,"span_end":9}`) // without a newline, at the end of the connection
	c.Close()
	if got := s.Poll(nil); len(got) != 1 || got[0].Since != 5 || got[0].Until != 9 || got[0].Value != "x" {
		t.Errorf("%+v", got)
	}
	if r := s.Refused(); r.Total() != 0 {
		t.Errorf("refused %+v", r)
	}
}

func TestHostileLinesAreCountedAndHarmNothing(t *testing.T) {
	t.Parallel()
	s, at := listen(t)
	c := dial(t, s)
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	refused := uint64(0)
	for _, bad := range []string{
		strings.Repeat("x", 64<<10), `{"labels":{` + strings.Join(keys, ",") + "}}", "\x00\xff", "{}", `{"labels":{"a":1},"v":9}`,
		fmt.Sprintf(`{"labels":{"a":1},"ts":%d}`, at.Add(time.Hour).UnixNano()),
	} {
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write([]byte(bad + "\n" + fmt.Sprintf(`{"labels":{"ok":%d}}`, refused) + "\n"))
			sent <- err
		}()
		var got []event.Label
		for len(got) == 0 {
			got = s.Poll(got)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if refused++; words(got) != fmt.Sprintf("ok=%d", refused-1) || s.Refused().Malformed != refused {
			t.Errorf("after %.30q: %q, refused %+v", bad, words(got), s.Refused())
		}
	}
	// More lines than a second allows; the next second goes on.
	*at = at.Add(time.Second)
	n := 0
	for range 5 { // some were not used of the second before
		send(t, c, lines(500, `{"labels":{"a":%d}}`))
		n += len(s.Poll(nil))
	}
	if n != 2*socket.LinesOfConn || s.Refused().TooMany != 500 {
		t.Errorf("%d labels of 2500, refused %+v", n, s.Refused())
	}
	*at = at.Add(time.Second)
	send(t, c, `{"labels":{"a":"x"},"dropped":7}`+"\n")
	if w := words(s.Poll(nil)); w != "a=x" || s.Refused().Unsent != 7 {
		t.Errorf("a second later: %q, %+v", w, s.Refused())
	}
}

func TestManyLabelsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := listen(t)
	n := 0
	for range 15 {
		c := dial(t, s)
		for range 5 {
			send(t, c, lines(100, `{"labels":{"a":%d,"b":%[1]d}}`))
			n += len(s.Poll(nil))
		}
	}
	if n != socket.MaxLabels {
		t.Errorf("%d labels in a second, want %d", n, socket.MaxLabels)
	}
	var open []net.Conn
	for range socket.MaxConns {
		c, err := net.Dial("unix", s.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
		s.Poll(nil)
	}
	if r := s.Refused().Connections; r != 15 {
		t.Errorf("%d of %d connections were refused, want 15", r, len(open)+15)
	}
}

// sleeper starts a process of a user, nobody's if that is another.
func sleeper(t *testing.T, uid uint32) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if uid != uint32(os.Getuid()) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func TestTheTracersUserLabelsOtherProcessesUntilTheyEnd(t *testing.T) {
	t.Parallel()
	s, at := listen(t)
	cmd := sleeper(t, uint32(os.Getuid()))
	pid := cmd.Process.Pid
	started, err := proc.New("").StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	send(t, c, fmt.Sprintf(`{"labels":{"a":1},"pid":%d,"start_time":%d}`+"\n", pid, started)+
		fmt.Sprintf(`{"labels":{"b":1},"pid":%d,"start_time":%d}`+"\n", pid, started+1)+ // an earlier process
		fmt.Sprintf(`{"labels":{"c":1},"pid":%d}`+"\n", 1<<22+1)) // none
	got := s.Poll(nil)
	if len(got) != 1 || got[0].PID != uint32(pid) || got[0].StartTime != started || s.Refused().NotAllowed != 2 {
		t.Errorf("%+v, refused %+v", got, s.Refused())
	}
	s.Exited(uint32(pid), 33)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for got = nil; len(got) == 0; { // until the kernel says that it has ended
		got = s.Poll(got)
	}
	want := event.Label{Arrived: uint64(at.UnixNano()), Since: 33, PID: uint32(pid), StartTime: started}
	if got[0] != want {
		t.Errorf("end %+v, want %+v", got[0], want)
	}
	cmd.Wait()
	send(t, c, fmt.Sprintf(`{"labels":{"a":2},"pid":%d}`+"\n", pid))
	if got := s.Poll(nil); len(got) != 0 || s.Refused().NotAllowed != 3 {
		t.Errorf("of a process that has ended: %+v", got)
	}
}

const nobody = 65534

// dialAs connects as a user: the kernel tells the server the user of the connecting thread.
func dialAs(t *testing.T, s *socket.Server, uid int) net.Conn {
	t.Helper()
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
			done <- result{nil, e}
			return
		}
		c, err := net.Dial("unix", s.Path())
		done <- result{c, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { r.c.Close() })
	return r.c
}

func TestAnotherUserLabelsOnlyTheirOwnProcesses(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: it runs as other users")
	}
	s, _ := listen(t)
	theirs, roots := sleeper(t, nobody).Process.Pid, sleeper(t, 0).Process.Pid
	line := func(key string, pid int) string { return fmt.Sprintf(`{"labels":{%q:1},"pid":%d}`+"\n", key, pid) }
	c := dialAs(t, s, nobody)
	send(t, c, line("theirs", theirs)+line("root", roots)+line("init", 1)+`{"labels":{"own":1}}`+"\n")
	got := s.Poll(nil)
	if w := words(got); w != "theirs=1 own=1" || s.Refused().NotAllowed != 2 {
		t.Errorf("%q, refused %+v", w, s.Refused())
	}
	if len(got) == 2 && (got[1].PID != uint32(os.Getpid()) || got[1].Sender.UID != nobody) {
		t.Errorf("own label %+v", got[1])
	}
	for range socket.MaxConnsOfUser {
		dialAs(t, s, nobody)
		s.Poll(nil)
	}
	send(t, dial(t, s), line("root", roots))
	if got := s.Poll(nil); words(got) != "root=1" || s.Refused().Connections != 1 {
		t.Errorf("root beside a user with many connections: %q, refused %+v", words(got), s.Refused())
	}
}

func TestAStaleSocketIsReplacedAndALiveOneIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	o := socket.Options{Path: path, Proc: proc.New("")}
	if _, err := socket.Listen(o); !errors.Is(err, unixsocket.ErrInUse) || !strings.Contains(err.Error(), "INGERO_ANNOTATE") {
		t.Errorf("beside a live one: %v", err)
	}
	l.SetUnlinkOnClose(false)
	// Without this a process that another test is starting keeps it alive until its exec closes the copy.
	if f, err := l.File(); err != nil || unix.Shutdown(int(f.Fd()), unix.SHUT_RDWR) != nil || f.Close() != nil {
		t.Fatal("the listener cannot be shut down", err)
	}
	l.Close()
	s, err := socket.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	want := os.FileMode(0o600)
	if os.Getuid() == 0 {
		want = 0o666
	}
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%v %v, want %v", info.Mode(), err, want)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Listen(o); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := socket.Listen(socket.Options{Path: path + "/none/x"}); err == nil {
		t.Error("it listens in no folder")
	}
}

func TestTheFolderAtHomeIsTheUsersOwn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := socket.Paths("", home)[1]
	s, err := socket.Listen(socket.Options{Path: path, Home: home, Proc: proc.New("")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestAValueThatHoldsIsNotToldAgain: steps that also set their epoch make one row a step.
func TestAValueThatHoldsIsNotToldAgain(t *testing.T) {
	t.Parallel()
	s, _ := listen(t)
	c := dial(t, s)
	for _, tc := range []struct{ line, want string }{
		{`{"labels":{"epoch":3,"step":1},"ts":10}`, "epoch=3 step=1"},
		{`{"labels":{"epoch":3,"step":2},"ts":20}`, "step=2"},
		{`{"labels":{"epoch":4},"ts":30}`, "epoch=4"},
		{`{"labels":{"epoch":4},"ts":25}`, "epoch=4"}, // from an earlier time on
		{`{"labels":{"epoch":4},"ts":40}`, ""},
		{`{"labels":{"epoch":4},"span_start":41,"span_end":42}`, "epoch=4"},
		{`{"labels":{"epoch":null},"ts":50}`, "epoch="},
		{`{"labels":{"epoch":null},"ts":60}`, ""},
		{`{"labels":{"epoch":4},"ts":70}`, "epoch=4"},
	} {
		send(t, c, tc.line+"\n")
		if got := words(s.Poll(nil)); got != tc.want {
			t.Errorf("%s: labels %q, want %q", tc.line, got, tc.want)
		}
	}
	// The values of so many keys of a process are remembered. Those of other keys are returned each time.
	many := lines(200, `{"labels":{"k%d":1}}`)
	for n := range 2 {
		send(t, c, many)
		got := len(strings.Fields(words(s.Poll(nil))))
		if n == 0 && got != 200 || n == 1 && (got < 100 || got == 200) {
			t.Errorf("round %d: %d labels of 200 are returned", n, got)
		}
	}
}
