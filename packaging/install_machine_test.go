package packaging_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Machines of other kinds: with other tools, users and folders.

// toolsEnv says that the tools which tests need must be here.
const toolsEnv = "INGERO_REQUIRE_TOOLS"

// tool finds a tool that a test needs. Without it the test is skipped, or fails if it must not be.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err != nil && os.Getenv(toolsEnv) != "":
		t.Fatal(err)
	case err != nil:
		t.Skipf("%s is not here; %s makes that an error", name, toolsEnv)
	}
	return path
}

// pathOf returns a path with the tools that install.sh always needs, and more of them.
func pathOf(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range append(more, "sh", "uname", "tar", "gzip", "mktemp", "sha256sum", "cut", "id", "cp", "chmod", "mv",
		"mkdir", "rm", "head", "cat") {
		p, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A folder may be named from where one is. What is printed holds everywhere.
func TestInstallToAFolderBelow(t *testing.T) {
	r := newRelease(t, "1.2.0")
	for _, to := range []string{"bin", "./bin/", "my programs"} {
		m := machine{dir: t.TempDir()}
		out, err := m.install(t, "--from", r.dir, "--to", to)
		if err != nil {
			t.Errorf("%v:\n%s", err, out)
			continue
		}
		at := filepath.Join(m.dir, to)
		has(t, out, "installed: "+at+"/ingero 1.2.0\n", "export PATH=\""+at+":$PATH\"")
		if got := prints(t, at+"/ingero"); got != "1.2.0" {
			t.Errorf("it prints %q", got)
		}
		undoes(t, out, at)
	}
	for _, to := range []string{"a'b", `a"b`, "a$b", "a`b", `a\b`, "a\nb"} {
		m := machine{dir: t.TempDir()}
		out, err := m.install(t, "--from", r.dir, "--to", to)
		if err == nil {
			t.Errorf("it installed to %q:\n%s", to, out)
		}
		has(t, out, "the name of the folder "+m.dir+"/"+to+" has a quote")
		if left, err := os.ReadDir(m.dir); err != nil || len(left) > 0 {
			t.Errorf("with --to %q: %v %v", to, left, err)
		}
	}
}

// replace makes a tool of a path another program.
func replace(t *testing.T, path, tool, script string) {
	t.Helper()
	file := filepath.Join(path, tool)
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile would have the file open for writing, and nobody can execute it then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Without root and without --to it goes where the user's own programs are.
func TestWithoutRoot(t *testing.T) {
	path := pathOf(t)
	replace(t, path, "id", "echo 1000") // all that is asked
	m := machine{path: path}
	r := newRelease(t, "1.2.0")
	out, err := m.install(t, "--from", r.dir)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if got := prints(t, m.home+"/.local/bin/ingero"); got != "1.2.0" {
		t.Errorf("it prints %q", got)
	}

	m.home = noHome
	if out, err = m.install(t, "--from", r.dir); err == nil {
		t.Error("it installed, and there is no home")
	}
	has(t, out, "$HOME is not set: where should it go?", "sh install.sh --to FOLDER")
}

// Another user may read the release, and not write where it should go.
func TestAnotherUsersFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	setpriv := tool(t, "setpriv")
	dir := t.TempDir()
	r := newRelease(t, "1.2.0")
	to := filepath.Join(dir, "bin")
	for _, err := range []error{
		os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o755), os.Mkdir(to, 0o755), os.Mkdir(dir+"/tmp", 0o700), os.Chown(dir+"/tmp", 65534, 65534),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, dir+"/install.sh", "../install.sh", 0o644)
	for _, file := range files(t, r.dir) {
		copyFile(t, filepath.Join(dir, "dist", file), filepath.Join(r.dir, file), 0o644)
	}
	for _, c := range []struct{ to, want string }{
		{to, to + " may not be written to"}, {to + "/more", to + "/more cannot be made"},
	} {
		cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "install.sh", "--from", "dist", "--to", c.to)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir + "/tmp"}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Error("it installed into another user's folder")
		}
		has(t, string(out), c.want, "sudo sh install.sh", "sh install.sh --to FOLDER")
	}
	for _, d := range []string{to, dir + "/tmp"} {
		if left, err := os.ReadDir(d); err != nil || len(left) > 0 {
			t.Errorf("in %s: %v %v", d, left, err)
		}
	}
}

// Where sha256sum is missing, shasum does.
func TestOtherProgramForChecksums(t *testing.T) {
	real, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Fatal(err)
	}
	r := newRelease(t, "1.2.0")
	path := pathOf(t)
	if err := os.Remove(path + "/sha256sum"); err != nil {
		t.Fatal(err)
	}
	m := machine{path: path}
	out, err := m.install(t, "--from", r.dir, "--to", t.TempDir())
	if err == nil {
		t.Error("it installed what it cannot check")
	}
	has(t, out, "sha256sum or shasum is needed")

	replace(t, path, "shasum", `[ "$1 $2" = "-a 256" ] && exec `+real+` "$3"`)
	to := t.TempDir()
	if out, err := m.install(t, "--from", r.dir, "--to", to); err != nil || prints(t, to+"/ingero") != "1.2.0" {
		t.Errorf("%v:\n%s", err, out)
	}
	r.write(t, fmt.Sprintf("ingero_1.2.0_linux_%s.tar.gz", runtime.GOARCH), archive(t, map[string]string{"ingero": says("evil")}))
	if out, err = m.install(t, "--from", r.dir, "--to", to); err == nil {
		t.Error("it installed what is not what was released")
	}
	has(t, out, "is not what was released")
}

