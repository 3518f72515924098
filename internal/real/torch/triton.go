package torch

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ingero-io/ingero/internal/real"
)

// triton is the compiler of torch.compile: one wheel.
//
//go:embed triton.txt
var triton []byte

const tritonVersion = "3.9.0"

// FetchTriton fetches Triton, which torch.compile needs, if it is not in the cache. From then on
// programs find it. Compiling with it needs gcc and Python's headers (Debian: python3-dev).
func (f *Files) FetchTriton(ctx context.Context, progress io.Writer) (err error) {
	w := real.Wheels{Name: "Triton " + tritonVersion, Requirements: triton, FetchMB: 286, DiskMB: 999}
	f.Triton, err = w.Fetch(ctx, f.Python, "torch/triton-"+tritonVersion+"-"+f.Tag, progress)
	return err
}

// ReadFiles reads the fetched files into the page cache, so that programs do not wait for the disk
// while they load.
func (f *Files) ReadFiles() error {
	for _, dir := range []string{f.Site, f.Triton} {
		if dir == "" {
			continue
		}
		tree := os.DirFS(dir)
		err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			file, err := tree.Open(path)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // only read
			_, err = io.Copy(io.Discard, file)
			return err
		})
		if err != nil {
			return fmt.Errorf("read PyTorch's files: %w", err)
		}
	}
	return nil
}
