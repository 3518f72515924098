package llama

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/hollow"
)

//go:embed src/cublas.c
var cublas []byte

// GPU puts the hollow GPU's libraries into the folder dir, with what llama.cpp needs of cuBLAS,
// for CUDA 12 and 13.
func GPU(ctx context.Context, dir string) error {
	built, err := hollow.Build(ctx)
	if err != nil {
		return err
	}
	for _, soname := range []string{"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} {
		if err := os.Symlink(filepath.Join(built, soname), filepath.Join(dir, soname)); err != nil {
			return fmt.Errorf("put the hollow GPU together: %w", err)
		}
	}
	source := filepath.Join(dir, "cublas.c")
	if err := os.WriteFile(source, cublas, 0o644); err != nil {
		return fmt.Errorf("put the hollow GPU together: %w", err)
	}
	for _, soname := range []string{"libcublas.so.12", "libcublas.so.13"} {
		script := filepath.Join(dir, soname+".map")
		if err := os.WriteFile(script, []byte(soname+" { global: cublas*; local: *; };\n"), 0o644); err != nil {
			return fmt.Errorf("put the hollow GPU together: %w", err)
		}
		cmd := exec.CommandContext(ctx, "gcc", "-shared", "-fPIC", "-O1", "-Wall", "-I", filepath.Join(built, "src"),
			"-Wl,-soname,"+soname, "-Xlinker", "--version-script="+script, "-o", filepath.Join(dir, soname), source,
			filepath.Join(built, "libcuda.so.1"))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w\n%s", soname, err, text)
		}
	}
	return nil
}
