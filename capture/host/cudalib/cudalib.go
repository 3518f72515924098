// Package cudalib knows where CUDA libraries are installed, so that probes can be attached before
// any process has loaded them. Libraries in other places are found when a process maps them.
package cudalib

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dirs are the folders a dynamic loader or a CUDA installation uses, in the
// order they are searched.
var Dirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/usr/lib/wsl/lib", "/run/opengl-driver/lib",
}

// globs are further folders with versions in their names, from / on.
var globs = []string{"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda*/lib64"}

// Installed returns the files below the known folders, and below extra ones,
// whose base name one of the patterns matches: resolved, sorted, each file once.
func Installed(extra []string, patterns ...*regexp.Regexp) []string {
	dirs := append(slices.Clone(extra), Dirs...)
	for _, g := range globs {
		dirs = append(dirs, glob("/", g)...)
	}
	var found []string
	for _, dir := range dirs {
		for _, name := range namesIn(dir) {
			if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) }) {
				continue
			}
			path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil {
				continue // a dangling link
			}
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// SearchPath splits a variable such as LD_LIBRARY_PATH.
func SearchPath(value string) []string {
	var dirs []string
	for d := range strings.SplitSeq(value, ":") {
		if d != "" {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
