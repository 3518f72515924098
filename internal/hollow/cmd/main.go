// Command hollow builds the hollow GPU, and shows and changes what it does while programs run on
// it: see docs/real.md.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/real/torch"
)

const usage = `usage:
  hollow build                    compile the libraries, print their folder
  hollow env FILE                 print the variables for a program (FILE: what it shares)
  hollow torch FILE               the same for PyTorch, which is fetched if it is not in the cache
  hollow counts FILE              what the programs that share FILE have called
  hollow set FILE KEY=VALUE...    replace the settings, also of programs that run
  hollow supported                functions that do more than say "not supported"`

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runCommand(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "build":
		dir, err := hollow.Build(context.Background())
		if err == nil {
			fmt.Println(dir)
		}
		return err
	case len(args) == 2 && args[0] == "env":
		return env(args[1])
	case len(args) == 2 && args[0] == "torch":
		return pytorch(args[1])
	case len(args) == 2 && args[0] == "counts":
		return counts(args[1])
	case len(args) > 2 && args[0] == "set":
		return hollow.Set(args[1], strings.Join(args[2:], "\n"))
	case len(args) == 1 && args[0] == "supported":
		return supported()
	}
	return fmt.Errorf("%s", usage)
}

func env(file string) error {
	dir, err := hollow.Build(context.Background())
	if err != nil {
		return err
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return err
	}
	export(hollow.Env(dir, file))
	return nil
}

// pytorch fetches PyTorch's packages, and prints the variables for a program that uses them.
func pytorch(file string) error {
	f, err := torch.Fetch(context.Background(), os.Stderr)
	if err != nil {
		return err
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return err
	}
	export(f.Env(file))
	return nil
}

func export(variables []string) {
	for _, v := range variables {
		fmt.Println("export " + v)
	}
}

func counts(file string) error {
	rows, err := hollow.Counts(file)
	if err != nil {
		return err
	}
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		return a.Kind < b.Kind || a.Kind == b.Kind && a.Count > b.Count
	})
	kinds := map[hollow.Kind]string{
		hollow.Call: "call", hollow.Launched: "launched", hollow.Executed: "executed", hollow.Sum: "sum",
	}
	for _, r := range rows {
		if r.Count == 0 {
			continue
		}
		fmt.Printf("%-9s %12d %14.3f ms  %s\n", kinds[r.Kind], r.Count, float64(r.NS)/1e6, r.Name)
	}
	return nil
}

func supported() error {
	all, err := hollow.Supported()
	if err != nil {
		return err
	}
	for _, lib := range []string{"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} {
		for _, f := range all[lib] {
			fmt.Println(lib, f)
		}
	}
	return nil
}
