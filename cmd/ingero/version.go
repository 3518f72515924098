package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker (see the Makefile).
var (
	version = "dev"
	commit  = ""
)

type versionInfo struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// build describes this binary, also when it was built without the Makefile.
func build() versionInfo {
	v := versionInfo{
		Schema: 1, Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Commit == "" {
			v.Commit = s.Value
		}
	}
	return v
}

func versionCommand(c *console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: "  ingero version\n  ingero version --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := build()
			if asJSON {
				return json.NewEncoder(c.out).Encode(v)
			}
			short := v.Commit[:min(len(v.Commit), 12)]
			if short == "" {
				short = "unknown"
			}
			_, err := fmt.Fprintf(c.out, "ingero %s (commit %s, %s, %s/%s)\n", v.Version, short, v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
