// Command cmd boots kernels in qemu and runs the tests that need a kernel in them;
// "make test-vm" calls it, in the repository's root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/internal/vm"
)

// options are what the command line says.
type options struct {
	kernels []vm.Kernel
	arch    vm.Arch
	cache   string
	image   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "test-vm:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("test-vm", flag.ContinueOnError)
	kernels := f.String("kernel", vm.All, "versions with commas between, or all")
	arch := f.String("arch", "amd64", "architecture to emulate")
	few := f.Bool("few", false, "only the tests that show that programs load and work, with the best back end")
	f.StringVar(&o.cache, "cache", ".cache/vm", "folder for kernels and what is built")
	f.StringVar(&o.image, "image", "", "file of the kernel to boot, instead of one of Debian's")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.arch, err = vm.ArchOf(*arch); err != nil {
		return o, err
	}
	o.kernels, err = vm.Choose(*kernels)
	for i := range o.kernels {
		o.kernels[i].Few = *few
	}
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return err
	}
	if err := install(ctx, o.arch); err != nil {
		return err
	}
	var runs []vm.Run
	ok := true
	for _, k := range o.kernels {
		r := o.boot(ctx, k)
		ok = ok && r.OK()
		runs = append(runs, r)
	}
	fmt.Println()
	if err := vm.WriteMatrix(os.Stdout, runs); err != nil {
		return err
	}
	if !ok {
		fmt.Println()
		vm.WriteFailures(os.Stdout, runs)
		return errors.New("not everything passed")
	}
	return nil
}

// boot runs one kernel.
func (o *options) boot(ctx context.Context, k vm.Kernel) vm.Run {
	began := time.Now()
	fmt.Printf("\n=== Linux %s, %s\n", k.Version, o.arch.Go)
	r := vm.Run{Kernel: k}
	r.Result, r.Err = o.result(ctx, k)
	r.Took = time.Since(began)
	fmt.Printf("=== Linux %s, %s: %.0f s\n", k.Version, o.arch.Go, r.Took.Seconds())
	return r
}

func (o *options) result(ctx context.Context, k vm.Kernel) (*vm.Result, error) {
	kernel := o.image
	var err error
	if kernel == "" {
		if kernel, err = k.Fetch(ctx, o.cache, o.arch); err != nil {
			return nil, err
		}
	}
	image, err := vm.Image(ctx, o.cache, &k, o.arch)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(o.cache, "console-"+k.Version+"-"+o.arch.Go))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m := vm.Machine{
		Arch: o.arch, Whole: k.Whole, Kernel: kernel, Image: image,
		Log:     io.MultiWriter(os.Stdout, log),
		Silence: vm.DefaultSilence, Longest: vm.DefaultLongest,
	}
	return m.Boot(ctx)
}

// install installs the emulator if it is missing and may be installed.
func install(ctx context.Context, a vm.Arch) error {
	if _, err := exec.LookPath(a.Qemu); err == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s is not installed: install %s, or run this as root", a.Qemu, a.Package)
	}
	for _, args := range [][]string{{"-qq", "update"}, {"-qq", "install", "-y", "--no-install-recommends", a.Package}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w: %s", a.Package, err, out)
		}
	}
	return nil
}
