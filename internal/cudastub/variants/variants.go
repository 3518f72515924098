// Package variants carries builds of the stand-in libraries whose functions begin with
// other instructions than the default ones. The first instruction of a function decides
// how the kernel executes a probed entry, so probes are tested on all variants. It is
// separate from package cudastub because only tests need it: nothing shipped imports
// it.
package variants

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// Names are the variants of the running architecture:
//
//	amd64  endbr64  endbr64; push %rbp
//	       subrsp   sub $8,%rsp
//	       nop5     one 5-byte nop
//	       nops     five 1-byte nops
//	       nvcuda   libcuda: cmpl; je; jmp as in NVIDIA's; libcudart as by default
//	arm64  bti      bti c; stp x29, x30
func Names() ([]string, error) {
	if prebuiltRoot == "" {
		return nil, cudastub.ErrUnsupported
	}
	entries, err := fs.ReadDir(prebuilt, prebuiltRoot)
	if err != nil {
		return nil, fmt.Errorf("list variants: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Extract writes all variants beside the extracted default files, where f.Variant finds them.
func Extract(f cudastub.Files) error {
	if err := cudastub.WriteTree(filepath.Join(f.Dir, "variants"), prebuilt, prebuiltRoot); err != nil {
		return fmt.Errorf("extract variants: %w", err)
	}
	return nil
}
