package cudalib

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Kind is which of the CUDA libraries a file is.
type Kind string

// The libraries.
const (
	Runtime Kind = "runtime" // libcudart
	Driver  Kind = "driver"  // libcuda
	NCCL    Kind = "nccl"    // libnccl
	NVTX    Kind = "nvtx"    // libnvToolsExt
)

// kinds are, in the order in which they are attached to, the names of files, with the versions that follow them and the
// hashes that Python wheels put into them: libcudart.so.12,
// libcudart.so.11.8.89, libcudart-d0da41ae.so.11.0, libcuda.so.535.261.03.
var kinds = []struct {
	kind Kind
	file *regexp.Regexp
}{
	{Runtime, regexp.MustCompile(`^libcudart(-[0-9a-f]+)?\.so(\.[0-9]+)*$`)},
	{Driver, regexp.MustCompile(`^libcuda\.so(\.[0-9]+)*$`)},
	{NCCL, regexp.MustCompile(`^libnccl(-[0-9a-f]+)?\.so(\.[0-9]+)*$`)},
	{NVTX, regexp.MustCompile(`^libnvToolsExt(-[0-9a-f]+)?\.so(\.[0-9]+)*$`)},
}

// File matches the base name of the library's file.
func (k Kind) File() *regexp.Regexp {
	for _, x := range kinds {
		if x.kind == k {
			return x.file
		}
	}
	return nil
}

// Order is where the kind comes in the order in which a process's libraries are attached to; -1 if
// it is none.
func (k Kind) Order() int {
	for n, x := range kinds {
		if x.kind == k {
			return n
		}
	}
	return -1
}

// KindOf is the library that a file's name says it is, empty for any other.
func KindOf(path string) Kind {
	base := filepath.Base(path)
	for _, x := range kinds {
		if x.file.MatchString(base) {
			return x.kind
		}
	}
	return ""
}

// others are the names of further libraries of NVIDIA's that programs which use a GPU load: of mathematics,
// compilers, communication, and parts of the driver.
var others = regexp.MustCompile(`^lib(cublas|cublasLt|cudnn\w*|cufft|cufftw|cufile|cupti|curand|cusolver|cusolverMg|` +
	`cusparse|cusparseLt|nccl-(net|tuner|profiler)[-\w]*|nvinfer\w*|nvJitLink|nvrtc|nvrtc-builtins|nvshmem\w*|` +
	`nvidia-(ml|nvvm\w*|ptxjitcompiler))(-[0-9a-f]+)?\.so(\.[0-9]+)*$`)

// IsLibrary reports whether a file's name says that it is one of NVIDIA's libraries that programs load: one with
// a Kind, or another.
func IsLibrary(path string) bool {
	return KindOf(path) != "" || others.MatchString(filepath.Base(path))
}

// VersionOf is the version in a file's name: "11.8.89" of libcudart.so.11.8.89;
// empty if there is none.
func VersionOf(path string) string {
	_, v, _ := strings.Cut(filepath.Base(path), ".so.")
	return v
}
