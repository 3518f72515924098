package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// needed are the capabilities that the documentation lets setcap give.
var needed = []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH}

// static is the program without cgo, as releases are built.
func static(t *testing.T) string {
	t.Helper()
	kerneltest.Require(t)
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); errno == 0 {
		path, err := exec.LookPath("ingero")
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := filepath.Join(t.TempDir(), "ingero")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// open lets everybody enter a test's folder.
func open(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// withCapabilities copies the program, and gives it the capabilities, as setcap(8) does; it belongs to root and to
// the group of nobody.
func withCapabilities(t *testing.T, mode os.FileMode) string {
	t.Helper()
	b, err := os.ReadFile(static(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(open(t, t.TempDir()), "ingero")
	var mask uint64
	for _, c := range needed {
		mask |= 1 << c
	}
	const revision2, effective = 0x02000000, 1 // struct vfs_cap_data of linux/capability.h
	data := binary.LittleEndian.AppendUint32(nil, revision2|effective)
	for _, word := range []uint32{uint32(mask), 0, uint32(mask >> 32), 0} {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	if err := errors.Join(os.WriteFile(path, b, 0o700), os.Chown(path, 0, nobody), os.Chmod(path, mode),
		unix.Setxattr(path, "security.capability", data, 0)); err != nil {
		t.Fatal(err)
	}
	return path
}

// runs are the ways in which a user who is not root gets capabilities.
var runs = []struct {
	name string
	make func(*testing.T) (string, *syscall.SysProcAttr)
}{
	{"setcap, for everybody", func(t *testing.T) (string, *syscall.SysProcAttr) {
		return withCapabilities(t, 0o755), as(nobody)
	}},
	{"setcap, for a group", func(t *testing.T) (string, *syscall.SysProcAttr) {
		return withCapabilities(t, 0o750), as(nobody)
	}},
	{"a service", func(t *testing.T) (string, *syscall.SysProcAttr) {
		path := static(t)
		open(t, filepath.Dir(path))
		return path, as(nobody, needed...)
	}},
}

// secret is in files that only root may read.
const secret = "hunter2"

// namedPaths are command lines that open files that the user names: SECRET is one, FOLDER has one, MINE is a new file.
var namedPaths = []string{
	"trace --config SECRET --duration 1s",
	"trace --db SECRET --duration 1s",
	"trace --out SECRET --duration 1s",
	"trace --out FOLDER/recording.db --duration 1s",
	"trace --out MINE --mcp 127.0.0.1:0 --config SECRET",
	"query --db SECRET -- select+1",
	"query SECRET select+1",
	"query --config SECRET select+1",
	"query --db FOLDER/recording.db select+1",
	"explain --db SECRET",
	"explain --config SECRET",
	"explain --nodes 127.0.0.1:1 --ca-cert SECRET",
	"explain --nodes 127.0.0.1:1 --client-cert SECRET --client-key SECRET",
	"explain --nodes 127.0.0.1:1 --token-file SECRET",
	"compare SECRET SECRET",
	"export SECRET -o MINE",
	"merge SECRET FOLDER/recording.db -o MINE",
	"mcp --audit SECRET",
	"mcp --http 127.0.0.1:0 --token-file SECRET",
	"mcp --http 127.0.0.1:0 --client-ca SECRET",
	"mcp --http 127.0.0.1:0 --tls-cert SECRET --tls-key SECRET",
	"dashboard --token-file SECRET --http 127.0.0.1:0",
	"trace --record=false --duration 1s --fleet https://127.0.0.1:1 --fleet-ca SECRET",
	"trace --record=false --duration 1s --fleet https://127.0.0.1:1 --fleet-ca /dev/null " +
		"--fleet-cert SECRET --fleet-key SECRET",
	"trace --config /proc/1/environ --duration 1s",
}

// TestFilesOfOthersAreRefused: who may trace reads no file with that which he may not read.
func TestFilesOfOthersAreRefused(t *testing.T) {
	kerneltest.Require(t)
	dir := open(t, t.TempDir())
	file, folder := filepath.Join(dir, "secret"), filepath.Join(dir, "folder")
	if err := errors.Join(os.WriteFile(file, []byte(secret+": "+secret+"\n"), 0o600), os.Mkdir(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "recording.db"), []byte(secret), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			path, attr := r.make(t)
			mine := open(t, t.TempDir())
			if err := os.Chown(mine, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			for _, line := range namedPaths {
				args := strings.Fields(strings.NewReplacer("SECRET", file, "FOLDER", folder,
					"MINE", filepath.Join(mine, "new")).Replace(line))
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "+", " ")
				}
				cmd := exec.CommandContext(t.Context(), path, args...)
				cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", attr, []string{"HOME=" + mine, "PATH=" + os.Getenv("PATH")}
				out, err := cmd.CombinedOutput()
				if err == nil || !bytes.Contains(out, []byte("permission denied")) || bytes.Contains(out, []byte(secret)) {
					t.Errorf("%s: %v: %s", line, err, out)
				}
			}
		})
	}
}

// victims starts the stand-in program as root and as nobody; they end with the test.
func victims(t *testing.T) (root, own int) {
	t.Helper()
	files, err := cudastub.Extract(open(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, user := range []uint32{0, nobody} {
		cmd := exec.CommandContext(t.Context(), files.Victim, "loop", "--seconds", "600")
		cmd.Env, cmd.SysProcAttr = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir), as(user)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() }) // it does not end by itself
		pids = append(pids, cmd.Process.Pid)
	}
	return pids[0], pids[1]
}

// TestWhoTracesWhom: a program with capabilities that everybody can execute traces only its user's processes; one
// that only a group can execute, or a service, traces all.
func TestWhoTracesWhom(t *testing.T) {
	kerneltest.Require(t)
	root, own := victims(t)
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			path, attr := r.make(t)
			all := r.name != runs[0].name
			run := func(args ...string) (string, string, error) {
				cmd := exec.CommandContext(t.Context(), path, args...)
				var out, said bytes.Buffer
				cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = "/", attr, &out, &said
				err := cmd.Run()
				return out.String(), said.String(), err
			}
			trace := []string{"trace", "--record=false", "--json", "--duration", "2s"}
			sees := func(out string, pid int) bool { return strings.Contains(out, `"pid":`+strconv.Itoa(pid)+",") }
			out, said, err := run(trace...)
			if err != nil || !sees(out, own) || sees(out, root) != all {
				t.Errorf("the machine: %v; own: %v, root's: %v; %s", err, sees(out, own), sees(out, root), said)
			}
			for _, flag := range [][]string{{"--pid", strconv.Itoa(root)}, {"--user", "root"}} {
				out, said, err := run(append(trace, flag...)...)
				if (err == nil) != all || sees(out, root) != all || !all && !strings.Contains(said, "not yours") {
					t.Errorf("%v: %v; seen: %v; %s", flag, err, sees(out, root), said)
				}
			}
			if out, said, err := run(append(trace, "--pid", strconv.Itoa(own))...); err != nil || !sees(out, own) {
				t.Errorf("the own process: %v: %s", err, said)
			}
			want := map[string]string{
				runs[0].name: "may trace only own processes", runs[1].name: "may trace all processes",
				runs[2].name: "with all capabilities",
			}[r.name]
			if out, said, err := run("check"); err != nil || !strings.Contains(out, want) {
				t.Errorf("check: %v: %s%s", err, out, said)
			}
		})
	}
}

