package gpukernel_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/symbol/gpukernel"
)

func TestNamesOfKernelsAreReadable(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"_Z14softmax_kernelIfEvPKT_PS0_i":          "softmax_kernel<float>",
		"__device_stub__Z10add_kernelPKfS0_Pfi":    "add_kernel",
		"_Z11gemm_kernelILi128EEvPKfS1_Pfi":        "gemm_kernel<128>",
		"_ZN2at6native13reduce_kernelILi512EEEvPf": "at::native::reduce_kernel<512>",
		"_ZN2at6native20_GLOBAL__N__a1b2c3d420softmax_warp_forwardIfEEvPT_": "at::native::(anonymous " +
			"namespace)::softmax_warp_forward<float>",
		"saxpy":                          "saxpy", // extern "C", or Triton
		"triton_poi_fused_add_0d1d2d3de": "triton_poi_fused_add_0d1d2d3de",
		"ampere_sgemm_128x64_tn":         "ampere_sgemm_128x64_tn",
		"":                               "",
		"__device_stub_":                 "__device_stub_",
		"_Z":                             "_Z",
	}
	for symbol, want := range tests {
		if got := gpukernel.Readable(symbol); got != want {
			t.Errorf("%s reads %q, want %q", symbol, got, want)
		}
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	long := "_Z1fI" + strings.Repeat("St6vectorI", 400) + "i" + strings.Repeat("E", 400) + "EvT_"
	if n := len(gpukernel.Readable(long)); n > 1<<13 {
		t.Errorf("a name of %d bytes", n)
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("_Z14softmax_kernelIfEvPKT_PS0_i")
	f.Add("__device_stub__Z10add_kernelPKfS0_Pfi")
	f.Fuzz(func(t *testing.T, symbol string) {
		if symbol != "" && gpukernel.Readable(symbol) == "" {
			t.Errorf("%q has no name", symbol)
		}
	})
}
