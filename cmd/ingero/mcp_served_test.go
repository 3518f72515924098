package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// served is a process of this program that serves over HTTPS.
type served struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	pem []byte // its certificate
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
	for _, name := range []string{mcpService.name, nodeService.name} {
		if pem, err := os.ReadFile(filepath.Join(home, ".ingero", name+"-cert.pem")); err == nil {
			s.pem = pem
			s.ca.AppendCertsFromPEM(pem)
		}
	}
	return s
}

// host is its address, as of a node.
func (s *served) host() string {
	s.t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Host
}

// http is a client that knows the certificate.
func (s *served) http() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca}}}
}

// client is an agent.
func (s *served) client() *mcp.ClientSession {
	s.t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: s.url, HTTPClient: s.http(),
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
