// Package clickhousetest starts ClickHouse servers for tests: the real engine as a library, each in its own process
// (chserver). It is for tests only.
package clickhousetest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// engineEnv names the environment variable with the path of libchdb.so.
const engineEnv = "INGERO_CHDB"

// Password is the password of all users of all servers.
const Password = "secret"

// Server is a running server.
type Server struct {
	// Address is HOST:PORT for HTTP, Native that for ClickHouse's own protocol.
	Address, Native string
	dir             string
	cmd             *exec.Cmd
	ended           chan struct{}
}

// Require skips a test without an engine, and says why.
func Require(t testing.TB) {
	t.Helper()
	if os.Getenv(engineEnv) == "" {
		t.Skipf("SKIPPED: $%s is not set; it names libchdb.so, which make echo-clickhouse-engine fetches", engineEnv)
	}
}

var program struct {
	once sync.Once
	path string
	err  error
}

// build builds chserver once for all tests of a process. It needs no cgo.
func build() (string, error) {
	program.once.Do(func() {
		dir, err := os.MkdirTemp("", "chserver-")
		if err != nil {
			program.err = err
			return
		}
		program.path = filepath.Join(dir, "chserver")
		c := exec.Command("go", "build", "-o", program.path,
			"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest/chserver")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			program.err = fmt.Errorf("build chserver: %w\n%s", err, out)
		}
	})
	return program.path, program.err
}

// Clean removes the built program. It is for TestMain.
func Clean() {
	if program.path != "" {
		_ = os.RemoveAll(filepath.Dir(program.path)) // in the folder for temporary files
	}
}

// Start starts a server with its tables in a folder. It ends with the test.
func Start(t testing.TB, dir string) *Server {
	t.Helper()
	// No other program takes its port in this part of the loopback network while it is down.
	s := &Server{Address: "127.78.0.1:0", Native: "127.78.0.1:0", dir: dir}
	s.Again(t)
	return s
}

// Again restarts a killed server at the same address with the same tables.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	Require(t)
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(path, "-lib", os.Getenv(engineEnv), "-path", s.dir, "-addr", s.Address,
		"-native", s.Native, "-password", Password)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines) // until it ends
		_ = cmd.Wait()                    // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	if err != nil {
		t.Fatalf("chserver does not start: %v", err)
	}
	s.Address, s.Native, _ = strings.Cut(strings.TrimSpace(address), " ")
}

// Kill ends a server like kill -9.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

// Pause stops a server: it keeps its connections, and does not answer until the returned function is called.
func (s *Server) Pause(t testing.TB) (resume func()) {
	t.Helper()
	send := func(signal os.Signal) {
		if err := s.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	return func() { send(syscall.SIGCONT) }
}

// PID returns its process number.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// NativeURL returns the address of a database in ClickHouse's own protocol, with the password.
func (s *Server) NativeURL(database string) string {
	return fmt.Sprintf("clickhouse://default:%s@%s/%s", Password, s.Native, database)
}

// URL returns the address of a database over HTTP, with the password.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("http://default:%s@%s/%s", Password, s.Address, database)
}
