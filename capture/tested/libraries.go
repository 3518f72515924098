package tested

// Library is a set of libraries with which programs were traced.
type Library struct {
	Name   string `json:"libraries"`
	Driver string `json:"driver,omitempty"` // the version of NVIDIA's driver; empty: none was there
	On     string `json:"on"`               // the GPU, and the kernel if it is not that of all tests
	What   string `json:"what"`             // was tested
	Page   string `json:"page"`             // in docs, that says more
}

// Libraries are the sets, real GPUs first.
var Libraries = []Library{
	{
		"CUDA 13.0, PyTorch 2.11.0+cu130", "580.159.04", "NVIDIA H100 80GB HBM3, Linux 6.18, attached by session",
		"calls as CUPTI counts them, readings as nvidia-smi has them, known faults", "gpu.md",
	},
	{
		"libcudart 11.8, libcuda 535", "535", "no GPU",
		"no function is single-stepped, errors that they return are recorded", "coverage.md",
	},
	{
		"stand-ins for libcudart 11, 12 and 13, libcuda, libnccl 2 and libnvToolsExt 1", "", "no GPU",
		"all places in which programs have libraries", "coverage.md",
	},
	{"PyTorch 2.15, CUDA 13", "", "a simulated GPU", "each call that the program made is recorded", "real.md"},
	{"llama.cpp, CUDA 12 and 13", "", "a simulated GPU", "each call that the program made is recorded", "real.md"},
	{"JAX 0.10.2, CUDA 13", "", "a simulated GPU", "each call that the program made is recorded", "real.md"},
	{"ONNX Runtime 1.31.1, CUDA 13", "", "a simulated GPU", "each call that the program made is recorded", "real.md"},
}
