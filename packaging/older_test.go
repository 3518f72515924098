package packaging_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// packages puts what was built into a folder, and an earlier version of what is upgraded.
func packages(t *testing.T, to, rpmArch string) {
	t.Helper()
	for _, program := range []string{"ingero", "ingero-echo", "ingero-fleet"} {
		deb := dist(t, program+"_*_"+runtime.GOARCH+".deb")
		rpm := dist(t, program+"-[0-9]*."+rpmArch+".rpm")
		for _, file := range []string{deb, rpm} {
			copyFile(t, filepath.Join(to, "new", filepath.Base(file)), file, 0o644)
		}
		old := filepath.Join(to, "old")
		if err := os.MkdirAll(old, 0o755); err != nil {
			t.Fatal(err)
		}
		olderRPM(t, rpm, filepath.Join(old, program+"-0.rpm"))
		built := ""
		if program == "ingero" { // the others take long to build
			built = olderProgram(t)
		}
		older(t, deb, built, filepath.Join(old, program+"_0.deb"))
	}
}

// older makes a deb of an earlier version out of this one, with another program if there is one, and with another
// ingero.yaml.
func older(t *testing.T, deb, program, to string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deb")
	run(t, ".", "dpkg-deb", "-R", deb, dir)
	control := filepath.Join(dir, "DEBIAN/control")
	b, err := os.ReadFile(control)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "Version:") {
			lines[i] = "Version: 0.0.0~0"
		}
	}
	if err := os.WriteFile(control, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	configuration := filepath.Join(dir, "etc/ingero/ingero.yaml")
	if b, err := os.ReadFile(configuration); err == nil {
		if err := os.WriteFile(configuration, append(b, "# A line of the earlier version.\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if program != "" {
		copyFile(t, filepath.Join(dir, "usr/bin", filepath.Base(program)), program, 0o755)
	}
	run(t, ".", "dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", dir, to)
}

// olderProgram is the tracer with an earlier version.
func olderProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ingero")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=0.0.0~0", "-o", program, "../cmd/ingero")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build an older program: %v: %s", err, out)
	}
	return program
}

// olderRPM makes an rpm of an earlier version out of this one: each digit of its version is 0. What it installs is the
// same.
func olderRPM(t *testing.T, rpm, to string) {
	t.Helper()
	version := regexp.MustCompile(`-([0-9][^-]*)-[^-]*\.rpm$`).FindStringSubmatch(rpm)
	b, err := os.ReadFile(rpm)
	if err != nil || version == nil {
		t.Fatalf("%s: %v", rpm, err)
	}
	sums, header := rpmHeaders(b)
	change := func(part []byte, from, to string) {
		changed := bytes.ReplaceAll(part, []byte(from), []byte(to))
		if bytes.Equal(changed, part) || len(changed) != len(part) {
			t.Fatalf("%s has no %s where it should be", rpm, from)
		}
		copy(part, changed)
	}
	sum := func() string { return fmt.Sprintf("%x", sha256.Sum256(header)) }
	before := sum()
	change(header, version[1], regexp.MustCompile("[0-9]").ReplaceAllString(version[1], "0"))
	change(sums, before, sum())
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
