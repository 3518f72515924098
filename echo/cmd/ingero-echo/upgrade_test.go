package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An upgrade keeps /etc/ingero/echo.env, so the service of today must start with that of earlier packages.
func TestTheConfigurationOfEarlierPackagesIsAccepted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../packaging/testdata/etc/*/echo.env")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	unit, err := os.ReadFile("../../../packaging/systemd/ingero-echo.service")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(unit), "\nExecStart=/usr/bin/ingero-echo serve $INGERO_ECHO_FLAGS\n") {
		t.Error("the unit does not take the flags of echo.env")
	}
	for _, file := range append(files, "../../../packaging/etc/echo.env") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, flags, found := strings.Cut(string(b), "\nINGERO_ECHO_FLAGS=\"")
		flags, _, closed := strings.Cut(flags, "\"\n")
		if !found || !closed || !strings.Contains(string(b), "\n# "+tokenEnv+"=") {
			t.Fatalf("%s: %s", file, b)
		}
		cmd := serveCommand(io.Discard, os.Getenv)
		if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for name, want := range map[string]string{"db-path": "/var/lib/ingero-echo/echo.db", "health-addr": "127.0.0.1:8082"} {
			if got := cmd.Flags().Lookup(name).Value.String(); got != want {
				t.Errorf("%s: --%s is %q, want %q", file, name, got, want)
			}
		}
	}
}
