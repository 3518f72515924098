// Command cmd boots kernels in qemu and runs the tests that need a kernel in them;
// "make test-vm" calls it, in the repository's root.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/internal/vm"
)

// options are what the command line says.
type options struct {
	kernels []vm.Kernel
	arch    vm.Arch
	cache   string
	image   string
	both    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runCommand(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "test-vm:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("test-vm", flag.ContinueOnError)
	kernels := f.String("kernel", vm.All, "versions with commas between, or all")
	arch := f.String("arch", "amd64", "architecture to emulate, but for kernels with larger pages, which are for arm64")
	few := f.Bool("few", false, "only the tests that show that programs load and work, with the best back end")
	f.BoolVar(&o.both, "both", false,
		"run two kernels at the same time; each needs a CPU, and its console is printed at its end")
	f.StringVar(&o.cache, "cache", ".cache/vm", "folder for kernels and what is built")
	f.StringVar(&o.image, "image", "", "file of the kernel to boot, instead of one of Debian's")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.arch, err = vm.ArchOf(*arch); err != nil {
		return o, err
	}
	o.kernels, err = vm.Choose(*kernels, o.arch)
	for i := range o.kernels {
		o.kernels[i].Few = *few
	}
	return o, err
}

func runCommand(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return err
	}
	if err := o.install(ctx); err != nil {
		return err
	}
	runs := o.boots(ctx)
	ok := true
	for i := range runs {
		ok = ok && runs[i].OK()
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

// boots runs all kernels. Their machines are prepared before the first one runs: building would disturb it.
func (o *options) boots(ctx context.Context) []vm.Run {
	runs := make([]vm.Run, len(o.kernels))
	machines := make([]*vm.Machine, len(o.kernels))
	for i, k := range o.kernels {
		runs[i].Kernel = k
		machines[i], runs[i].Err = o.machine(ctx, k)
	}
	atOnce := 1
	if o.both {
		atOnce = 2
	}
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, m := range machines {
		if m == nil {
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			out := &output{to: os.Stdout, held: o.both}
			defer func() { out.end(); <-places }()
			o.boot(ctx, m, &runs[i], out)
		})
	}
	running.Wait()
	return runs
}

// machine prepares a machine with one kernel.
func (o *options) machine(ctx context.Context, k vm.Kernel) (*vm.Machine, error) {
	kernel, arch := o.image, k.On(o.arch)
	var err error
	if kernel == "" {
		if kernel, err = k.Fetch(ctx, o.cache, arch); err != nil {
			return nil, err
		}
	}
	image, err := vm.Image(ctx, o.cache, &k, arch)
	if err != nil {
		return nil, err
	}
	return &vm.Machine{
		Arch: arch, Whole: k.Whole, Kernel: kernel, Image: image,
		Silence: vm.DefaultSilence, Longest: vm.DefaultLongest,
	}, nil
}

// boot runs a machine.
func (o *options) boot(ctx context.Context, m *vm.Machine, r *vm.Run, out io.Writer) {
	began, arch := time.Now(), m.Arch.Go
	fmt.Fprintf(out, "\n=== Linux %s, %s\n", r.Kernel.Name(), arch)
	defer func() {
		r.Took = time.Since(began)
		fmt.Fprintf(out, "=== Linux %s, %s: %.0f s\n", r.Kernel.Name(), arch, r.Took.Seconds())
	}()
	log, err := os.Create(filepath.Join(o.cache, "console-"+r.Kernel.Name()+"-"+arch))
	if err != nil {
		r.Err = err
		return
	}
	defer log.Close()
	m.Log = io.MultiWriter(out, log)
	if r.Result, r.Err = m.Boot(ctx); r.Err == nil && o.image == "" {
		r.Err = r.Kernel.Check(r.Result)
	}
}

// output passes on what is written to it, at once or, if it is held, all at the end.
type output struct {
	to   io.Writer
	held bool
	kept bytes.Buffer
}

// one is held while an output is passed on.
var one sync.Mutex

func (o *output) Write(b []byte) (int, error) {
	if o.held {
		return o.kept.Write(b)
	}
	return o.to.Write(b)
}

func (o *output) end() {
	one.Lock()
	defer one.Unlock()
	_, _ = o.kept.WriteTo(o.to) // as with any line of its own
}

// install installs what is missing and may be installed: the emulator, and what builds a kernel.
func (o *options) install(ctx context.Context) error {
	var packages []string
	for i := range o.kernels {
		arch := o.kernels[i].On(o.arch)
		if _, err := exec.LookPath(arch.Qemu); err != nil && !slices.Contains(packages, arch.Package) {
			packages = append(packages, arch.Package)
		}
		if o.image != "" || o.kernels[i].There(o.cache, arch) {
			continue
		}
		for _, t := range o.kernels[i].Tools(arch) {
			if _, err := os.Stat(t.File); err != nil {
				packages = append(packages, t.Package)
			}
		}
	}
	if len(packages) == 0 {
		return nil
	}
	names := strings.Join(packages, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("install %s, or run this as root", names)
	}
	fmt.Println("installing", names)
	for _, args := range [][]string{
		{"-qq", "update"}, append([]string{"-qq", "install", "-y", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w: %s", names, err, out)
		}
	}
	return nil
}
