// Package embedded carries stand-in programs that have a copy of the CUDA runtime
// linked into them, as libcudart_static.a is. Only tests need it: nothing shipped
// imports it.
package embedded

import (
	"fmt"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// Files are the programs on disk. Each takes the arguments and the commands of
// cudastub's victim serve, and needs the stand-in libcuda.so.1.
type Files struct {
	Static   string // the runtime's functions are local symbols; it has device code
	Stripped string // the same without symbols
	Engine   string // the runtime is in libengine.so, which has no device code
	Library  string // libengine.so
}

// Extract writes the programs below f.Dir.
func Extract(f cudastub.Files) (Files, error) {
	dir := filepath.Join(f.Dir, "embedded")
	if err := cudastub.WriteTree(dir, prebuilt, prebuiltRoot); err != nil {
		return Files{}, fmt.Errorf("extract programs with an embedded runtime: %w", err)
	}
	return Files{
		Static:   filepath.Join(dir, "victim-static"),
		Stripped: filepath.Join(dir, "victim-stripped"),
		Engine:   filepath.Join(dir, "victim-engine"),
		Library:  filepath.Join(dir, "libengine.so"),
	}, nil
}
