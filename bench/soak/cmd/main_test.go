package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/bench/soak"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// calm is a tracer that does nothing: it says that it has attached, answers that all is well, and ends when asked to.
const calm = `#!/bin/sh
case $1 in
explain) echo '{}' ;;
query) echo '[]' ;;
*) echo '{"type":"start"}'; trap exit INT TERM; while :; do sleep 1 & wait; done ;;
esac
`

// built builds the soak and the calm tracer.
func built(t *testing.T) (program, ingero string) {
	t.Helper()
	kerneltest.Require(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		kerneltest.Lacks(t, "gcc is missing")
	}
	dir := t.TempDir()
	program, ingero = filepath.Join(dir, "soak"), filepath.Join(dir, "ingero")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(ingero, []byte(calm), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, ingero
}

// traces are processes that have a folder in their arguments, and what is mounted there.
func traces(t *testing.T, dir string) (left []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "/proc/self/mountinfo") {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(dir)) {
			left = append(left, f+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return left
}

// A soak that is interrupted, or whose process is killed, leaves no process, mount or file.
func TestInterruptedSoakLeavesNothing(t *testing.T) {
	program, ingero := built(t)
	for name, interrupt := range map[string]func(watcher *os.Process, soak int) error{
		"interrupted": func(watcher *os.Process, _ int) error { return watcher.Signal(os.Interrupt) },
		"killed":      func(_ *os.Process, soak int) error { return syscall.Kill(soak, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(program, "-ingero", ingero, "-minutes", "60")
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(said)
			if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "churn begin") {
				t.Fatalf("%q %v", line, err)
			}
			var there []string
			for end := time.Now().Add(30 * time.Second); len(there) < 4; there = traces(t, dir) {
				if time.Now().After(end) {
					t.Fatalf("no programs were started: %q", there)
				}
			}
			children := soak.Children(cmd.Process.Pid)
			if len(children) != 1 {
				t.Fatalf("the watcher has the children %v", children)
			}
			if err := interrupt(cmd.Process, children[0]); err != nil {
				t.Fatal(err)
			}
			rest := new(bytes.Buffer)
			_, _ = rest.ReadFrom(lines) // it ends with the process
			if err := cmd.Wait(); err == nil {
				t.Error("it says that it passed")
			}
			if left := traces(t, dir); len(left) > 0 {
				t.Errorf("left behind: %q; it said %s", left, rest)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v; it said %s", left, err, rest)
			}
		})
	}
}
