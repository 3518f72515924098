package diagnose

import (
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/event"
)

// Topics of advice that depends on the program's framework. Advice that is the same for all
// frameworks is in the cause itself.
const (
	adviceFewThreads   = event.CauseCPUContention
	adviceFewWorkers   = event.CauseCPUContention + " workers"
	adviceKeepWorkers  = event.CauseInputStarvation + " anew"
	adviceWorkers      = event.CauseInputStarvation
	advicePageLock     = event.CausePageableCopy
	adviceCopyIn       = event.CausePageableCopy + " to the device"
	adviceCopyOut      = event.CausePageableCopy + " to the host"
	advicePinned       = event.CauseDriverCPU + " copy"
	adviceKeepMemory   = event.CauseAllocChurn
	adviceAllocator    = event.CauseAllocChurn + " allocator"
	advicePool         = event.CauseAllocChurn + " pool"
	adviceLeak         = event.CauseMemoryLeak
	adviceSyncCopy     = event.CauseImplicitSync + " copy"
	adviceSync         = event.CauseImplicitSync
	adviceReadLater    = event.CauseImplicitSync + " later"
	adviceCaptureEarly = event.CauseGraphRecapture
	adviceGraphUnused  = event.CauseGraphLaunchDrop
	adviceCaptureMode  = event.CauseGraphCapture + " by another thread"
	adviceCaptureFirst = event.CauseGraphCapture + " at first use"
	adviceCapturePool  = event.CauseGraphCapture + " of memory"
	adviceCaptureSync  = event.CauseGraphCapture + " by a wait"
	adviceFuse         = event.CauseLaunchBound
)

