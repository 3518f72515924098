package packaging_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kubernetesEnv names the folder with the programs that "make kubernetes" built. A node with containerd needs only those
// of Debian.
const kubernetesEnv = "INGERO_KUBERNETES"

// longest is how long a command may take, on a busy machine.
const longest = 4 * time.Minute

// failures is a test that repeats at its end what failed, below what explains the state of its node: pages of logs.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) say(text string) { f.said = append(f.said, strings.TrimSpace(text)) }

// Errorf, Error, Fatalf and Fatal are those of the test, and keep what they say.
func (f *failures) Errorf(format string, args ...any) {
	f.Helper()
	f.say(fmt.Sprintf(format, args...))
	f.TB.Errorf(format, args...)
}

func (f *failures) Error(args ...any) {
	f.Helper()
	f.say(fmt.Sprintln(args...))
	f.TB.Error(args...)
}

func (f *failures) Fatalf(format string, args ...any) {
	f.Helper()
	f.say(fmt.Sprintf(format, args...))
	f.TB.Fatalf(format, args...)
}

func (f *failures) Fatal(args ...any) {
	f.Helper()
	f.say(fmt.Sprintln(args...))
	f.TB.Fatal(args...)
}

// node is a machine with containerd, in namespaces of its own.
type node struct {
	t      *failures
	script string // that starts it
	tools  string
	dir    string
}

// newNode starts a node, which is removed when the test ends, however it ends. If the test fails, explain is called
// before.
func newNode(t *testing.T, script string, explain func(n *node)) *node {
	t.Helper()
	tools := os.Getenv(kubernetesEnv)
	n := &node{t: &failures{TB: t}, script: script, tools: tools, dir: filepath.Join(tools, filepath.Base(script))}
	n.do("down")
	began := time.Now()
	t.Cleanup(func() {
		if t.Failed() {
			explain(n)
		}
		n.do("down")
		if _, err := os.Stat(n.dir); err == nil {
			n.t.Errorf("%s is left", n.dir)
		}
		for _, text := range n.t.said {
			t.Logf("failed: %s", text)
		}
	})
	n.do("up", fmt.Sprint(os.Getpid()))
	t.Logf("the node is ready after %s", time.Since(began).Round(time.Second))
	if err := os.Mkdir(n.work(), 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

// work is the folder in which lines of shell are run.
func (n *node) work() string { return filepath.Join(n.dir, "work") }

// command is one of the script, which is ended when ctx is.
func (n *node) command(ctx context.Context, what string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.script, append([]string{what, n.dir}, args...)...)
	cmd.WaitDelay = time.Second // what it started may still have its output
	cmd.Env = append(os.Environ(), "KUBERNETES="+n.tools)
	return cmd
}

func (n *node) do(what string, args ...string) {
	n.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), longest) // also when the test has ended
	defer stop()
	if out, err := n.command(ctx, what, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v: %s", n.script, what, err, out)
	}
}

// line is a line of shell on the node, in the folder work.
func (n *node) line(ctx context.Context, line string) *exec.Cmd {
	return n.command(ctx, "run", "bash", "-euo", "pipefail", "-c", "cd "+n.work()+"\n"+line)
}

// try runs a line of shell on the node.
func (n *node) try(line string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), longest) // also when the test has ended
	defer stop()
	out, err := n.line(ctx, line).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (n *node) run(line string) string {
	n.t.Helper()
	out, err := n.try(line)
	if err != nil {
		n.t.Fatalf("%s: %v: %s", line, err, out)
	}
	return out
}
