package agent_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// links is how many of this process's descriptors are links of programs in the kernel, and events.
func links(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		to, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err == nil && strings.HasPrefix(to, "anon_inode:") {
			n++
		}
	}
	return n
}

// background runs a tracer until the test ends it.
func background(t *testing.T, o agent.Options) (end func() agent.Summary) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	started, done := make(chan struct{}), make(chan agent.Summary, 1)
	o.Started = func(agent.Start) { close(started) }
	go func() {
		s, err := agent.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	<-started
	end = func() agent.Summary {
		stop()
		return <-done
	}
	return end
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never was that %s", what)
		}
	}
}

// tmpfs mounts a file system of its own.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A tracer of the whole machine keeps neither file systems nor deleted files, nor descriptors for them.
func TestLibrariesThatNobodyUsesAnyMoreAreLetGo(t *testing.T) {
	files := extract(t)
	c := newCounter()
	end := background(t, c.options())
	before := links(t)
	run := func(dir string, meanwhile func()) {
		t.Helper()
		theirs, err := cudastub.Extract(dir)
		if err != nil {
			t.Fatal(err)
		}
		v, err := files.Start(t.Context(), cudastub.Options{LibDir: theirs.LibDir})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "its calls are recorded", func() bool {
			do(t, v, "call cudaLaunchKernel 1") // the first ones may be before the probes
			return c.of(v.PID()) > 0
		})
		meanwhile()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mounted := tmpfs(t)
	run(mounted, func() {})
	eventually(t, "the file system is free", func() bool { return unix.Unmount(mounted, 0) == nil })

	folders := tmpfs(t)
	for i := range 5 {
		dir := filepath.Join(folders, fmt.Sprint(i))
		run(dir, func() { must(t, os.RemoveAll(dir)) })
	}
	eventually(t, "deleted files take no space", func() bool {
		var s unix.Statfs_t
		must(t, unix.Statfs(folders, &s))
		return s.Bfree == s.Blocks
	})
	eventually(t, "there are no more links than before", func() bool { return links(t) <= before })
	names := end().Libraries
	if !slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, mounted) }) {
		t.Errorf("the summary lacks %s: %q", mounted, names)
	}
}

// A process that goes on may unmap a library.
func TestALibraryThatWasUnmappedIsLetGo(t *testing.T) {
	files := extract(t)
	c := newCounter()
	end := background(t, c.options())
	defer end()
	mounted := tmpfs(t)
	theirs, err := cudastub.Extract(mounted)
	must(t, err)
	v, err := files.Start(t.Context(), cudastub.Options{Late: true, LibDir: theirs.LibDir})
	must(t, err)
	defer v.Close()
	do(t, v, "dlopen")
	eventually(t, "its calls are recorded", func() bool {
		do(t, v, "call cudaLaunchKernel 1")
		return c.of(v.PID()) > 0
	})
	do(t, v, "dlclose")
	eventually(t, "the file system is free", func() bool { return unix.Unmount(mounted, 0) == nil })
}

// The children that a named process has already are traced, and named at the beginning.
func TestChildrenThatExistAreTraced(t *testing.T) {
	files := extract(t)
	shell := exec.Command("sh", "-c", `exec 3<&0; "$1" serve <&3 & echo $!; wait`, "launcher", files.Victim)
	shell.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir)
	in, err := shell.StdinPipe()
	must(t, err)
	out, err := shell.StdoutPipe()
	must(t, err)
	must(t, shell.Start())
	answers := bufio.NewScanner(out)
	answers.Scan()
	child, err := strconv.Atoi(answers.Text())
	must(t, err)
	fmt.Fprintln(in, "call cudaLaunchKernel 1") // from its answer on, its libraries are mapped
	answers.Scan()
	c := newCounter()
	o := c.options()
	o.PIDs = []int{shell.Process.Pid}
	var first []agent.Traced
	o.Started = func(s agent.Start) {
		first = s.Processes
		fmt.Fprintln(in, "call cudaLaunchKernel 5")
		in.Close() // at which it exits, and the shell
		go func() {
			for answers.Scan() {
			}
			_ = shell.Wait() // how it ends says nothing
		}()
	}
	_, err = agent.Run(t.Context(), o)
	must(t, err)
	if !slices.ContainsFunc(first, func(p agent.Traced) bool { return p.PID == child }) {
		t.Errorf("the child %d is not among %v", child, first)
	}
	if got := c.calls[uint32(child)]["cudaLaunchKernel"]; got != 5 {
		t.Errorf("%d of 5 calls are recorded", got)
	}
}

// What a forked child of a command calls before its probes are there is missing; that is counted.
func TestCallsOfAForkedChildAreRecordedOrCountedAsLate(t *testing.T) {
	files := extract(t)
	const calls = 10
	c := newCounter()
	o := c.options()
	o.Command = []string{"env", "LD_LIBRARY_PATH=" + files.LibDir, files.Victim, "serve"}
	o.Stdin = strings.NewReader(fmt.Sprintf("call cudaLaunchKernel 1\nspawn cudaLaunchKernel %d\n", calls))
	o.Stdout = io.Discard
	s, err := agent.Run(t.Context(), o)
	must(t, err)
	recorded := int64(0)
	for _, ops := range c.calls {
		recorded += ops["cudaLaunchKernel"]
	}
	late := slices.ContainsFunc(s.Losses, func(l event.Loss) bool { return l.Kind == event.LostLate && l.Count > 0 })
	if t.Logf("%d of %d calls, %v", recorded, calls+1, s.Losses); recorded < calls+1 && !late {
		t.Errorf("%d of %d calls are recorded, and none is said to be missing: %v", recorded, calls+1, s.Losses)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do tells a program one command.
func do(t *testing.T, v *cudastub.Victim, command string) {
	t.Helper()
	_, err := v.Do(command)
	must(t, err)
}

// of is how many calls of a process are recorded.
func (c *counter) of(pid int) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, calls := range c.calls[uint32(pid)] {
		n += calls
	}
	return n
}
