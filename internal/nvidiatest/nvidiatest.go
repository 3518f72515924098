// Package nvidiatest gives tests NVIDIA's own libraries, which nobody may pass on: they
// come from where INGERO_NVIDIA_LIBS says (.ci/nvidia puts them there). No GPU is
// needed: without one, calls fail with an error of their own.
package nvidiatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const env = "INGERO_NVIDIA_LIBS"

// Folder returns a folder with the library under the name that programs load it by,
// such as libnvidia-ml.so.1. It skips the test where there is none.
func Folder(t *testing.T, soname string) string {
	t.Helper()
	stem := soname[:strings.LastIndexByte(soname, '.')]
	for _, from := range filepath.SplitList(os.Getenv(env)) {
		files, err := filepath.Glob(filepath.Join(from, stem+".*.*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		dir := t.TempDir()
		if err := os.Symlink(files[0], filepath.Join(dir, soname)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Skipf("set %s to folders of which one has NVIDIA's %s", env, soname)
	return ""
}
