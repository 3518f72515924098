package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTokenIsReadFromTheFirstSource adds one source after the other, each before the last one.
func TestTokenIsReadFromTheFirstSource(t *testing.T) {
	const flag, file, env, own = "from-the-flag-0123456789", "from-the-file-0123456789", "from-the-env-0123456789",
		"from-home-0123456789"
	home := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	given := write(filepath.Join(home, "token.txt"), "  "+file+"\n")
	set := map[string]string{"HOME": home}
	c := &console{env: func(k string) string { return set[k] }}
	expect := func(a listenAddress, want, from string) {
		t.Helper()
		a.service = mcpService
		if got, where, err := c.serviceToken(&a); err != nil || got != want || !strings.Contains(where, from) {
			t.Errorf("%+v: %q from %q, want %q from %q (%v)", a, got, where, want, from, err)
		}
	}
	expect(listenAddress{}, "", "")
	write(filepath.Join(home, ".ingero", "mcp-token"), own+"\n")
	expect(listenAddress{}, own, "mcp-token")
	set[mcpService.tokenEnv] = env
	expect(listenAddress{}, env, mcpService.tokenEnv)
	expect(listenAddress{tokenFile: given}, file, "token.txt")
	expect(listenAddress{token: flag}, flag, "--token")

	write(given, "\n")
	if _, _, err := c.serviceToken(&listenAddress{service: mcpService, tokenFile: given}); err == nil ||
		!strings.Contains(err.Error(), "0 characters") {
		t.Errorf("an empty file: %v", err)
	}
	write(given, file+"\n"+own+"\n")
	if _, _, err := c.serviceToken(&listenAddress{service: mcpService, tokenFile: given}); err == nil ||
		!strings.Contains(err.Error(), "several lines") {
		t.Errorf("a file of two lines: %v", err)
	}
}

// TestLogNextToTheTableIsBounded writes more than a run of several days does.
func TestLogNextToTheTableIsBounded(t *testing.T) {
	var l lockedBuffer
	for range 10_000 {
		if _, err := l.Write([]byte(strings.Repeat("x", 99) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("the last\n")); err != nil {
		t.Fatal(err)
	}
	text := l.String()
	if len(text) > maxLog+100 || !strings.HasPrefix(text, "…\nx") || !strings.HasSuffix(text, "x\nthe last\n") {
		t.Errorf("%d bytes, from %.20q", len(text), text)
	}
}

func TestAddressesOfACertificate(t *testing.T) {
	if got := addressesOf("192.0.2.7:9090"); !slices.Equal(got, []string{"192.0.2.7"}) {
		t.Errorf("one address: %v", got)
	}
	if got := addressesOf("gpu1:9090"); len(got) != 0 {
		t.Errorf("a name: %v", got)
	}
	for _, all := range []string{"0.0.0.0:9090", "[::]:9090", ":9090"} {
		own, err := net.InterfaceAddrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range own {
			ip := a.(*net.IPNet).IP
			if got := addressesOf(all); slices.Contains(got, ip.String()) != ip.IsGlobalUnicast() {
				t.Errorf("%s: %v, and this machine has %s", all, got, ip)
			}
		}
	}
}
