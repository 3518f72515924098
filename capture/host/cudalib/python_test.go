package cudalib

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLibrariesOfPythonPackagesAreFoundBeforeTheyAreLoaded(t *testing.T) {
	root := t.TempDir()
	make := func(parts ...string) string {
		dir := filepath.Join(append([]string{root}, parts...)...)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	site := []string{"lib", "python3.11", "site-packages"}
	in := func(prefix string, rest ...string) string {
		return make(append(append([]string{prefix}, site...), rest...)...)
	}
	script := filepath.Join(make("venv", "bin"), "torchrun")
	if err := os.WriteFile(script, []byte("#!"+root+"/venv/bin/python -sE\nimport sys\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(make("other", "bin"), "python3")
	if err := os.WriteFile(other, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(make("linked", "bin"), "python3")
	if err := os.Symlink(other, linked); err != nil {
		t.Fatal(err)
	}
	venv, torch, conda := in("venv", "nvidia", "cu13", "lib"), in("venv", "torch", "lib"),
		in("conda", "nvidia", "nccl", "lib")
	packed, user, path := in("other", "cupy.libs"), in("home/.local", "nvidia", "cu13", "lib"),
		make("path", "torch", "lib")
	in("venv", "numpy", "lib")
	pyenv := make("pyenv", "versions", "3.11.7", "lib", "python3.11", "site-packages", "torch", "lib")

	vars := map[string]string{}
	env := func(k string) string { return vars[k] }
	for _, c := range []struct {
		program string
		vars    map[string]string
		want    []string
	}{
		{script, nil, []string{venv, torch}},
		{filepath.Join(root, "venv/bin/python"), nil, []string{venv, torch}},
		{linked, nil, []string{packed}},
		{filepath.Join(root, "pyenv/shims/python3"), nil, []string{pyenv}},
		{"/bin/sh", map[string]string{"CONDA_PREFIX": root + "/conda"}, []string{conda}},
		{"/bin/sh", map[string]string{"VIRTUAL_ENV": root + "/venv"}, []string{venv, torch}},
		{"/bin/sh", map[string]string{"HOME": root + "/home", "PYTHONPATH": root + "/path"}, []string{user, path}},
		{"/bin/sh", nil, nil},
	} {
		vars = c.vars
		var got []string
		for _, d := range PythonDirs(c.program, env) {
			if rel, err := filepath.Rel(root, d); err == nil && filepath.IsLocal(rel) { // not this machine's own
				got = append(got, d)
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %q, want %q", c.program, c.vars, got, c.want)
		}
	}
}
