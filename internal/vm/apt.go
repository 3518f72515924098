package vm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MirrorEnv names a mirror that is used instead of DefaultMirror; below it have to
// be the archives debian and debian-security.
const MirrorEnv = "DEBIAN_MIRROR"

// DefaultMirror is the server of Debian's packages.
const DefaultMirror = "http://deb.debian.org"

// keyring has the keys of Debian's archives, also of those before and after the
// system's own.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt asks one archive, with a configuration and lists of its own below dir.
type apt struct {
	dir  string
	arch Arch
}

// newApt prepares dir and reads the suite's list of packages.
func newApt(ctx context.Context, dir string, k *Kernel, arch Arch) (*apt, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil,
			fmt.Errorf("get kernel %s: %w: kernels come from Debian's archive; run it on Debian or Ubuntu", k.Name(), err)
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, fmt.Errorf("get kernel %s: %w: install debian-archive-keyring", k.Name(), err)
	}
	mirror := os.Getenv(MirrorEnv)
	if mirror == "" {
		mirror = DefaultMirror
	}
	a := &apt{dir: dir, arch: arch}
	for _, sub := range []string{"parts", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("get kernel %s: %w", k.Name(), err)
		}
	}
	source := fmt.Sprintf("Types: deb\nURIs: %s/%s\nSuites: %s\nComponents: main\nSigned-By: %s\n",
		strings.TrimSuffix(mirror, "/"), k.Archive, k.Suite, keyring)
	if err := os.WriteFile(filepath.Join(dir, "parts/kernel.sources"), []byte(source), 0o644); err != nil {
		return nil, fmt.Errorf("get kernel %s: %w", k.Name(), err)
	}
	if _, err := a.runApt(ctx, "apt-get", "update", "-qq", "--error-on=any"); err != nil {
		return nil, fmt.Errorf("read the list of %s of %s: %w", k.Suite, mirror, err)
	}
	return a, nil
}

// runApt runs one of apt's programs, away from the system's settings and state.
func (a *apt) runApt(ctx context.Context, program string, args ...string) ([]byte, error) {
	set := []string{
		"Dir::Etc::SourceList=/dev/null", "Dir::Etc::SourceParts=" + filepath.Join(a.dir, "parts"),
		"Dir::State::Lists=" + filepath.Join(a.dir, "lists"), "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"APT::Architecture=" + a.arch.Debian, "APT::Architectures=" + a.arch.Debian, "APT::Sandbox::User=",
		"Acquire::Languages=none", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"Acquire::Check-Valid-Until=false", // for releases after their end of life
	}
	full := make([]string, 0, 2*len(set)+len(args))
	for _, s := range set {
		full = append(full, "-o", s)
	}
	cmd := exec.CommandContext(ctx, program, append(full, args...)...)
	cmd.Dir = a.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// There says whether the kernel is below cache already.
func (k *Kernel) There(cache string, arch Arch) bool {
	_, err := bootFile(k.dir(cache, arch))
	return err == nil
}

func (k *Kernel) dir(cache string, arch Arch) string {
	return filepath.Join(cache, k.Name()+"-"+arch.Go)
}

// Fetch returns the file of the latest kernel of that version. It downloads and unpacks
// it below cache if it is not there.
func (k *Kernel) Fetch(ctx context.Context, cache string, arch Arch) (image string, err error) {
	dir, err := filepath.Abs(k.dir(cache, arch))
	if err != nil {
		return "", err
	}
	if image, err = bootFile(dir); err == nil {
		return image, nil
	}
	a, err := newApt(ctx, dir, k, arch)
	if err != nil {
		return "", err
	}
	if k.Source != "" {
		if image, err = k.build(ctx, a, arch); err != nil {
			return "", fmt.Errorf("build kernel %s: %w", k.Name(), err)
		}
		return image, nil
	}
	names, err := a.runApt(ctx, "apt-cache", "pkgnames", "linux-")
	if err != nil {
		return "", fmt.Errorf("look for kernel %s: %w", k.Name(), err)
	}
	name, ok := k.newest(strings.Fields(string(names)), arch)
	if !ok {
		return "", fmt.Errorf("look for kernel %s: %s has none for %s any more; boot another with -image", k.Name(), k.Suite,
			arch.Debian)
	}
	if err := a.unpack(ctx, name, "root"); err != nil {
		return "", fmt.Errorf("get kernel %s: %w", k.Name(), err)
	}
	return bootFile(dir)
}

// unpack loads a package and unpacks it into a folder of the directory.
func (a *apt) unpack(ctx context.Context, name, to string) error {
	if _, err := a.runApt(ctx, "apt-get", "download", "-qq", name); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(a.dir, name+"_*.deb"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("unpack %s: %d files have been loaded (%w)", name, len(files), err)
	}
	if err := command(ctx, "dpkg-deb", "-x", files[0], filepath.Join(a.dir, to)); err != nil {
		return err
	}
	return os.Remove(files[0])
}

// command runs a program that says nothing unless it fails.
func command(ctx context.Context, program string, args ...string) error {
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// bootFile is the kernel in an unpacked package; linux-binary keeps it beside the
// modules.
func bootFile(dir string) (string, error) {
	for _, place := range []string{"root/boot/vmlinu*", "root/usr/lib/modules/*/vmlinu*"} {
		files, err := filepath.Glob(filepath.Join(dir, place))
		if err != nil {
			return "", err
		}
		if len(files) == 1 {
			return files[0], nil
		}
	}
	return "", fmt.Errorf("no kernel below %s", dir)
}
