package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// says is a program that prints a line.
func says(line string) string { return "#!/bin/sh\necho '" + line + "'\n" }

// archive returns a tar.gz of programs.
func archive(t *testing.T, programs map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range programs {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// release is a folder with a release for each version.
type release struct {
	dir  string
	sums bytes.Buffer
}

func (r *release) add(t *testing.T, version string, content []byte) {
	t.Helper()
	name := fmt.Sprintf("ingero_%s_linux_%s.tar.gz", version, runtime.GOARCH)
	r.write(t, name, content)
	fmt.Fprintf(&r.sums, "%x  ingero-fleet_%s_linux_%s.tar.gz\n", sha256.Sum256(nil), version, runtime.GOARCH)
	fmt.Fprintf(&r.sums, "%x  %s\n", sha256.Sum256(content), name)
	r.write(t, "checksums.txt", r.sums.Bytes())
}

func (r *release) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func newRelease(t *testing.T, versions ...string) *release {
	t.Helper()
	r := &release{dir: t.TempDir()}
	for _, v := range versions {
		r.add(t, v, archive(t, map[string]string{
			"ingero": says(v), "ingero-fleet": says("fleet " + v), "straggler-sink": says("sink " + v),
		}))
	}
	return r
}

// machine is where install.sh runs.
type machine struct {
	home  string
	shell []string // default: sh
	path  string   // default: that of the test
	dir   string   // where it is called; default: that of the test
}

// noHome is the home of a machine where $HOME is not set.
const noHome = "none"

// install runs install.sh, and returns what it printed.
func (m *machine) install(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if m.home == "" {
		m.home = t.TempDir()
	}
	shell := m.shell
	if shell == nil {
		shell = []string{"sh"}
	}
	script, err := filepath.Abs("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell[0], append(append(shell[1:len(shell):len(shell)], script), args...)...)
	cmd.Dir = m.dir
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	if m.path != "" {
		cmd.Env[1] = "PATH=" + m.path
	}
	if m.home == noHome {
		cmd.Env = cmd.Env[1:]
	}
	out, err := cmd.CombinedOutput()
	for _, e := range cmd.Env {
		if tmp, ok := strings.CutPrefix(e, "TMPDIR="); ok {
			if left, e := os.ReadDir(tmp); e != nil || len(left) > 0 {
				t.Errorf("left in its temporary folder: %v %v", left, e)
			}
		}
	}
	return string(out), err
}

// prints runs a program that was installed.
func prints(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

func has(t testing.TB, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in:\n%s", w, out)
		}
	}
}

func TestInstallAndUndo(t *testing.T) {
	r := newRelease(t, "1.2.0")
	var m machine
	to := filepath.Join(t.TempDir(), "bin")
	out, err := m.install(t, "--from", r.dir, "--to", to)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	has(t, out, "installed: "+to+"/ingero 1.2.0\n", "checked: SHA-256", "; there is no signature\n", "next: "+to+"/ingero check",
		"export PATH=\""+to+":$PATH\"")
	if got := prints(t, to+"/ingero"); got != "1.2.0" {
		t.Errorf("it prints %q", got)
	}
	if _, err := os.Stat(to + "/ingero-fleet"); err == nil {
		t.Error("ingero-fleet was installed, too")
	}

	// Again, with all of another release.
	r.add(t, "1.3.0", archive(t, map[string]string{
		"ingero": says("1.3.0"), "ingero-fleet": says("f"), "straggler-sink": says("s"),
	}))
	if out, err := m.install(t, "--from="+r.dir, "--to="+to); err == nil || prints(t, to+"/ingero") != "1.2.0" {
		t.Errorf("one of two releases was taken:\n%s", out)
	}
	out, err = m.install(t, "--from", r.dir, "--to", to, "--version", "v1.3.0", "--all")
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	has(t, out, "installed: "+to+"/ingero 1.3.0 (replaced)", "/straggler-sink 1.3.0\n")
	if got := prints(t, to+"/ingero"); got != "1.3.0" {
		t.Errorf("it prints %q", got)
	}

	undoes(t, out, to)
}

// undoes runs the line of what install.sh printed that undoes it, elsewhere.
func undoes(t *testing.T, out, to string) {
	t.Helper()
	_, undo, _ := strings.Cut(out, "to undo: ")
	undo, _, _ = strings.Cut(undo, "\n")
	if out := run(t, "/", "sh", "-c", undo); out != "" {
		t.Errorf("%s: %s", undo, out)
	}
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Errorf("after %q: %v %v", undo, left, err)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	var m machine
	to := filepath.Join(t.TempDir(), "bin")
	out, err := m.install(t, "--from", newRelease(t, "1.2.0").dir, "--to", to, "--dry-run")
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	has(t, out, "would be installed: "+to+"/ingero 1.2.0")
	if _, err := os.Stat(to); err == nil {
		t.Errorf("there is %s", to)
	}
}

// What was fetched is not what was released, or is not there: nothing changes, and it is said why.
func TestNothingIsInstalledUnlessAllIsRight(t *testing.T) {
	good := newRelease(t, "1.2.0")
	name := fmt.Sprintf("ingero_1.2.0_linux_%s.tar.gz", runtime.GOARCH)

	changed := newRelease(t, "1.2.0")
	changed.write(t, name, archive(t, map[string]string{"ingero": says("evil")}))
	cut := newRelease(t, "1.2.0")
	whole, err := os.ReadFile(filepath.Join(cut.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	cut.write(t, name, whole[:len(whole)/2])
	noSums := newRelease(t, "1.2.0")
	if err := os.Remove(filepath.Join(noSums.dir, "checksums.txt")); err != nil {
		t.Fatal(err)
	}
	noFile := newRelease(t, "1.2.0")
	if err := os.Remove(filepath.Join(noFile.dir, name)); err != nil {
		t.Fatal(err)
	}
	noProgram := &release{dir: t.TempDir()}
	noProgram.add(t, "1.2.0", archive(t, map[string]string{"other": says("other")}))
	noArchive := &release{dir: t.TempDir()}
	noArchive.add(t, "1.2.0", []byte("not an archive"))
	wrongMachine := &release{dir: t.TempDir()}
	wrongMachine.add(t, "1.2.0", archive(t, map[string]string{"ingero": "\x7fELF of another machine"}))
	empty := t.TempDir()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"changed":        {[]string{"--from", changed.dir}, "is not what was released: nothing was installed"},
		"cut":            {[]string{"--from", cut.dir}, "is not what was released"},
		"no checksums":   {[]string{"--from", noSums.dir}, "checksums.txt could not be fetched"},
		"no file":        {[]string{"--from", noFile.dir}, name + " could not be fetched"},
		"no program":     {[]string{"--from", noProgram.dir}, "has no ingero: nothing was installed"},
		"no archive":     {[]string{"--from", noArchive.dir}, "cannot be unpacked"},
		"cannot run":     {[]string{"--from", wrongMachine.dir}, "does not run here: nothing was installed"},
		"empty folder":   {[]string{"--from", empty}, "checksums.txt could not be fetched"},
		"no folder":      {[]string{"--from", empty + "/no"}, "there is no folder"},
		"no network":     {[]string{"--from", nobody}, "without a network: fetch a release elsewhere"},
		"no version":     {[]string{"--from", good.dir, "--version", "9"}, "has no release 9 for"},
		"no signature":   {[]string{"--from", good.dir, "--key", "install_test.go"}, "checksums.txt.sig could not be fetched"},
		"no key":         {[]string{"--from", good.dir, "--key", "no"}, "there is no key no"},
		"no option":      {[]string{"--form", good.dir}, "there is no option --form"},
		"no value":       {[]string{"--from"}, "--from needs a value"},
		"not a folder":   {[]string{"--from", good.dir, "--to", file}, "cannot be made"},
		"below a file":   {[]string{"--from", good.dir, "--to", file + "/bin"}, "cannot be made"},
		"argument alone": {[]string{good.dir}, "there is no option"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine{home: t.TempDir()}
			to := t.TempDir()
			if err := os.WriteFile(to+"/ingero", []byte(says("before")), 0o755); err != nil {
				t.Fatal(err)
			}
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--to") && name != "no value" {
				args = append(args, "--to", to)
			}
			out, err := m.install(t, args...)
			if err == nil {
				t.Errorf("no error")
			}
			has(t, out, "install.sh: ", c.want)
			if left, err := os.ReadDir(to); err != nil || len(left) != 1 || prints(t, to+"/ingero") != "before" {
				t.Errorf("in the folder: %v %v", left, err)
			}
		})
	}
}

func TestFromAServer(t *testing.T) {
	s := httptest.NewServer(http.StripPrefix("/v1.2.0", http.FileServer(http.Dir(newRelease(t, "1.2.0").dir))))
	defer s.Close()
	tools := 0
	for _, tool := range []string{"curl", "wget"} {
		if _, err := exec.LookPath(tool); err != nil {
			continue
		}
		tools++
		m := machine{path: pathOf(t, tool)}
		to := t.TempDir()
		out, err := m.install(t, "--from", s.URL+"/v1.2.0/", "--to", to)
		if err != nil {
			t.Errorf("by %s: %v:\n%s", tool, err, out)
		} else if got := prints(t, to+"/ingero"); got != "1.2.0" {
			t.Errorf("by %s: it prints %q", tool, got)
		}
		out, err = m.install(t, "--from", s.URL+"/v1.3.0", "--to", to)
		if err == nil {
			t.Errorf("by %s: nothing is there, and no error:\n%s", tool, out)
		}
		has(t, out, "checksums.txt could not be fetched from "+s.URL+"/v1.3.0")
	}
	if tools == 0 {
		t.Skip("neither curl nor wget is here")
	}

	m := machine{path: pathOf(t)}
	out, err := m.install(t, "--from", s.URL+"/v1.2.0")
	if err == nil {
		t.Error("it fetched without curl and wget")
	}
	has(t, out, "curl or wget is needed")
}

func TestSignatureIsChecked(t *testing.T) {
	tool(t, "openssl")
	r := newRelease(t, "1.2.0")
	pub := filepath.Join(t.TempDir(), "cosign.pub")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pub, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(t.TempDir(), "private.pem")
	if der, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	sign := exec.Command("./sign", r.dir)
	sign.Env = append(os.Environ(), "INGERO_SIGNING_KEY="+private)
	if out, err := sign.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sig, err := os.ReadFile(filepath.Join(r.dir, "checksums.txt.sig"))
	if err != nil {
		t.Fatal(err)
	}
	var m machine
	to := t.TempDir()
	for name, content := range map[string][]byte{"plain": sig, "base64": []byte(base64.StdEncoding.EncodeToString(sig))} {
		r.write(t, "checksums.txt.sig", content)
		out, err := m.install(t, "--from", r.dir, "--to", to, "--key", pub)
		if err != nil {
			t.Errorf("%s: %v:\n%s", name, err, out)
		}
		has(t, out, "the signature of "+pub+" is right")
	}
	out, err := m.install(t, "--from", r.dir, "--to", to)
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	has(t, out, "there is a signature, which was not checked: sh install.sh --key FILE")

	r.write(t, "checksums.txt", append(r.sums.Bytes(), '\n'))
	out, err = m.install(t, "--from", r.dir, "--to", t.TempDir(), "--key", pub)
	if err == nil {
		t.Error("the signature of other checksums was accepted")
	}
	has(t, out, "is not signed with "+pub+": nothing was installed")
}
