package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// Purging, and removing an rpm, leaves recordings and what others put there, and names them. What the services made by
// themselves goes: certificates and keys, tokens, sockets. The folders are others here, and there is no user to delete.
func TestPurgeLeavesRecordingsOnly(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/postremove.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		args       string
		have, left []string
		says       string // empty: nothing
	}{
		{"nothing", "purge", nil, nil, ""},
		{"removed only", "remove", []string{".ingero/node-key.pem"}, []string{".ingero/node-key.pem"}, ""},
		{"upgraded rpm", "1", []string{".ingero/node-key.pem"}, []string{".ingero/node-key.pem"}, ""},
		{
			"all that is made by itself", "purge",
			[]string{".ingero/node-cert.pem", ".ingero/node-key.pem", ".ingero/mcp-token", ".ingero/run/annotate.sock", "straggler.sock"},
			nil, "",
		},
		{
			"recordings, of an rpm", "0",
			[]string{"ingero.db", "ingero.db-wal", ".ingero/node-key.pem", ".ingero/ingero.db", "straggler.sock"},
			[]string{".ingero/ingero.db", "ingero.db", "ingero.db-wal"},
			"Recordings are left in",
		},
		{"another file", "purge", []string{"run.json", ".ingero/node-key.pem"}, []string{"run.json"}, "Files are left in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lib := t.TempDir()
			state := filepath.Join(lib, "ingero")
			for _, name := range append(c.have, "../ingero-node-api/.ingero/node-key.pem") {
				path := filepath.Join(state, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				create := func() error { return os.WriteFile(path, nil, 0o600) }
				if strings.HasSuffix(name, ".sock") {
					create = func() error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) }
				}
				if err := create(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(state, 0o700); err != nil {
				t.Fatal(err)
			}
			tools := t.TempDir()
			for tool, does := range map[string]string{"systemctl": ":", "chown": ":", "getent": "exit 2"} {
				if err := os.WriteFile(filepath.Join(tools, tool), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("sh", "-s", c.args)
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(script), "/var/lib/", lib+"/"))
			cmd.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			has(t, string(out), c.says)
			if c.says == "" && len(out) > 0 {
				t.Errorf("it says %s", out)
			}
			var left []string
			if _, err := os.Stat(state); err == nil {
				left = files(t, state)
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left: %q, want %q", left, c.left)
			}
			for _, name := range c.left {
				if c.says != "" {
					has(t, string(out), "  "+filepath.Join(state, name)+"\n")
				}
			}
			_, err = os.Stat(filepath.Join(lib, "ingero-node-api"))
			if kept := err == nil; kept == slices.Contains([]string{"purge", "0"}, c.args) {
				t.Errorf("what the node's API had is kept: %v", kept)
			}
			_, err = os.Stat(state)
			if kept := err == nil; kept != (len(left) > 0 || c.args == "remove" || c.args == "1") {
				t.Errorf("the folder is kept: %v", kept)
			}
		})
	}
}
