// Package commands has what all programs have on their command line: their version, and in the build that packages are
// made with, their manual pages.
package commands

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Build describes a program.
type Build struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Unset is the version of a program that was told none by the linker.
const Unset = "dev"

// Of describes this program, also when it was built without the Makefile. Version and commit are what the linker told
// it.
func Of(version, commit string) Build {
	b := Build{
		Schema: 1, Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == Unset && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.Commit == "" {
			b.Commit = s.Value
		}
	}
	return b
}

// line says it in one line.
func (b Build) line(program string) string {
	short := b.Commit[:min(len(b.Commit), 12)]
	if short == "" {
		short = "unknown"
	}
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, b.Version, short, b.Go, b.OS, b.Arch)
}

// Add gives a program the command version and the flag --version, and man, if it is the build for packages. Usage makes
// the program's own error of a wrong command line.
func Add(root *cobra.Command, b Build, usage func(error) error) {
	line := b.line(root.Name())
	root.Version = line
	root.SetVersionTemplate("{{.Version}}\n")
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: fmt.Sprintf("  %s version\n  %[1]s version --json", root.Name()),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("%s takes no arguments; see %[1]s --help", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	root.AddCommand(cmd)
	if man != nil {
		root.AddCommand(man())
	}
}

// man makes a command that writes the program's manual pages.
var man func() *cobra.Command
