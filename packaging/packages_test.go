package packaging_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/vm"
)

// distEnv names the folder that "make release-snapshot" wrote.
const distEnv = "INGERO_DIST"

// dist returns the one file of the release that fits a pattern.
func dist(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv(distEnv)
	if dir == "" {
		t.Skip("make test-packages runs it, on what make release-snapshot built")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %v, %v", pattern, dir, found, err)
	}
	return found[0]
}

// run runs a program, and returns what it printed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func copyFile(t *testing.T, to, from string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, mode); err != nil {
		t.Fatal(err)
	}
}

const suite = "bookworm"

// system returns an initramfs with a Debian in which systemd runs. It is made once, and kept in the cache.
func system(t *testing.T, cache string) string {
	t.Helper()
	packages := []string{"systemd", "systemd-sysv", "procps", "passwd", "rpm"}
	image := filepath.Join(cache, suite+"-"+strings.Join(packages, "-")+".cpio.gz")
	if _, err := os.Stat(image); err == nil {
		return image
	}
	root := filepath.Join(t.TempDir(), "root")
	mirror := os.Getenv(vm.MirrorEnv)
	if mirror == "" {
		mirror = vm.DefaultMirror
	}
	run(t, ".", "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase",
		"--include="+strings.Join(packages, ","), "--dpkgopt=path-exclude=/usr/share/locale/*", suite, root,
		strings.TrimSuffix(mirror, "/")+"/debian")
	run(t, root, "sh", "-c", "rm -rf var/cache/apt/* var/lib/apt/lists/* && find . | cpio -o -H newc --quiet | gzip -1 >"+image+".new")
	if err := os.Rename(image+".new", image); err != nil {
		t.Fatal(err)
	}
	return image
}

const unit = `[Unit]
After=basic.target
[Service]
Type=exec
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
Environment=HOME=/root NEW_VERSION=%s
ExecStart=/test/run.sh
ExecStopPost=/bin/systemctl poweroff --force --force
`

// TestPackages installs, uses, upgrades and removes the packages in a Debian with systemd, in a virtual machine.
// What is checked there is in testdata/packages.
func TestPackages(t *testing.T) {
	deb := dist(t, "ingero_*_"+runtime.GOARCH+".deb")
	rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	arch, err := vm.ArchOf(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := vm.Choose("7.2", arch)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := filepath.Abs("../.cache/packages")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	kernel, err := kernels[0].Fetch(t.Context(), "../.cache/vm", arch)
	if err != nil {
		t.Fatal(err)
	}

	// What is tested comes as a second archive, behind that of the system.
	more := t.TempDir()
	packages(t, filepath.Join(more, "packages"), rpmArch)
	scripts, err := filepath.Glob("testdata/packages/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		// What is built here is for this architecture.
		script := run(t, ".", "sed", "s/_amd64\\.deb/_"+runtime.GOARCH+".deb/; s/\\.x86_64\\.rpm/."+rpmArch+".rpm/", s)
		to := filepath.Join(more, "test", filepath.Base(s))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(script+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"prolog.sh", "epilog.sh"} {
		copyFile(t, filepath.Join(more, "slurm", script), filepath.Join("../deploy/slurm", script), 0o755)
	}
	stub := filepath.Join("../internal/cudastub/prebuilt", "linux_"+runtime.GOARCH)
	copyFile(t, filepath.Join(more, "stand-in/victim"), filepath.Join(stub, "victim"), 0o755)
	libs, err := filepath.Glob(filepath.Join(stub, "lib/*"))
	if err != nil || len(libs) == 0 {
		t.Fatalf("the stand-in's libraries: %v, %v", libs, err)
	}
	for _, l := range libs {
		copyFile(t, filepath.Join(more, "stand-in/lib", filepath.Base(l)), l, 0o644)
	}
	version := run(t, ".", "dpkg-deb", "-f", deb, "Version")
	service := filepath.Join(more, "etc/systemd/system/packaging-test.service")
	wants := filepath.Join(more, "etc/systemd/system/multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(service, fmt.Appendf(nil, unit, version), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../packaging-test.service", filepath.Join(wants, "packaging-test.service")); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "initramfs")
	run(t, more, "sh", "-c", "cp "+system(t, cache)+" "+image+
		" && find . -mindepth 1 | cpio -o -H newc --quiet --owner=0:0 | gzip -1 >>"+image)

	m := vm.Machine{
		Arch: arch, Whole: kernels[0].Whole, Kernel: kernel, Image: image,
		Append: "rdinit=/lib/systemd/systemd systemd.show_status=false systemd.firstboot=off",
		// Emulated, this takes eight minutes, and over fifteen beside others on a machine of half the speed.
		Log: writer{t}, Silence: 4 * time.Minute, Longest: vm.DefaultLongest,
	}
	r, err := m.Boot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Steps {
		if !s.OK() {
			t.Errorf("%s: %d checks passed, failed: %s", s.Package, s.Passed, strings.Join(s.Failed, "; "))
		}
		t.Logf("Linux %s: %s: %d checks passed", r.Release, s.Package, s.Passed)
	}
}

// writer shows the console of a virtual machine.
type writer struct{ t *testing.T }

var _ io.Writer = writer{}

func (w writer) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