// advice is what to do, by topic and framework. Unknown is for recordings that do not name the
// framework. CUDA is for programs that call CUDA themselves, and for frameworks that have no text
// of their own; if it is missing too, nothing is said. Words in braces are replaced: {process},
// {op}, {sizes}, {pid}, {worker}, {site}.
var advice = map[string]map[framework.Name]string{
	adviceFewThreads: {
		framework.Unknown: "run fewer threads in {process} than it has CPUs: OMP_NUM_THREADS, " +
			"torch.set_num_threads, data loader workers",
		framework.PyTorch: "run fewer threads in {process} than it has CPUs: OMP_NUM_THREADS, " +
			"torch.set_num_threads, num_workers",
		framework.Llama: "run fewer threads in {process} than it has CPUs: --threads and --threads-batch (n_threads)",
		framework.ONNX: "run fewer threads in {process} than it has CPUs: " +
			"intra_op_num_threads of the session's options",
		framework.CUDA: "run fewer threads in {process} than it has CPUs (OMP_NUM_THREADS, if it uses OpenMP)",
	},
	adviceFewWorkers: {
		framework.Unknown: "let {process} have fewer workers than CPUs, each with one thread, and keep them from one epoch " +
			"to the next (DataLoader: num_workers, torch.set_num_threads(1) in worker_init_fn, persistent_workers=True)",
		framework.PyTorch: "let {process} have fewer workers than CPUs, each with one thread, and keep them from one epoch " +
			"to the next (DataLoader: num_workers, torch.set_num_threads(1) in worker_init_fn, persistent_workers=True)",
		framework.CUDA: "let {process} have fewer workers than CPUs, each with one thread",
	},
	adviceKeepWorkers: {
		framework.Unknown: "keep the workers of {process} from one epoch to the next (DataLoader: " +
			"persistent_workers=True), or let them begin before they are needed",
		framework.PyTorch: "keep the workers of {process} from one epoch to the next (persistent_workers=True), or make " +
			"the next epoch's loader before this one ends",
		framework.CUDA: "keep the workers of {process}, or let them begin before they are needed",
	},
	adviceWorkers: {
		framework.Unknown: "give {process} more workers like {worker}, or let them prepare more in advance " +
			"(DataLoader: num_workers, prefetch_factor)",
		framework.PyTorch: "give {process} more workers like {worker}, or let them prepare more in advance " +
			"(DataLoader: num_workers, prefetch_factor)",
		framework.JAX: "give {process} more workers like {worker}, or let them prepare more in advance " +
			"(tf.data: num_parallel_calls, prefetch)",
		framework.TensorFlow: "give {process} more workers like {worker}, or let them prepare more in advance " +
			"(tf.data: num_parallel_calls, prefetch)",
		framework.CUDA: "give {process} more workers like {worker}, or let them prepare more in advance",
	},
	advicePageLock: {
		framework.Unknown: "page-lock what {process} copies in {op} ({sizes}): pin_memory=True in the " +
			"DataLoader, or cudaHostAlloc for the buffer",
		framework.PyTorch: "page-lock what {process} copies in {op} ({sizes}): pin_memory=True in the " +
			"DataLoader, or tensor.pin_memory()",
		framework.Llama: "page-lock what {process} copies in {op} ({sizes}): keep weights and KV cache on the " +
			"GPU (--n-gpu-layers), and see that GGML_CUDA_NO_PINNED is not set",
		framework.CuPy: "page-lock what {process} copies in {op} ({sizes}): cupyx.empty_pinned and " +
			"cupyx.zeros_pinned make such arrays",
		framework.ONNX: "page-lock what {process} copies in {op} ({sizes}): bind inputs and outputs " +
			"(io_binding) to OrtValues on the device or in CUDA pinned memory",
		framework.JAX: "page-lock what {process} copies in {op} ({sizes}): put it on the device ahead " +
			"(jax.device_put), or keep it in memory of kind pinned_host",
		framework.CUDA: "page-lock what {process} copies in {op} ({sizes}): allocate it with cudaMallocHost, " +
			"or cudaHostRegister a buffer that is there",
	},
	adviceCopyIn: {
		framework.Unknown: "then copy with non_blocking=True, or cudaMemcpyAsync on a stream of its own, " +
			"while the GPU computes",
		framework.PyTorch: "then copy with non_blocking=True, while the GPU computes",
		framework.CUDA:    "then copy with cudaMemcpyAsync on a stream of its own, while the GPU computes",
	},
	adviceCopyOut: {
		framework.Unknown: "for results copied to the host: " +
			"copy into a page-locked tensor (pin_memory=True) with non_blocking=True",
		framework.PyTorch: "for results copied to the host: " +
			"copy into a page-locked tensor (pin_memory=True) with non_blocking=True",
		framework.CUDA: "for results copied to the host: cudaMemcpyAsync into page-locked memory, and wait for " +
			"an event when they are read",
	},
	advicePinned: {
		framework.Unknown: "or, if the memory is pageable, page-lock it (cudaHostAlloc, pin_memory=True): " +
			"the CPU copies it first",
		framework.PyTorch: "or, if the memory is pageable, page-lock it (pin_memory=True): the CPU copies it first",
		framework.CUDA: "or, if the memory is pageable, page-lock it (cudaMallocHost, cudaHostRegister): " +
			"the CPU copies it first",
	},
	adviceKeepMemory: {
		framework.Unknown: "let {process} keep its memory: allocate the largest tensors once, before the loop, " +
			"and reuse them; do not call torch.cuda.empty_cache() in it",
		framework.PyTorch: "let {process} keep its memory: allocate the largest tensors once, before the loop, " +
			"and reuse them; do not call torch.cuda.empty_cache() in it",
		framework.CuPy: "let {process} keep its memory: allocate the largest arrays once, before the loop, and " +
			"reuse them (out=); do not call free_all_blocks() of the memory pool in it",
		framework.CUDA: "let {process} keep its memory: allocate the largest buffers once, before the loop, " +
			"and reuse them",
	},
	adviceAllocator: {
		framework.Unknown: "in PyTorch use the caching allocator with " +
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which does not fragment; " +
			"torch.cuda.set_per_process_memory_fraction(0.8) bounds it",
		framework.PyTorch: "use the caching allocator with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, " +
			"which does not fragment; torch.cuda.set_per_process_memory_fraction(0.8) bounds it",
		framework.JAX: "let XLA allocate once at the start: XLA_PYTHON_CLIENT_PREALLOCATE=true, and not " +
			"XLA_PYTHON_CLIENT_ALLOCATOR=platform",
	},
	advicePool: {
		framework.Unknown: "elsewhere cudaMallocAsync and cudaFreeAsync, with cudaMemPoolAttrReleaseThreshold " +
			"raised so that the pool keeps what is freed",
		framework.PyTorch: "",
		framework.JAX:     "",
		framework.CUDA: "or use cudaMallocAsync and cudaFreeAsync, with cudaMemPoolAttrReleaseThreshold raised " +
			"so that the pool keeps what is freed",
	},
	adviceLeak: {
		framework.Unknown: "in PyTorch look for tensors that outlive their step: losses summed without .item() " +
			"or .detach(), outputs appended to a list, hooks and closures; " +
			"torch.cuda.memory._record_memory_history() shows each",
		framework.PyTorch: "look for tensors that outlive their step: losses summed without .item() or " +
			".detach(), outputs appended to a list, hooks and closures; " +
			"torch.cuda.memory._record_memory_history() shows each",
		framework.JAX: "look for arrays that outlive their step, such as outputs appended to a list: " +
			"jax.live_arrays() lists them",
		framework.CUDA: "see that every path frees what it allocates, also those on which an error returns " +
			"early: compute-sanitizer --leak-check full lists what is left",
	},
	adviceSyncCopy: {
		framework.Unknown: "in PyTorch {op} comes from .item(), .cpu(), .tolist(), print(tensor) or `if " +
			"tensor`: torch.cuda.set_sync_debug_mode(\"warn\") names the lines",
		framework.PyTorch: "{op} comes from .item(), .cpu(), .tolist(), print(tensor) or `if tensor`: " +
			"torch.cuda.set_sync_debug_mode(\"warn\") names the lines",
		framework.JAX: "{op} comes from float(x), np.asarray(x), print(x) or `if x`: " +
			"jax.transfer_guard(\"log\") names them",
		framework.CuPy: "{op} comes from .get(), float(x), cupy.asnumpy or `if x`: keep such values on the GPU " +
			"until the end of the step",
	},
	adviceReadLater: {
		framework.Unknown: "read results later{site}: copy them without waiting (cudaMemcpyAsync to page-locked memory; " +
			"in PyTorch .to(\"cpu\", non_blocking=True)) and look at them some steps later, or only every so many steps",
		framework.PyTorch: "read results later{site}: copy them without waiting (.to(\"cpu\", non_blocking=True)) and " +
			"look at them some steps later, or only every so many steps",
		framework.JAX: "read results later{site}: jax.device_get some steps later, or only every so many steps",
		framework.CUDA: "read results later{site}: copy them without waiting (cudaMemcpyAsync to page-locked memory) " +
			"and look at them some steps later, or only every so many steps",
	},
	adviceSync: {
		framework.Unknown: "see whether CUDA_LAUNCH_BLOCKING=1 is set for pid {pid}; in PyTorch " +
			"torch.cuda.set_sync_debug_mode(\"warn\") names the lines that wait",
		framework.PyTorch: "see whether CUDA_LAUNCH_BLOCKING=1 is set for pid {pid}; " +
			"torch.cuda.set_sync_debug_mode(\"warn\") names the lines that wait",
		framework.CUDA: "see whether CUDA_LAUNCH_BLOCKING=1 is set for pid {pid}",
	},
	adviceCaptureEarly: {
		framework.Unknown: "capture all of them during warm-up: torch.cuda.graph after a few eager steps; with " +
			"torch.compile, mode=\"reduce-overhead\" and mark_dynamic for what varies",
		framework.PyTorch: "capture all of them during warm-up: torch.cuda.graph after a few eager steps; with " +
			"torch.compile, mode=\"reduce-overhead\" and mark_dynamic for what varies",
		framework.CUDA: "capture all of them during warm-up, one for each shape that will come",
	},
	adviceGraphUnused: {
		framework.Unknown: "find out why the graph is not used: a shape, dtype or batch size for which none was " +
			"captured, or a guard that fails; with torch.compile, TORCH_LOGS=recompiles,cudagraphs says so",
		framework.PyTorch: "find out why the graph is not used: a shape, dtype or batch size for which none was " +
			"captured, or a guard that fails; with torch.compile, TORCH_LOGS=recompiles,cudagraphs says so",
		framework.CUDA: "find out why the graph is not used: a shape, type or batch size for which none was captured",
	},
	adviceCaptureMode: {
		framework.Unknown: "the call is another thread's than the one that captures: capture in thread-local mode " +
			"(cudaStreamCaptureModeThreadLocal; in PyTorch capture_error_mode=\"thread_local\"), " +
			"or let {caller} rest meanwhile",
		framework.PyTorch: "the call is another thread's than the one that captures: capture with " +
			"capture_error_mode=\"thread_local\", or let {caller} rest meanwhile",
		framework.CUDA: "the call is another thread's than the one that captures: capture in thread-local mode " +
			"(cudaStreamCaptureModeThreadLocal), or let {caller} rest meanwhile",
	},
	adviceCaptureFirst: {
		framework.Unknown: "use {caller} once before the capture, on the same stream: run a few eager steps first, " +
			"as torch.cuda.make_graphed_callables does, and create handles and workspaces then",
		framework.PyTorch: "use {caller} once before the capture, on the same stream: run a few eager steps first, " +
			"as torch.cuda.make_graphed_callables does, and create handles and workspaces then",
		framework.CUDA: "use {caller} once before the capture, on the same stream, " +
			"and create handles and workspaces then",
	},
	adviceCapturePool: {
		framework.Unknown: "allocate in captures only by a stream-ordered pool: cudaMallocAsync, or PyTorch's " +
			"allocator inside torch.cuda.graph",
		framework.PyTorch: "allocate in captures only by PyTorch's allocator inside torch.cuda.graph, " +
			"or by cudaMallocAsync",
		framework.CUDA: "allocate in captures only by a stream-ordered pool: cudaMallocAsync",
	},
	adviceCaptureSync: {
		framework.Unknown: "move {op} out of the capture: nothing in it may wait for the GPU (.item(), .cpu(), " +
			"printing a tensor, and memory that is freed do)",
		framework.PyTorch: "move {op} out of the capture: nothing in it may wait for the GPU (.item(), .cpu(), " +
			"printing a tensor, and memory that is freed do)",
		framework.CUDA: "move {op} out of the capture: nothing in it may wait for the GPU, as copies to the host, " +
			"and memory that is freed, do",
	},
	adviceFuse: {
		framework.Unknown: "or have fewer and larger kernels: fuse them (torch.compile, fused optimisers), or give " +
			"each more work (a larger batch)",
		framework.PyTorch: "or have fewer and larger kernels: fuse them (torch.compile, fused optimisers), or give " +
			"each more work (a larger batch)",
		framework.JAX: "or have fewer and larger kernels: put more of the step into one jax.jit, " +
			"or give each more work (a larger batch)",
		framework.Llama: "or give each kernel more work: more sequences in a batch (--parallel, --batch-size); see " +
			"that GGML_CUDA_DISABLE_GRAPHS is not set",
		framework.CUDA: "or have fewer and larger kernels: fuse them, or give each more work (a larger batch)",
	},
}

// advise returns the advice for a process on the topics, in their order. values are pairs: the name
// in braces and its replacement.
func (ps *processes) advise(pid uint32, values []string, topics ...string) []string {
	var by framework.Name
	if p := ps.byPID[pid]; p != nil {
		by = p.Framework
	}
	values = slices.Clone(values)
	for i := 0; i < len(values); i += 2 {
		values[i] = "{" + values[i] + "}"
	}
	words := strings.NewReplacer(values...)
	var list []string
	for _, topic := range topics {
		text, ok := advice[topic][by]
		if !ok {
			text = advice[topic][framework.CUDA]
		}
		if text != "" {
			list = append(list, words.Replace(text))
		}
	}
	return list
}
