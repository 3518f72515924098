package vm

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Tool is what is run or read, and the package that has it.
type Tool struct{ File, Package string }

// Tools are what a kernel needs that is built.
func (k *Kernel) Tools(arch Arch) []Tool {
	if k.Source == "" {
		return nil
	}
	list := []Tool{
		{"/usr/bin/make", "make"},
		{"/usr/bin/gcc", "gcc"},
		{"/usr/bin/flex", "flex"},
		{"/usr/bin/bison", "bison"},
		{"/usr/bin/bc", "bc"},
		{"/usr/bin/xz", "xz-utils"},
		{"/usr/include/libelf.h", "libelf-dev"},
		{"/usr/bin/pahole", "dwarves"},
	}
	if arch.Go != runtime.GOARCH {
		list = append(list, Tool{"/usr/bin/" + arch.Cross + "gcc", "gcc-" + strings.TrimSuffix(arch.Cross, "-")})
	}
	return list
}

// options64k are what is switched on in the kernel with pages of 64 KiB, of which Debian has no package: what the
// tests need and what distributions' kernels have of it. All else is off, so that it is built in minutes.
//
//go:embed arm64-64k.config
var options64k string

// build builds the kernel below the folder of a, and returns its file. Only that is kept.
func (k *Kernel) build(ctx context.Context, a *apt, arch Arch) (string, error) {
	if err := a.unpack(ctx, k.Source, "source"); err != nil {
		return "", err
	}
	source := filepath.Join(a.dir, "source")
	if err := command(ctx, "tar", "-C", source, "-xf", filepath.Join(source, "usr/src", k.Source+".tar.xz")); err != nil {
		return "", err
	}
	options, out := filepath.Join(source, "options"), filepath.Join(source, "out")
	if err := os.WriteFile(options, []byte(options64k), 0o644); err != nil {
		return "", err
	}
	args := []string{"-s", "-C", filepath.Join(source, k.Source), "O=" + out, "ARCH=" + arch.Kernel}
	if arch.Go != runtime.GOARCH {
		args = append(args, "CROSS_COMPILE="+arch.Cross)
	}
	if err := command(ctx, "make", append(args, "KCONFIG_ALLCONFIG="+options, "allnoconfig")...); err != nil {
		return "", err
	}
	config, err := os.ReadFile(filepath.Join(out, ".config"))
	if err != nil {
		return "", err
	}
	if left := missing(options64k, string(config)); len(left) > 0 {
		return "", fmt.Errorf("the kernel does not take %s", strings.Join(left, ", "))
	}
	if err := command(ctx, "make", append(args, "-j"+strconv.Itoa(runtime.NumCPU()), "Image")...); err != nil {
		return "", err
	}
	boot := filepath.Join(a.dir, "root/boot")
	if err := os.MkdirAll(boot, 0o755); err != nil {
		return "", err
	}
	image := filepath.Join(boot, "vmlinuz")
	if err := os.Rename(filepath.Join(out, "arch", arch.Kernel, "boot/Image"), image); err != nil {
		return "", err
	}
	return image, os.RemoveAll(source)
}

// missing are the options of a list that a configuration does not have.
func missing(options, config string) (list []string) {
	has := strings.Split(config, "\n")
	for line := range strings.Lines(options) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !slices.Contains(has, line) {
			list = append(list, line)
		}
	}
	return list
}
