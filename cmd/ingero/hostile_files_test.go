package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/internal/hostile/elffile"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// What a tracer may take while it reads hostile files, in bytes: the group in which it runs, and its memory.
const (
	hostileGroup  = 400 << 20
	hostileMemory = 200 << 20
)

// memoryGroup makes a control group whose processes may use so much memory, and returns its list of processes.
func memoryGroup(t *testing.T, most int) (procs string) {
	t.Helper()
	name := fmt.Sprintf("ingero-hostile-%d", os.Getpid())
	for _, v := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(v[0], name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		if os.WriteFile(filepath.Join(dir, v[1]), []byte(strconv.Itoa(most)), 0o644) == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	kerneltest.Lacks(t, "no memory controller in which a control group can be made")
	return ""
}

// mapCode maps the code of a file into this process.
func mapCode(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), elffile.CodeAt, elffile.CodeSize, syscall.PROT_READ|syscall.PROT_EXEC,
		syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
}

// peak is the most memory that a process has had, in bytes.
func peak(t *testing.T, pid int) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if _, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &n); err == nil {
			return n << 10
		}
	}
	t.Fatalf("no VmHWM in %s", b)
	return 0
}

// TestHostileFilesDoNotHarmTheTracer: while the machine is traced, a process maps every hostile file under the name
// of the CUDA runtime. The tracer may use little memory, says once of each file what it does not read, and goes on.
func TestHostileFilesDoNotHarmTheTracer(t *testing.T) {
	kerneltest.Require(t)
	dir := t.TempDir()
	attacks := elffile.Attacks()
	files := make([]string, len(attacks))
	for i := range attacks {
		files[i] = filepath.Join(dir, fmt.Sprintf("attack-%02d", i), "libcudart.so.12")
		if err := os.Mkdir(filepath.Dir(files[i]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := attacks[i].Write(files[i]); err != nil {
			t.Fatalf("%s: %v", attacks[i].Name, err)
		}
	}
	in := []string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, memoryGroup(t, hostileGroup)}
	cmd := ingero(t, in, "trace", "--record=false")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it has ended by now, unless the test failed
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready in") {
	}
	go func() { // until it ends
		for lines.Scan() {
		}
	}()
	for _, f := range files {
		mapCode(t, f)
	}
	warnings := bufio.NewScanner(stderr)
	said := refusals(t, warnings, attacks)
	if n := peak(t, cmd.Process.Pid); n > hostileMemory {
		t.Errorf("it used %d MiB", n>>20)
	} else {
		t.Logf("it used %d MiB", n>>20)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error("it ended:", err)
	}
	for warnings.Scan() {
		said = append(said, warnings.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, strings.Join(said, "\n"))
	}
	for i := range attacks {
		n := 0
		for _, line := range said {
			if strings.Contains(line, filepath.Dir(files[i])) {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%s is named %d times:\n%s", attacks[i].Name, n, strings.Join(said, "\n"))
		}
	}
}

// refusals reads what the tracer says until every attack that exceeds a limit of what is read for probes is named.
func refusals(t *testing.T, lines *bufio.Scanner, attacks []elffile.Attack) (said []string) {
	t.Helper()
	wanted := map[string]bool{}
	for i, a := range attacks {
		if slices.Contains(refusedForProbes, a.Name) {
			wanted[fmt.Sprintf("attack-%02d/", i)] = true
		}
	}
	if len(wanted) != len(refusedForProbes) {
		t.Fatalf("%d attacks of %v", len(wanted), refusedForProbes)
	}
	for len(wanted) > 0 && lines.Scan() {
		said = append(said, lines.Text())
		for of := range wanted {
			if strings.Contains(lines.Text(), of) && strings.Contains(lines.Text(), "cannot attach") {
				delete(wanted, of)
			}
		}
	}
	if len(wanted) > 0 {
		t.Errorf("nothing is said of %v, but:\n%s", wanted, strings.Join(said, "\n"))
	}
	return said
}

var refusedForProbes = []string{
	"sparse .dynstr", "sparse .dynsym", "sparse .shstrtab", "compressed .dynstr", "8 million exported symbols",
	"65,535 sections", "65,535 program headers", "a million functions of one name",
}
