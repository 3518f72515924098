// Package scripttest has what scripts of the programs' command lines (testscript) have in common.
package scripttest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// Nobody is the user and group of Unprivileged.
const Nobody = 65534

// Unprivileged runs a command without any capability; its output is written
// to the files out and err.
func Unprivileged(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	if os.Geteuid() == 0 {
		ts.Check(os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)) // testscript's own folder is 0700
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
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

// JSON checks a value of a JSON object: json FILE PATH VALUE, where PATH is
// keys and indices with dots between and VALUE is JSON, or > N for numbers.
func JSON(ts *testscript.TestScript, neg bool, args []string) {
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

// Status checks the exit code of a shell command: status CODE COMMAND….
func Status(ts *testscript.TestScript, _ bool, args []string) {
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
