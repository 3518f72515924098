package torch

import (
	"context"
	_ "embed"
	"io"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/real"
)

// triton is the compiler of torch.compile: one wheel.
//
//go:embed triton.txt
var triton []byte

const tritonVersion = "3.9.0"

// FetchTriton fetches Triton, which torch.compile needs, if it is not in the cache: programs find it
// from then on. What it makes needs gcc and Python's headers (Debian: python3-dev).
func (f *Files) FetchTriton(ctx context.Context, progress io.Writer) error {
	dir, err := real.Once("torch/triton-"+tritonVersion+"-"+f.tag, func(dir string) error {
		return f.install(ctx, dir, wheels{"Triton " + tritonVersion, triton, 286, 999}, progress)
	})
	f.Triton = filepath.Join(dir, "site")
	return err
}
