package framework_test

import (
	"testing"

	"github.com/ingero-io/ingero/capture/host/framework"
)

func TestLibrariesOfFrameworksAreKnownByTheirNames(t *testing.T) {
	for path, want := range map[string]bool{
		"/venv/torch/lib/libtorch_cuda.so": true, "/venv/torch/lib/libc10.so": true, "/venv/jaxlib/libjax_common.so": true,
		"/venv/jax_plugins/xla_cuda12/xla_cuda_plugin.so": true, "/app/libggml-cuda.so.0": true,
		"/venv/onnxruntime/capi/libonnxruntime_providers_cuda.so": true, "/venv/tensorflow/libtensorflow_cc.so.2": true,
		"/usr/local/bin/llama-server": false, "/venv/cupy/_core/core.cpython-312.so": false, "/lib/libc.so.6": false,
		"/torch.so/x": false,
	} {
		if framework.IsLibrary(path) != want {
			t.Errorf("%s: %v, want %v", path, !want, want)
		}
	}
}

func TestFrameworkOfMappedFiles(t *testing.T) {
	const site = "/venv/lib/python3.12/site-packages/"
	for _, tc := range []struct {
		want  framework.Name
		paths []string
	}{
		{
			framework.PyTorch,
			[]string{"/usr/bin/python3.12", site + "torch/lib/libtorch_cuda.so", site + "torch/lib/libc10.so"},
		},
		{framework.PyTorch, []string{site + "onnxruntime/capi/libonnxruntime.so.1.20", site + "torch/lib/libtorch.so"}},
		{framework.Llama, []string{"/app/bins/linux-x64-cuda/libggml-cuda.so", "/app/libllama.so"}},
		{framework.Llama, []string{"/usr/local/bin/llama-server"}},
		{framework.JAX, []string{site + "jaxlib/xla_extension.so"}},
		{framework.JAX, []string{site + "jax_plugins/xla_cuda12/xla_cuda_plugin.so"}},
		{framework.TensorFlow, []string{site + "tensorflow/libtensorflow_cc.so.2"}},
		{framework.CuPy, []string{site + "cupy/_core/core.cpython-312-x86_64-linux-gnu.so"}},
		{framework.ONNX, []string{site + "onnxruntime/capi/onnxruntime_pybind11_state.cpython-312-x86_64-linux-gnu.so"}},
		{framework.CUDA, []string{"/usr/bin/trainer", "/usr/local/cuda/lib64/libcudart.so.12"}},
		{framework.CUDA, []string{"/opt/torchlight/bin/app", "/home/llama/app", "/opt/libtorchish.so.1"}},
		{framework.CUDA, nil},
	} {
		if got := framework.Of(tc.paths); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.paths, got, tc.want)
		}
	}
}
