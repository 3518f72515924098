package cudastub

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// NVMLSource is the source of a stand-in for NVIDIA's management library that describes GPUs which
// another library simulates (stub/nvml.c). It includes a header of capture/host/nvml.
//
//go:embed stub/nvml.c stub/nvml_stub.h
var NVMLSource embed.FS

// NVML is a copy of the stand-in for NVIDIA's management library.
type NVML struct {
	Dir, Path string // of libnvidia-ml.so.1
	size      int64  // without settings
}

// ExtractNVML writes the stand-in to a folder of its own below dir, with settings
// (see stub/nvml.c).
func ExtractNVML(dir string, settings ...string) (*NVML, error) {
	const name = "libnvidia-ml.so.1"
	if prebuiltRoot == "" {
		return nil, ErrUnsupported
	}
	lib, err := fs.ReadFile(prebuilt, prebuiltRoot+"/nvml/"+name)
	if err != nil {
		return nil, fmt.Errorf("extract %s: %w", name, err)
	}
	n := &NVML{Dir: filepath.Join(dir, "nvml"), size: int64(len(lib))}
	n.Path = filepath.Join(n.Dir, name)
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("extract %s: %w", name, err)
	}
	if err := writeExecutable(n.Path, lib); err != nil {
		return nil, fmt.Errorf("extract %s: %w", name, err)
	}
	return n, n.Set(settings...)
}

// Set replaces the settings, also of a library that is in use.
func (n *NVML) Set(settings ...string) error {
	const size = 4096 // CONFIG in stub/nvml.c
	text := "NVMLSTUB\n" + strings.Join(settings, "\n") + "\n"
	if len(text) > size {
		return fmt.Errorf("set %s: more than %d bytes", n.Path, size)
	}
	f, err := os.OpenFile(n.Path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set %s: %w", n.Path, err)
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(text+strings.Repeat("\x00", size-len(text))), n.size)
	return err
}
