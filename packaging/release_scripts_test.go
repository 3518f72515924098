package packaging_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// made writes files, of these sizes or with these contents, into a folder.
func made(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSizesArePrinted(t *testing.T) {
	t.Parallel()
	dir := made(t, map[string]string{
		"a b": strings.Repeat("x", 1234), "c": strings.Repeat("x", 2_345_678), "d": strings.Repeat("x", 999_949),
	})
	sizes, err := filepath.Abs("sizes")
	if err != nil {
		t.Fatal(err)
	}
	const want = "1.2 kB  a b\n       2.3 MB  c\n     999.9 kB  d\n       3.3 MB  in all"
	if got := run(t, dir, sizes, "a b", "c", "d"); got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if got := run(t, dir, sizes, "d"); got != "999.9 kB  d" {
		t.Error(got)
	}
	cmd := exec.Command(sizes, "c", "none")
	cmd.Dir = dir
	if out, err := cmd.Output(); err == nil {
		t.Errorf("a file that is missing: %s", out)
	}
}

func TestDifferencesOfBuilds(t *testing.T) {
	t.Parallel()
	const same = "2 files are the same in both builds\n"
	first := made(t, map[string]string{"a": "1", "b": "2", "artifacts.json": "first", "bin/c": "3"})
	for name, c := range map[string]struct {
		second map[string]string
		want   string
		fails  bool
	}{
		"other notes":        {map[string]string{"a": "1", "b": "2", "artifacts.json": "second"}, same, false},
		"no notes":           {map[string]string{"a": "1", "b": "2"}, same, false},
		"another content":    {map[string]string{"a": "1", "b": "3"}, "b differs between two builds of one commit\n", true},
		"only in the first":  {map[string]string{"a": "1"}, "b is only in the first build\n", true},
		"only in the second": {map[string]string{"a": "1", "b": "2", "d": ""}, "d is only in the second build\n", true},
		"all of it": {
			map[string]string{"b": "3", "e": ""}, "a is only in the first build\n" +
				"b differs between two builds of one commit\ne is only in the second build\n", true,
		},
	} {
		out, err := exec.Command("./differences", first, made(t, c.second)).CombinedOutput()
		if string(out) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %v: %s; want %s", name, err, out, c.want)
		}
	}
	if out, err := exec.Command("./differences", t.TempDir(), t.TempDir()).CombinedOutput(); err == nil {
		t.Errorf("of nothing: %s", out)
	}
}

// TestModesOfReleasedFilesAreSaid: otherwise they are those of the files in a clone, which depend on the umask that it
// was made with.
func TestModesOfReleasedFilesAreSaid(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Archives []struct {
			Files []struct {
				Src  string
				Info struct{ Mode os.FileMode }
			}
		}
		Nfpms []struct {
			Contents []struct {
				Src      string
				FileInfo struct{ Mode os.FileMode } `yaml:"file_info"`
			}
		}
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range c.Archives {
		for _, f := range a.Files {
			if n++; f.Info.Mode != 0o644 {
				t.Errorf("in an archive: %s has the mode %o", f.Src, f.Info.Mode)
			}
		}
	}
	for _, p := range c.Nfpms {
		for _, f := range p.Contents {
			if n++; f.Src != "" && f.FileInfo.Mode != 0o644 && f.FileInfo.Mode != 0o640 {
				t.Errorf("in a package: %s has the mode %o", f.Src, f.FileInfo.Mode)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d files", n)
	}
}

// tools are stand-ins of what packaging/release calls: they write small files.
var tools = map[string]string{
	"bin/goreleaser": `mkdir dist
for p in ingero straggler-sink ingero-fleet ingero-echo; do for a in amd64 arm64; do
	mkdir "dist/${p}_linux_$a"; echo "$p" >"dist/${p}_linux_$a/$p"; done; done
echo "$INGERO_COMMIT $INGERO_DATE" >dist/a.tar.gz; echo notes >dist/config.yaml
cd dist && sha256sum a.tar.gz >checksums.txt`,
	"bin/image":                     `while [ "$1" != -out ]; do shift; done; head -c 2000000 /dev/zero >"$2"`,
	"bin/aarch64-linux-gnu-readelf": `echo ' 0x1 (NEEDED) Shared library: [libc.so.6]'`,
	"bin/aarch64-linux-gnu-gcc":     `echo /dev/null`,
	"bin/provenance":                `grep -c . >&2; echo "{}"`,
	"packaging/chart":               `echo chart >"$2/ingero-chart-$1.tgz"`,
	"install.sh":                    ``,
}

// TestReleaseSaysSizesAndTimes: with stand-ins for its tools it names each file that is released, and how long each
// step took.
func TestReleaseSaysSizesAndTimes(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for name, text := range tools {
		files[name] = "#!/bin/sh\nset -eu\n" + text + "\n"
	}
	for _, name := range []string{"release", "committed", "image", "sizes", "sign"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files["packaging/"+name] = string(b)
	}
	dir := made(t, files)
	for name := range files {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	commitAll(t, dir)
	cmd := exec.Command("packaging/release")
	cmd.Path = filepath.Join(dir, "packaging/release")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "INGERO_VERSION=1.2.3~4.abc", "INGERO_SIGNING_KEY=",
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, table, _ := strings.Cut(string(out), "How long it took, and what is released:\n")
	var lines []string
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) > 2 && words[1] == "s" {
			words[0] = "N" // of seconds
		}
		if len(words) > 2 && words[1] == "kB" {
			words = words[1:]
		}
		lines = append(lines, strings.Join(words, " "))
	}
	want := []string{
		"N s programs, archives, packages and their lists of contents", "N s the image ingero", "N s the image ingero-fleet",
		"N s the image ingero-echo", "N s the chart", "N s checksums and provenance", "N s in all", "",
		"kB checksums.txt", "kB a.tar.gz", "kB ingero-chart-1.2.3-4.gabc.tgz", "2.0 MB ingero-echo_1.2.3~4.abc_image.tar",
		"2.0 MB ingero-fleet_1.2.3~4.abc_image.tar", "kB ingero_1.2.3~4.abc.provenance.json",
		"2.0 MB ingero_1.2.3~4.abc_image.tar", "kB install.sh", "6.0 MB in all",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}

// commitAll makes a repository of a folder.
func commitAll(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "git", "init", "-q")
	run(t, dir, "git", "add", ".")
	run(t, dir, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all")
}

// TestOnlyCommitsAreReleased: what was changed or added since the last commit is named, and nothing is built. Files
// that git ignores do not matter.
func TestOnlyCommitsAreReleased(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("committed")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"release", "bundle"} {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		dir := made(t, map[string]string{
			"packaging/committed": string(committed), "packaging/" + script: string(text), "a": "1", ".gitignore": "/dist/\n",
		})
		for _, name := range []string{"committed", script} {
			if err := os.Chmod(filepath.Join(dir, "packaging", name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		commitAll(t, dir)
		write := func(name string) {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("2"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		call := func(name string) (string, error) {
			cmd := exec.Command(filepath.Join(dir, "packaging", name))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "INGERO_VERSION=1.2.3")
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		write("dist/kept")
		if out, err := call("committed"); err != nil || out != "" {
			t.Errorf("with a file that is ignored: %v: %s", err, out)
		}
		write("a")
		write("b")
		out, err := call(script)
		if err == nil {
			t.Errorf("%s builds what is not committed", script)
		}
		has(t, out, "\n M a\n?? b\nnext: git commit, or git stash --include-untracked")
		if got := files(t, filepath.Join(dir, "dist")); len(got) != 1 {
			t.Errorf("%s left %q", script, got)
		}
	}
}
