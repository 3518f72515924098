package llama

import (
	"context"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
)

// GPU makes the hollow GPU's libraries for CUDA 12 and 13 in the folder dir, with the part of
// cuBLAS that llama.cpp needs.
func (f *Files) GPU(ctx context.Context, dir string) error {
	below, err := hollow.Build(ctx)
	if err != nil {
		return err
	}
	const user = "libggml-cuda.so"
	return nvlibs.Build(ctx, below, dir, filepath.Join(f.CUDA12, user), filepath.Join(f.CUDA13, user))
}
