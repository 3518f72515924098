// Package terminal runs a program in a real terminal emulator, tmux, and reads what is on
// its screen: what a person would see, not what the program wrote. For tests.
package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// RequireEnv makes a missing tmux a failure instead of a skip; CI sets it.
const RequireEnv = "INGERO_REQUIRE_TERMINAL"

// Require skips the test where there is no emulator, or fails it if RequireEnv is set.
func Require(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err == nil {
		return
	}
	if os.Getenv(RequireEnv) != "" {
		t.Fatalf("needs tmux, and %s is set", RequireEnv)
	}
	t.Skip("needs tmux, a real terminal emulator: apt-get install tmux")
}

// Terminal is an emulator with a program in it.
type Terminal struct {
	t      testing.TB
	socket string
}

// Start runs a program in a terminal of that size. Of the environment it gets PATH, and
// what is given. The screen stays when the program has ended, with "exit N" below its
// output.
func Start(t testing.TB, width, height int, env []string, argv ...string) *Terminal {
	t.Helper()
	Require(t)
	x := &Terminal{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	conf := filepath.Join(t.TempDir(), "tmux.conf")
	settings := "set -g remain-on-exit on\nset -g status off\nset -g default-terminal tmux-256color\nset -s " +
		"escape-time 0\n"
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	words := append([]string{"env", "-i", "PATH=" + os.Getenv("PATH"), "TERM=tmux-256color", "LC_ALL=C.UTF-8"},
		append(env, argv...)...)
	for i, w := range words {
		words[i] = quote(w)
	}
	t.Cleanup(func() { _ = x.tmux("kill-server").Run() }) // it may have ended by itself
	x.do("-f", conf, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height),
		strings.Join(words, " ")+"; echo exit $?; sleep 600")
	return x
}

// quote makes an argument one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (x *Terminal) tmux(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	return cmd
}

func (x *Terminal) do(args ...string) string {
	x.t.Helper()
	out, err := x.tmux(args...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// Press presses keys, named as tmux does: a, Enter, Escape, BTab, C-c.
func (x *Terminal) Press(keys ...string) {
	x.t.Helper()
	x.do(append([]string{"send-keys"}, keys...)...)
}

// Resize changes the size.
func (x *Terminal) Resize(width, height int) {
	x.t.Helper()
	x.do("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

// Screen is the text on the screen, line by line, without spaces at the ends.
func (x *Terminal) Screen() string {
	x.t.Helper()
	return x.do("capture-pane", "-p")
}

// Drawn is Screen with the escape sequences of its colours.
func (x *Terminal) Drawn() string {
	x.t.Helper()
	return x.do("capture-pane", "-p", "-e")
}

// patience is how long something may take to come to the screen, on any machine.
const patience = 3 * time.Minute

// Wait waits until everything is on the screen at once, and returns the screen.
func (x *Terminal) Wait(what ...string) string {
	x.t.Helper()
	screen := ""
	for deadline := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		screen = x.Screen()
		missing := ""
		for _, w := range what {
			if !strings.Contains(screen, w) {
				missing = w
				break
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%q does not come to the screen:\n%s", missing, screen)
		}
	}
}
