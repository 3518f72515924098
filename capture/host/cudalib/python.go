package cudalib

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/limit"
)

// packages are the package folders of Python, below an interpreter's prefix: of venv, conda and a
// plain installation, and of pyenv, whose commands are scripts.
var packages = []string{
	"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
	"lib/python3/dist-packages", "versions/*/lib/python3*/site-packages",
}

// brought are the folders below a package folder with CUDA libraries from wheels: NVIDIA's own,
// PyTorch's, and those packed by auditwheel.
var brought = []string{"nvidia/*/lib", "torch/lib", "*.libs"}

// PythonDirs are the folders from which Python would load CUDA libraries when program is run:
// program may be an interpreter, a script that names one, or another program that runs the
// environment's interpreter. env reads an environment variable. Folders that do not exist are left
// out.
func PythonDirs(program string, env func(string) string) []string {
	sites := SearchPath(env("PYTHONPATH"))
	for _, bin := range interpreters(program, env) {
		prefix := filepath.Dir(filepath.Dir(bin))
		for _, p := range packages {
			sites = append(sites, glob(prefix, p)...)
		}
	}
	if home := env("HOME"); home != "" {
		sites = append(sites, glob(filepath.Join(home, ".local"), packages[0])...)
	}
	slices.Sort(sites)
	var dirs []string
	for _, s := range slices.Compact(sites) {
		for _, b := range brought {
			dirs = append(dirs, glob(s, b)...)
		}
	}
	return dirs
}

// interpreters are the interpreters that program may be or run, with links resolved or not:
// packages may be beside the link, or beside the interpreter.
func interpreters(program string, env func(string) string) []string {
	bins := []string{program, shebang(program)}
	for _, name := range []string{"python3", "python"} {
		if p, err := exec.LookPath(name); err == nil {
			bins = append(bins, p)
		}
	}
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := env(v); dir != "" {
			bins = append(bins, filepath.Join(dir, "bin", "python3"))
		}
	}
	for _, b := range slices.Clone(bins) {
		if p, err := filepath.EvalSymlinks(b); err == nil {
			bins = append(bins, p)
		}
	}
	return slices.DeleteFunc(bins, func(b string) bool { return !filepath.IsAbs(b) })
}

// shebang is the interpreter that a script names; empty if it is none.
func shebang(path string) string {
	f, err := limit.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()                                        // nothing was written
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n') // the kernel also refuses longer ones
	rest, ok := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	return words[0]
}