// TestStartedProgramsHaveNoCapability: nor do commands that do not trace.
func TestStartedProgramsHaveNoCapability(t *testing.T) {
	kerneltest.Require(t)
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			path, attr := r.make(t)
			cmd := exec.CommandContext(t.Context(), path, "trace", "--record=false", "--", "cat", "/proc/self/status")
			cmd.Dir, cmd.SysProcAttr = "/", attr
			out, err := cmd.Output()
			if err != nil || !powerless(string(out)) {
				t.Errorf("%v: %s", err, out)
			}
			reader := exec.CommandContext(t.Context(), path, "mcp", "--db", "/nonexistent/none.db")
			feed, err := reader.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			answer, err := reader.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			reader.Dir, reader.SysProcAttr = "/", attr
			if err := reader.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = feed.Close(), reader.Wait() }() // it ends with its input
			const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
				`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
			if _, err := io.WriteString(feed, hello); err != nil {
				t.Fatal(err)
			}
			if _, err := answer.Read(make([]byte, 1)); err != nil { // it has started
				t.Fatal(err)
			}
			threads, err := filepath.Glob("/proc/" + strconv.Itoa(reader.Process.Pid) + "/task/*/status")
			if err != nil || len(threads) == 0 {
				t.Fatalf("no threads (%v)", err)
			}
			for _, th := range threads {
				if b, err := os.ReadFile(th); err == nil && !powerless(string(b)) {
					t.Errorf("mcp: %s", b)
				}
			}
		})
	}
}

// powerless reports whether a process's status has no capability.
func powerless(status string) bool {
	n := 0
	for line := range strings.Lines(status) {
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "CapInh", "CapPrm", "CapEff", "CapAmb":
			if strings.Trim(value, "0 \t\n") != "" {
				return false
			}
			n++
		}
	}
	return n == 4
}
