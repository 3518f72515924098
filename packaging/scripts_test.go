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
			out := purge(t, string(script), lib, c.args)
			has(t, out, c.says)
			if c.says == "" && out != "" {
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
					has(t, out, "  "+filepath.Join(state, name)+"\n")
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

// purge runs the script that is called after removal, on another folder than /var/lib, and returns what it says. There
// is no user to delete.
func purge(t *testing.T, script, lib, args string) string {
	t.Helper()
	tools := t.TempDir()
	for tool, does := range map[string]string{"systemctl": ":", "chown": ":", "getent": "exit 2"} {
		replace(t, tools, tool, does)
	}
	cmd := exec.Command("sh", "-s", args)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(script, "/var/lib/", lib+"/"))
	cmd.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Purging, and removing an rpm, names the recordings that Slurm's prolog made, which stay.
func TestPurgeNamesRecordingsOfJobs(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/postremove.sh")
	if err != nil {
		t.Fatal(err)
	}
	for args, names := range map[string]bool{"purge": true, "0": true, "remove": false, "1": false} {
		lib := made(t, map[string]string{"ingero-jobs/4711.db": "", "ingero-jobs/4711.txt": ""})
		jobs := filepath.Join(lib, "ingero-jobs")
		out, want := purge(t, string(script), lib, args), ""
		if names {
			want = "Recordings of jobs are left in " + jobs + ":\n  " + jobs + "/4711.db\n" +
				"To delete them: sudo rm -r " + jobs + "\n"
		}
		if out != want {
			t.Errorf("%s says %q, want %q", args, out, want)
		}
		if got := files(t, jobs); len(got) != 2 {
			t.Errorf("%s left %q", args, got)
		}
	}
	if out := purge(t, string(script), made(t, map[string]string{"ingero-jobs/4711.txt": ""}), "purge"); out != "" {
		t.Errorf("without a recording it says %s", out)
	}
}

// Before removal units are disabled, and stopped where systemd runs. An upgrade leaves them alone.
func TestRemovalDisablesUnits(t *testing.T) {
	t.Parallel()
	for script, units := range map[string]string{
		"preremove.sh": "ingero.service ingero-node-api.service", "echo-preremove.sh": "ingero-echo.service",
	} {
		text, err := os.ReadFile(filepath.Join("scripts", script))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			args           string
			running, there bool // systemd, and its systemctl
			want           string
		}{
			{"remove", true, true, "disable --now " + units},
			{"0", true, true, "disable --now " + units},
			{"remove", false, true, "disable " + units},
			{"0", false, true, "disable " + units},
			{"remove", false, false, ""},
			{"0", false, false, ""},
			{"upgrade 1.2.3", true, true, ""},
			{"1", true, true, ""},
			{"upgrade 1.2.3", false, true, ""},
			{"1", false, true, ""},
		} {
			dir, run := t.TempDir(), made(t, map[string]string{"other": ""})
			if c.running {
				run = made(t, map[string]string{"systemd/system/unit": ""})
			}
			log := filepath.Join(dir, "log")
			if c.there {
				replace(t, dir, "systemctl", `echo "$*" >>`+log+"; exit 1") // that it fails must not matter
			}
			shell, err := exec.LookPath("sh")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(shell, append([]string{"-s"}, strings.Fields(c.args)...)...)
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(text), " /run/", " "+run+"/"))
			cmd.Env = []string{"PATH=" + dir}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s %+v: %v: %s", script, c, err, out)
			}
			said, _ := os.ReadFile(log) // there is none if it was not called
			if got := strings.TrimSpace(string(said)); got != c.want {
				t.Errorf("%s %+v: systemctl %s", script, c, got)
			}
		}
	}
}
