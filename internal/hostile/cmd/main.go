// Command hostile attacks the programs in a folder, and prints what came through: see package hostile.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/internal/hostile"
)

func main() {
	if hostile.Main(os.Args) {
		return
	}
	if err := runCommand(); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func runCommand() error {
	var p hostile.Programs
	only := flag.String("only", "", "attack only these `targets` (fleet,node API)")
	flag.StringVar(&p.Bin, "bin", "bin", "`folder` of the programs")
	flag.StringVar(&p.Tree, "tree", ".", "`folder` of the sources")
	flag.BoolVar(&p.Short, "short", false, "without attacks that take seconds")
	each := flag.Bool("v", false, "print what each attack did, and how much memory the program took")
	kernel := flag.Bool("kernel", false, "fail, rather than skip, where tracing is not possible")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *each {
		p.Log = os.Stderr
	}
	var err error
	if p.Dir, err = os.MkdirTemp("", "ingero-hostile-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(p.Dir)
	for _, path := range []*string{&p.Bin, &p.Tree} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	list, err := chosen(*only)
	if err != nil {
		return err
	}
	return attack(ctx, list, &p, *kernel)
}

func attack(ctx context.Context, list []hostile.Target, p *hostile.Programs, kernel bool) error {
	var results []hostile.Result
	failed := 0
	for _, t := range list {
		r := hostile.Result{Target: t.Name, MaxMiB: t.MaxMiB}
		switch {
		case t.Long && p.Short:
			r.Skipped = "it takes minutes"
		case t.Kernel && !kernel && !canTrace():
			r.Skipped = "it needs root and a kernel with BTF"
		default:
			fmt.Fprintln(os.Stderr, "attacking:", t.Name)
			r = hostile.Run(ctx, t, p)
		}
		if !r.OK() {
			failed++
		}
		results = append(results, r)
	}
	if err := hostile.Print(os.Stdout, results); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets did not hold", failed, len(results))
	}
	return nil
}

func chosen(only string) ([]hostile.Target, error) {
	if only == "" {
		return hostile.Targets, nil
	}
	var list []hostile.Target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(hostile.Targets, func(t hostile.Target) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no target %q", name)
		}
		list = append(list, hostile.Targets[i])
	}
	return list, nil
}

// canTrace reports whether programs can be loaded into the kernel here.
func canTrace() bool {
	_, err := os.Stat("/sys/kernel/btf/vmlinux")
	return err == nil && os.Geteuid() == 0
}
