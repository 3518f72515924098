// Package pythontest finds the Python interpreters of this machine, so that tests
// run with every version that is there.
package pythontest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Env lists interpreters to test with, besides those that are found, with colons
// between them.
const Env = "INGERO_PYTHONS"

// Interpreter is a Python 3 that can be run.
type Interpreter struct {
	Path    string // what to execute
	Version string // "3.11.7"
	Minor   int
	Include string // folder of Python.h; empty if it is not installed
	Shared  bool   // the interpreter is in a libpython of its own
}

// Name is for subtests: version and way of linking.
func (i *Interpreter) Name() string {
	if i.Shared {
		return i.Version + " shared"
	}
	return i.Version + " static"
}

// about is what an interpreter is asked.
const about = `import sys, sysconfig, os
h = sysconfig.get_path("include")
print(sys.version.split()[0], sys.version_info[1], "libpython" in open("/proc/self/maps").read(),
      h if os.path.exists(os.path.join(h, "Python.h")) else "", sep="\n")`

// Interpreters returns the Pythons of this machine: those of Env, of pyenv, and
// the system's. It fails the test if there is none.
func Interpreters(t testing.TB) []Interpreter {
	t.Helper()
	paths := filepath.SplitList(os.Getenv(Env))
	home, _ := os.UserHomeDir() // without one there is no pyenv
	root := os.Getenv("PYENV_ROOT")
	if root == "" {
		root = filepath.Join(home, ".pyenv")
	}
	pyenv, err := filepath.Glob(filepath.Join(root, "versions", "3.*", "bin", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	paths = append(append(paths, pyenv...), "/usr/bin/python3", "/usr/local/bin/python3")
	var r []Interpreter
	seen := map[string]bool{}
	for _, p := range paths {
		i, ok := ask(p)
		if !ok || seen[i.Name()] {
			continue
		}
		seen[i.Name()] = true
		r = append(r, i)
	}
	if len(r) == 0 {
		t.Fatalf("no Python 3 on this machine; install python3 or set %s", Env)
	}
	return r
}

func ask(path string) (Interpreter, bool) {
	out, err := exec.Command(path, "-I", "-c", about).Output()
	if err != nil {
		return Interpreter{}, false // it is not there
	}
	f := strings.Split(string(out), "\n")
	if len(f) < 4 {
		return Interpreter{}, false
	}
	i := Interpreter{Path: path, Version: f[0], Shared: f[2] == "True", Include: f[3]}
	for _, c := range f[1] {
		i.Minor = i.Minor*10 + int(c-'0')
	}
	return i, true
}