// The lines of the document, where the project's releases would be fetched by curl.
func TestInstallAsDocumented(t *testing.T) {
	r := newRelease(t, "0.20.0")
	path := pathOf(t)
	log := filepath.Join(t.TempDir(), "log")
	// It gets the options of install.sh, then -o FILE URL.
	replace(t, path, "curl", `while [ $# -gt 3 ]; do echo "$1" >>`+log+`; shift; done
echo "$3" >>`+log+`
[ -f '`+r.dir+`'/"${3##*/}" ] && cp '`+r.dir+`'/"${3##*/}" "$2"`)
	replace(t, path, "id", "echo 1000")
	const releases = "https://github.com/ingero-io/ingero/releases/"
	file := fmt.Sprintf("ingero_0.20.0_linux_%s.tar.gz", runtime.GOARCH)
	fetched := map[string]string{
		"sh install.sh":                  releases + "latest/download/",
		"sh install.sh --version 0.20.0": releases + "download/v0.20.0/",
		"sh install.sh --from ./dist":    "",
		"sh install.sh --dry-run":        releases + "latest/download/",
	}
	doc := section(t, installDoc, "## By install.sh")
	if len(doc) != len(fetched) {
		t.Errorf("%q is not what is tested: %q", doc, fetched)
	}
	for _, line := range doc {
		from, known := fetched[line]
		args, ok := strings.CutPrefix(line, "sh install.sh")
		if !known || !ok {
			t.Errorf("%s is in the document, and is not tested", line)
			continue
		}
		if err := os.RemoveAll(log); err != nil {
			t.Fatal(err)
		}
		m := machine{path: path, dir: t.TempDir()}
		if err := os.Symlink(r.dir, m.dir+"/dist"); err != nil {
			t.Fatal(err)
		}
		out, err := m.install(t, strings.Fields(args)...)
		if err != nil {
			t.Errorf("%s: %v:\n%s", line, err, out)
		}
		dry := strings.Contains(line, "--dry-run")
		if got := prints(t, m.home+"/.local/bin/ingero"); (got == "0.20.0") == dry {
			t.Errorf("%s: it prints %q", line, got)
		}
		text, _ := os.ReadFile(log) // there is none if nothing was fetched
		var urls []string
		for w := range strings.FieldsSeq(string(text)) {
			if strings.HasPrefix(w, "http") {
				urls = append(urls, w)
			}
		}
		want := []string{from + "checksums.txt", from + "checksums.txt.sig", from + file}
		if from == "" {
			want = nil
		}
		if !slices.Equal(urls, want) || len(want) > 0 && !strings.Contains(string(text), "--proto\n=https\n") {
			t.Errorf("%s: fetched with %q, want %q", line, text, want)
		}
	}
}

func TestOtherMachines(t *testing.T) {
	for says, want := range map[string]string{
		"Darwin x": "Ingero runs on Linux only; this is Darwin", "Linux riscv64": "for x86_64 and arm64 only; this is riscv64",
	} {
		path := pathOf(t)
		system, arch, _ := strings.Cut(says, " ")
		replace(t, path, "uname", "case $1 in -s) echo "+system+";; -m) echo "+arch+";; esac")
		m := machine{path: path}
		out, err := m.install(t, "--from", t.TempDir())
		if err == nil {
			t.Errorf("on %s: no error", says)
		}
		has(t, out, want)
	}
}

// BusyBox has the shell and the tools of small systems.
func TestOnBusyBox(t *testing.T) {
	box := tool(t, "busybox")
	path := t.TempDir()
	for _, tool := range []string{
		"sh", "uname", "tar", "gzip", "mktemp", "sha256sum", "cut", "id", "cp", "chmod", "mv", "mkdir", "rm", "head", "cat",
		"wget", "echo",
	} {
		if err := os.Symlink(box, filepath.Join(path, tool)); err != nil {
			t.Fatal(err)
		}
	}
	r := newRelease(t, "1.2.0")
	s := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	defer s.Close()
	m := machine{path: path, shell: []string{box, "sh"}}
	for _, from := range []string{r.dir, s.URL} {
		to := t.TempDir()
		out, err := m.install(t, "--from", from, "--to", to)
		if err != nil {
			t.Fatalf("from %s: %v:\n%s", from, err, out)
		}
		if got := prints(t, to+"/ingero"); got != "1.2.0" {
			t.Errorf("from %s: it prints %q", from, got)
		}
	}
	if out, err := m.install(t, "--from", s.URL+"/no"); err == nil {
		t.Errorf("nothing is there, and no error:\n%s", out)
	}
}
