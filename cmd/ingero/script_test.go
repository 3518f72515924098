package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/scripttest"
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
			"unprivileged": scripttest.Unprivileged,
			"nvml":         cmdNVML,
			"json":         scripttest.JSON,
			"jsonlines":    cmdJSONLines,
			"waitfor":      cmdWaitfor,
			"status":       scripttest.Status,
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
const nobody = scripttest.Nobody

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
