package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPackagesSayWhatIsNext: after the first installation, and not after an upgrade. The scripts find no systemd, users
// or files of ours here: nothing is changed.
func TestPackagesSayWhatIsNext(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("scripts/*postinstall.sh")
	if err != nil || len(scripts) != 3 {
		t.Fatalf("%q %v", scripts, err)
	}
	path := t.TempDir()
	for tool, does := range map[string]string{"systemd-sysusers": ":", "systemctl": ":", "chgrp": ":", "chmod": ":", "cat": ""} {
		if does == "" {
			real, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			does = real + ` "$@"`
		}
		if err := os.WriteFile(filepath.Join(path, tool), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		for args, first := range map[string]bool{"configure": true, "configure 0.9.0": false, "1": true, "2": false, "abort-upgrade": false} {
			cmd := exec.Command(shell, append([]string{script}, strings.Fields(args)...)...)
			cmd.Env = []string{"PATH=" + path}
			out, err := cmd.CombinedOutput()
			if lines := strings.Split(string(out), "\n"); err != nil || first != slices.ContainsFunc(lines, func(l string) bool {
				return strings.HasPrefix(l, "next: ")
			}) {
				t.Errorf("%s %s: %v: %s", script, args, err, out)
			}
		}
	}
}

// Each script is in a package.
func TestScriptsAreInPackages(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("scripts/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%q %v", scripts, err)
	}
	b, err := os.ReadFile("goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		if !strings.Contains(string(b), ": packaging/"+s+"\n") {
			t.Errorf("no package has %s", s)
		}
	}
}
