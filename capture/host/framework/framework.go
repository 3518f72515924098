// Package framework determines the framework by which a process uses the GPU, from the files that
// it maps. It opens none of them.
package framework

import (
	"path"
	"regexp"
	"strings"
)

// Name is the name of a framework; Unknown if it was not determined or not recorded.
type Name string

// The frameworks. CUDA is a program that calls CUDA itself.
const (
	Unknown    Name = ""
	PyTorch    Name = "PyTorch"
	JAX        Name = "JAX"
	TensorFlow Name = "TensorFlow"
	CuPy       Name = "CuPy"
	ONNX       Name = "ONNX Runtime"
	Llama      Name = "llama.cpp"
	CUDA       Name = "CUDA"
)

// marks are files by which a framework is recognised, as in its packages. A process that maps
// several counts for the first: the one that calls the others, or whose buffers they use.
var marks = []struct {
	name Name
	base *regexp.Regexp // of the file's name
	dir  *regexp.Regexp // of its folder; either is enough
}{
	{PyTorch, regexp.MustCompile(`^lib(torch|torch_cpu|torch_cuda\w*|torch_python|c10|c10_cuda)\.so`), nil},
	{
		JAX, regexp.MustCompile(`^(xla_extension|libjax_common|xla_cuda_plugin|pjrt_c_api_gpu_plugin)\b.*\.so`),
		regexp.MustCompile(`/jaxlib(/|$)`),
	},
	{TensorFlow, regexp.MustCompile(`^(libtensorflow\w*|_pywrap_tensorflow\w*)\.so`), nil},
	{CuPy, nil, regexp.MustCompile(`/(cupy|cupy_backends)(/|$)`)},
	{ONNX, regexp.MustCompile(`^(libonnxruntime\w*\.so|onnxruntime_pybind11_state\b.*\.so)`), nil},
	{Llama, regexp.MustCompile(`^(lib(llama|ggml)[-.\w]*\.so|llama-(cli|server|bench|simple|batched)$)`), nil},
}

// IsLibrary reports whether a file's name, whatever its folder, says that it is a library of a framework.
func IsLibrary(file string) bool {
	base := path.Base(file)
	if !strings.Contains(base, ".so") {
		return false
	}
	for _, m := range marks {
		if m.base != nil && m.base.MatchString(base) {
			return true
		}
	}
	return false
}

// Of is the framework of a process that maps the given files; CUDA if they are of none.
func Of(paths []string) Name {
	for _, m := range marks {
		for _, p := range paths {
			if m.base != nil && m.base.MatchString(path.Base(p)) || m.dir != nil && m.dir.MatchString(path.Dir(p)) {
				return m.name
			}
		}
	}
	return CUDA
}
