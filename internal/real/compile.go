package real

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Compile compiles a C source with gcc into the cache and returns the program's path. It is
// compiled again when the source or the flags change. The program has frame pointers, and no
// optimisation that hides its functions from a debugger.
func Compile(ctx context.Context, name string, source []byte, flags ...string) (string, error) {
	h := sha256.New()
	h.Write(source)
	fmt.Fprintln(h, flags)
	dir, err := Once(fmt.Sprintf("%s-%x", name, h.Sum(nil)[:8]), func(dir string) error {
		c := filepath.Join(dir, "program.c")
		if err := os.WriteFile(c, source, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		args := append([]string{
			"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "program"),
			c,
		}, flags...)
		if out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s with gcc: %w\n%s", name, err, out)
		}
		return nil
	})
	return filepath.Join(dir, "program"), err
}
