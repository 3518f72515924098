package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// served is a process of this program that serves MCP over HTTPS.
type served struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	ca  *x509.CertPool
}

// serve starts this program with an own home, and waits for its address.
func serve(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: exec.Command("ingero", args...), ca: x509.NewCertPool()}
	home := t.TempDir()
	s.cmd.Env = append(append(os.Environ(), "HOME="+home, "SUDO_UID=", "SUDO_GID="), env...)
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill() })
	in := bufio.NewReader(errs)
	line, err := in.ReadString('\n')
	if s.url = regexp.MustCompile(`https?://\S+`).FindString(line); s.url == "" {
		rest, _ := io.ReadAll(in)
		t.Fatalf("no address: %v %s%s", err, line, rest)
	}
	go io.Copy(io.Discard, in)
	if pem, err := os.ReadFile(filepath.Join(home, ".ingero", "mcp-cert.pem")); err == nil {
		s.ca.AppendCertsFromPEM(pem)
	}
	return s
}

// client is an agent.
func (s *served) client() *mcp.ClientSession {
	s.t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca}}},
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// end asks the process to end and returns how it did.
func (s *served) end() error {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	return s.cmd.Wait()
}

// TestTracerServesAgents asks the process that traces while it does, until it has seen
// the recording grow.
func TestTracerServesAgents(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, []string{"LD_LIBRARY_PATH=" + files.LibDir},
		"trace", "--mcp", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "run.db"), "--", files.Victim, "loop", "--seconds", "30")
	c := s.client()
	var seen []uint64 // calls in the recording, each time there are more
	for deadline := time.Now().Add(20 * time.Second); len(seen) < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the recording does not grow: %v", seen)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "diagnose"})
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			continue // nothing is recorded yet
		}
		var out struct{ Calls uint64 }
		b, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		if out.Calls > 0 && (len(seen) == 0 || out.Calls > seen[len(seen)-1]) {
			seen = append(seen, out.Calls)
		}
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
