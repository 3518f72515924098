package webserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/serve/webserver"
)

var names = []string{"localhost", "127.0.0.1", "::1", "gpu-node-01"}

func own(t *testing.T, dir string, now time.Time) *webserver.Cert {
	t.Helper()
	c, err := webserver.OwnCert(dir, "mcp", names, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificateIsGeneratedOnce(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	c := own(t, dir, now)
	if k, ok := c.TLS.PrivateKey.(*ecdsa.PrivateKey); !ok || k.Curve != elliptic.P256() {
		t.Errorf("key: %T", c.TLS.PrivateKey)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c.TLS.Leaf)
	for _, n := range names {
		if _, err := c.TLS.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: n}); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if l := c.Lacks([]string{"localhost", "other", "192.0.2.1"}); len(l) != 2 {
		t.Errorf("lacks %v", l)
	}
	if !regexp.MustCompile(`^([0-9A-F]{2}:){31}[0-9A-F]{2}$`).MatchString(c.Fingerprint()) {
		t.Errorf("fingerprint %q", c.Fingerprint())
	}
	for name, mode := range map[string]os.FileMode{"mcp-key.pem": 0o600, "mcp-cert.pem": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	again := own(t, dir, now.Add(c.Until().Sub(now)-time.Minute))
	if again.Generated || !c.Generated || again.Fingerprint() != c.Fingerprint() || len(again.Made) != 0 {
		t.Errorf("second time: %+v", again)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("files: %v %v", left, err)
	}
}

func TestExpiredCertificateIsRenewedWithItsKey(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	c := own(t, dir, now)
	renewed := own(t, dir, c.Until().Add(time.Second))
	if !renewed.Generated || renewed.Fingerprint() == c.Fingerprint() || !renewed.Until().After(c.Until()) {
		t.Errorf("renewed: %v until %v", renewed.Generated, renewed.Until())
	}
	if !c.TLS.PrivateKey.(*ecdsa.PrivateKey).Equal(renewed.TLS.PrivateKey) {
		t.Error("the key has changed")
	}
}

// TestCertificateIsGeneratedByOneOfMany starts many servers at a time.
func TestCertificateIsGeneratedByOneOfMany(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := webserver.OwnCert(dir, "mcp", names, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if own(t, dir, time.Now()).Generated {
		t.Error("none was kept")
	}
}

func TestDamagedCertificateIsNotReplaced(t *testing.T) {
	for _, name := range []string{"mcp-key.pem", "mcp-cert.pem"} {
		dir := t.TempDir()
		own(t, dir, time.Now())
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("no PEM"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := webserver.OwnCert(dir, "mcp", names, time.Now())
		if err == nil || !strings.Contains(err.Error(), "delete") {
			t.Errorf("%s: %v", name, err)
		}
		if b, _ := os.ReadFile(path); string(b) != "no PEM" {
			t.Errorf("%s was replaced", name)
		}
	}
}
