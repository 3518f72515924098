package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ingero": main, "confined": confined})
}

// TestScript runs the command line without tracing anything.
func TestScript(t *testing.T) {
	testscript.Run(t, params("testdata/script"))
}

// TestKernelScript traces through the real kernel. The scripts run one after
// the other: they measure.
func TestKernelScript(t *testing.T) {
	kerneltest.Require(t)
	scripts, err := filepath.Glob("testdata/kernel/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	for _, s := range scripts {
		p := params("")
		p.Files = []string{s}
		testscript.RunT(serial{t}, p)
	}
}

// serial runs scripts one after the other.
type serial struct{ *testing.T }

func (s serial) Parallel() {}

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

func (s serial) Verbose() bool { return testing.Verbose() }

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:   dir,
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mkdb":         cmdMkdb,
			"tear":         cmdTear,
			"hash":         cmdHash,
			"unchanged":    cmdUnchanged,
			"unprivileged": cmdUnprivileged,
			"nvml":         cmdNVML,
			"json":         cmdJSON,
			"jsonlines":    cmdJSONLines,
			"waitfor":      cmdWaitfor,
			"status":       cmdStatus,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	}
}

// setup gives a script a home of its own and the stand-in program.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	e.Setenv("HOME", home)
	for _, name := range []string{"SUDO_UID", "SUDO_GID", databaseEnv, "INGERO_BACKEND"} {
		e.Setenv(name, "")
	}
	files, err := cudastub.Extract(filepath.Join(e.WorkDir, "stub"))
	if err == nil {
		e.Setenv("VICTIM", files.Victim)
		e.Setenv("LD_LIBRARY_PATH", files.LibDir)
	} else if !errors.Is(err, cudastub.ErrUnsupported) {
		return err
	}
	return os.MkdirAll(home, 0o755)
}

// cmdNVML puts the stand-in of NVIDIA's management library, with settings, where the
// stand-in program's libraries are found.
func cmdNVML(ts *testscript.TestScript, _ bool, args []string) {
	n, err := cudastub.ExtractNVML(ts.Getenv("WORK"), args...)
	ts.Check(err)
	ts.Setenv("LD_LIBRARY_PATH", ts.Getenv("LD_LIBRARY_PATH")+":"+n.Dir)
}

// cmdHash remembers what is in a folder; unchanged compares.
func cmdHash(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("HASH", treeHash(ts, args))
}

func cmdUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if same := ts.Getenv("HASH") == treeHash(ts, args); same == neg {
		ts.Fatalf("same content: %v", same)
	}
}

func treeHash(ts *testscript.TestScript, args []string) string {
	if len(args) != 1 {
		ts.Fatalf("usage: hash FOLDER")
	}
	h := sha256.New()
	dir := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d %x\n", path, len(b), sha256.Sum256(b))
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// nobody is the user and group of "unprivileged".
const nobody = 65534

// cmdUnprivileged runs a command without any capability; its output is written
// to the files out and err.
func cmdUnprivileged(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	if os.Geteuid() == 0 {
		ts.Check(os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)) // testscript's own folder is 0700
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(stdout.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(stderr.String()), 0o644))
	ts.Logf("%s%s%v", stdout.String(), stderr.String(), err)
	if (err != nil) != neg {
		ts.Fatalf("%v: %v", args, err)
	}
}

// cmdJSON checks a value of a JSON object: json FILE PATH VALUE, where PATH is
// keys and indices with dots between and VALUE is JSON, or > N for numbers.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for key := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			if key == "length" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(key)
			ts.Check(err)
			if i >= len(x) {
				ts.Fatalf("%s: only %d elements", args[1], len(x))
			}
			v = x[i]
		default:
			ts.Fatalf("%s: no %q in %v", args[1], key, x)
		}
	}
	if jsonMatches(v, args[2:]) == neg {
		ts.Fatalf("%s is %v, want %v", args[1], v, args[2:])
	}
}

func jsonMatches(v any, want []string) bool {
	if len(want) == 2 && want[0] == ">" {
		n, err := strconv.ParseFloat(want[1], 64)
		f, ok := v.(float64)
		return err == nil && ok && f > n
	}
	got, err := json.Marshal(v)
	return err == nil && string(got) == want[0]
}

// cmdJSONLines checks that every line of a file is a JSON object, and how many
// there are of each type: jsonlines FILE [TYPE MIN]… .
func cmdJSONLines(ts *testscript.TestScript, _ bool, args []string) {
	n := map[string]int{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var o struct{ Type string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			ts.Fatalf("%q: %v", line, err)
		}
		n[o.Type]++
	}
	for i := 1; i+1 < len(args); i += 2 {
		least, err := strconv.Atoi(args[i+1])
		ts.Check(err)
		if n[args[i]] < least {
			ts.Fatalf("%d lines of type %s, want at least %d: %v", n[args[i]], args[i], least, n)
		}
	}
}

// cmdStatus checks the exit code of a shell command: status CODE COMMAND….
func cmdStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// cmdWaitfor waits until a file exists, and is not empty.
func cmdWaitfor(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s", args[0])
		}
	}
}
