package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/terminal"
)

// wide is a name of a thread of which each character takes two columns.
const wide = "模型训练"

// trainer runs the stand-in program, with a lock that is held too long, memory that is not
// freed, a thread with a wide name, and a name of its own that would clear the screen.
func trainer(t *testing.T) *cudastub.LoopRun {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	loop, err := files.StartLoop(ctx, cudastub.Options{}, "--dir", t.TempDir(), "--seconds", "300", "--start-after", "0",
		"--fault", "lock", "--also", "leak", "--name", "job\x1b[2J", "--thread", wide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_, _ = loop.Wait() // it was ended
	})
	if err := loop.Begin(); err != nil {
		t.Fatal(err)
	}
	return loop
}

// losses begins the last line of every screen.
var losses = regexp.MustCompile(`^(nothing dropped|DROPPED: )`)

// framed checks what is the same on every screen: the state of the run and the tabs
// above, and what was dropped below.
func framed(t *testing.T, screen string, height int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(lines) != height || !strings.HasPrefix(lines[0], "ingero") || !strings.Contains(lines[1], "2") ||
		!losses.MatchString(lines[height-1]) {
		t.Errorf("%d lines, of which the first or the last is wrong:\n%s", len(lines), screen)
	}
	if strings.Contains(screen, "\x1b") {
		t.Errorf("the screen has escape sequences:\n%q", screen)
	}
}

// aligned checks that the numbers of a row stand below the title of their column.
func aligned(t *testing.T, screen, title, name string) {
	t.Helper()
	columns := map[string]int{}
	for line := range strings.Lines(screen) {
		for mark, end := range map[string]string{title: title, name: "%"} {
			if i := strings.Index(line, mark); i >= 0 {
				columns[mark] = ansi.StringWidth(line[:i+strings.Index(line[i:], end)+len(end)])
			}
		}
	}
	if columns[title] == 0 || columns[title] != columns[name] {
		t.Errorf("%q ends in column %d, the number of %s in %d:\n%s", title, columns[title], name, columns[name], screen)
	}
}

// TestViewOnARealTerminal traces a program in a terminal emulator, and looks at each tab.
func TestViewOnARealTerminal(t *testing.T) {
	kerneltest.Require(t)
	terminal.Require(t)
	home := t.TempDir()
	other := filepath.Join(home, "other.db")
	if err := writeIncident(other, time.Now().Add(-incidentLength)); err != nil {
		t.Fatal(err)
	}
	node := serve(t, nil, "dashboard", other, "--http", "127.0.0.1:0", "--no-tls")
	conf := filepath.Join(home, "ingero.yaml")
	if err := os.WriteFile(conf, []byte("node: gpu-node-07\nfleet: {nodes: ['"+node.host()+
		"', '127.0.0.1:1'], no_tls: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := fmt.Sprint(trainer(t).PID())
	db := filepath.Join(home, "run.db")
	x := terminal.Start(t, 80, 24, []string{"HOME=" + home}, "ingero", "trace", "--pid", pid, "--db", db, "--config", conf)
	bare := terminal.Start(t, 60, 16, []string{"HOME=" + home, "NO_COLOR=1"}, "ingero", "trace", "--pid", pid,
		"--record=false")

	// What is found depends on what else the machine does, and is not tested here.
	screens := []struct {
		key  string
		want []string
	}{
		{"1", []string{"gpu-node-07", "CALLS/S", "WAITS FOR", `job\x1b[2J (` + pid + ")", "cudaLaunchKernel"}},
		{"2", []string{"LAST 10S", "C on CPU", wide + " ("}},
		{"3", []string{"SEVERITY", "all of it: ingero explain"}},
		{"4", []string{"host:", "LIVE", "FAILED", "cudaMalloc"}},
		{"5", []string{"gpu-node-07", "trainer lost", "127.0.0.1:1", "MISSING", "connection refused"}},
	}
	for _, s := range screens {
		x.Press(s.key)
		framed(t, x.Wait(s.want...), 24)
	}
	x.Press("2")
	aligned(t, x.Wait("LAST 10S", wide+" ("), "ON CPU", wide)
	if drawn := x.Drawn(); !strings.Contains(drawn, "\x1b[48;") && !strings.Contains(drawn, ";48;") {
		t.Errorf("the bars have no colours:\n%q", drawn)
	}
	x.Press("3")
	x.Wait("SEVERITY")
	x.Press("G", "g", "Enter")
	framed(t, x.Wait("job?[2J", "Esc back"), 24)
	x.Press("Escape")
	x.Wait("SEVERITY")
	x.Resize(40, 10)
	for _, s := range []struct{ key, want string }{
		{"1", "OPERATION"},
		{"2", "THREAD"},
		{"4", "LIVE"},
		{"5", "VERDICT"},
		{"3", "SEVERITY"},
	} {
		x.Press(s.key)
		framed(t, x.Wait(s.want), 10)
	}
	x.Resize(80, 24)
	x.Press("q")
	if s := x.Wait("exit 0"); !strings.Contains(s, "next: ingero explain --db") || strings.Contains(s, "SEVERITY") {
		t.Errorf("after the end:\n%s", s)
	}

	bare.Press("2")
	framed(t, bare.Wait("[2 Ledger]", "C on CPU"), 16)
	if drawn := bare.Drawn(); strings.Contains(drawn, "\x1b[") {
		t.Errorf("NO_COLOR is set, and there are colours:\n%q", drawn)
	}
	bare.Press("C-c")
	bare.Wait("exit 0")
}
