package nvlibs

import (
	"fmt"
	"regexp"
)

// kind describes one of NVIDIA's libraries.
type kind struct {
	prefix  string   // of its functions' names
	sources []string // written by hand
	refused int      // the status "not supported"
	failed  int      // the status of a failed launch
	compute *regexp.Regexp
}

// kinds are the libraries, by file name before ".so". The status numbers are from their headers.
// Functions that compute have a handle as first argument.
var kinds = map[string]kind{
	"libcublas": {
		prefix: "cublas", sources: []string{"cublas.c"}, refused: 15, failed: 13,
		compute: regexp.MustCompile(`^cublas([SDCZ][a-z0-9]|I[sdcz]a|GemmEx|Gemm.*Ex|DotEx)`),
	},
	"libcublasLt": {prefix: "cublasLt", sources: []string{"cublasLt.c"}, refused: 15},
	"libcudnn": {
		prefix: "cudnn", sources: []string{"cudnn.c"}, refused: 3000, failed: 5000,
		compute: regexp.MustCompile(`^cudnn(Convolution|BatchNormalization|Pooling|Spatial|RNN(Forward|Backward)|CTCLoss)`),
	},
	"libcufft": {prefix: "cufft", sources: []string{"cufft.c"}, refused: 16},
	"libcusolver": {
		prefix: "cusolver", sources: []string{"cusolver.c"}, refused: 9, failed: 6,
		compute: regexp.MustCompile(`^cusolverDn[SDCZX][a-z]+(Batched)?$`),
	},
	"libcusparse": {
		prefix: "cusparse", sources: []string{"cusparse.c"}, refused: 10, failed: 6,
		compute: regexp.MustCompile(`^cusparse([SDCZX][a-z0-9]+(_solve)?|Sp(MM|MV|GEMM_compute|SV_solve|SM_solve)|SDDMM)$`),
	},
	"libcurand":       {prefix: "curand", refused: 204},
	"libcusparseLt":   {prefix: "cusparseLt", refused: 10},
	"libcufile":       {prefix: "cuFile", refused: 5001},
	"libnccl":         {prefix: "nccl", sources: []string{"nccl.c", "nccl_comm.c", "nccl_data.c"}, refused: 5},
	"libnvrtc":        {prefix: "nvrtc", sources: []string{"nvrtc.c"}, refused: 6},
	"libcupti":        {prefix: "cupti", sources: []string{"cupti.c"}, refused: 27},
	"libnvshmem_host": {prefix: "nvshmem", refused: 7},
}

var (
	asks   = regexp.MustCompile(`(?i)buffersize|workspace|GetSize|[a-z]Get[A-Z]|Find|Count|Nnz$|zeroPivot`)
	makes  = regexp.MustCompile(`Create|_create`)
	serves = regexp.MustCompile(`Destroy|_destroy|Set`) // calls that a library without state can ignore
)

// stub is the C code of a function of which only the name is known. A function that computes
// launches a kernel; one that creates something allocates a piece of memory; one that queries
// something is refused, because an invented answer would be wrong.
func (k *kind) stub(name string) string {
	body := fmt.Sprintf("HIT; return %d;", k.refused)
	switch {
	case k.compute == nil, asks.MatchString(name):
	case makes.MatchString(name):
		body = fmt.Sprintf("HIT; return nvlibs_new(a, 256, %d);", k.refused)
	case serves.MatchString(name):
		body = "HIT; return 0;"
	case k.compute.MatchString(name):
		body = fmt.Sprintf("HIT; return LAUNCH(\"hollow_%s\", ((struct handle *)a)->stream, %d);", name, k.failed)
	}
	return fmt.Sprintf("API %s(void *a) { %s }\n", name, body)
}
