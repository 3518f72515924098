package torch

import (
	"context"
	_ "embed"
	"io"

	"github.com/ingero-io/ingero/internal/real"
)

// triton is the compiler of torch.compile: one wheel.
//
//go:embed triton.txt
var triton []byte

const tritonVersion = "3.9.0"

// FetchTriton fetches Triton, which torch.compile needs, if it is not in the cache: programs find it
// from then on. What it makes needs gcc and Python's headers (Debian: python3-dev).
func (f *Files) FetchTriton(ctx context.Context, progress io.Writer) (err error) {
	w := real.Wheels{Name: "Triton " + tritonVersion, Requirements: triton, FetchMB: 286, DiskMB: 999}
	f.Triton, err = w.Fetch(ctx, f.Python, "torch/triton-"+tritonVersion+"-"+f.tag, progress)
	return err
}
