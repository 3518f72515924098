package reports

import (
	"embed"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// sources are the programs. Each has the public report that it was made from, and the truth, at its top.
//
//go:embed cases
var sources embed.FS

// Case is a public report, rebuilt as a program.
type Case struct {
	Name  string // the report's id, and what is wrong
	Truth Truth  `json:"-"`
	Final bool   `json:"final"` // looked at only at the end: nobody tunes on it

	file  string // in cases
	gpu   string // settings of the hollow GPU (internal/hollow/DESIGN.md)
	fault string // for programs in Python with PyTorch: the variant; empty: on
	torch bool
	shim  string // a library to load into the program first: its source in cases

	beside []string // arguments of a second process of the program, which runs meanwhile
	slowFS bool     // the program gets a file on a slow file system, and the process that serves it
	needs  int      // CPUs; 0: one
	never  bool     // it does not end by itself with the fault
}

// unread is what may be said of who does not empty a pipe.
const unread = "does not read|did not read|nobody read|is not read|reads too slowly|not emptied"

// fast is for programs whose steps are to be short.
const fast = "kernel.default=20us"

// sleeps is what may be said of a thread that sleeps because it wants to.
const sleeps = "nanosleep|time\\.sleep|sleeps|sleep\\(|polling|polls"

// cases are all of them.
var cases = slices.Concat(daily, final)

// daily are the cases that diagnoses are improved with. A kind of cause that is right where only the program's own code
// is to blame does not exist yet in every case: then Kinds is empty, and the words decide.
var daily = []Case{
	{
		Name: "garbage-collection", file: "R01_gc.py", torch: true,
		Truth: Truth{Words: []string{"gc_collect|garbage collect"}},
	},
	{
		Name: "gc-collect", file: "R01_gc.py", torch: true, fault: "collect",
		Truth: Truth{Words: []string{"gc_collect|garbage collect"}},
	},
	{
		Name: "pinned-by-a-library", file: "R02_pinned.py", torch: true, needs: 2,
		Truth: Truth{Words: []string{"affinity|may only use CPU|allowed only|pinned"}},
	},
	{
		Name: "neighbour-pins-memory", file: "R03_neighbour_pins.c", beside: []string{"pinner"}, needs: 2,
		Truth: Truth{Who: "kv-server", Words: []string{"cudaHostAlloc"}},
	},
	{
		Name: "compaction", file: "R06_compaction.c", gpu: fast,
		Truth: Truth{Words: []string{"compact|in the kernel|system time|kernel time"}},
	},
	{
		Name: "pipe-not-read", file: "R11_pipe.py", torch: true,
		Truth: Truth{Words: []string{"pipe", unread}},
	},
	{
		Name: "pipe-read-slowly", file: "R11_pipe.py", torch: true, fault: "slow",
		Truth: Truth{Words: []string{"pipe", unread}},
	},
	{
		Name: "queue-behind-a-slow-sink", file: "R12_plain.py", gpu: fast,
		Truth: Truth{Who: "events-sink", Words: []string{"publisher"}},
	},
	{
		Name: "gil-and-driver-deadlock", file: "R13_gil_driver_deadlock.py", gpu: fast, shim: "r13shim.c", never: true,
		Truth: Truth{
			Kinds: []string{event.CauseHang},
			Words: []string{"cudaLaunchKernel", "GIL|take_gil|interpreter", "lock"},
		},
	},
	{
		Name: "asynchronous-checkpoint", file: "R16_async_checkpoint.py", torch: true,
		Truth: Truth{Who: "checkpoint", Words: []string{"pickle|Checkpoint\\.save|dump"}},
	},
	{
		Name: "tiny-files", file: "R18_plain.c", gpu: fast, slowFS: true,
		Truth: Truth{Words: []string{"open|close|file", "tfevents|nfs-gateway|fuse"}},
	},
	{
		Name: "driver-call-under-a-lock", file: "R21_allocator_mutex.c", gpu: "kernel.default=100us",
		Truth: Truth{
			Kinds: []string{event.CauseLockContention}, Who: "serve[0-9]",
			Words: []string{"cudaEventCreate"},
		},
	},
	{
		Name: "slow-clock", file: "R23_clock_syscalls.c", gpu: fast,
		Truth: Truth{Words: []string{"clock_gettime"}},
	},
	{
		Name: "jit", file: "R24_jit.py", torch: true,
		Truth: Truth{Words: []string{"_dynamo|compil"}},
	},
	{
		Name: "jit-children", file: "R24_jit.py", torch: true, fault: "children",
		Truth: Truth{Who: "gcc|cc1", Words: []string{"child|compil|gcc"}},
	},
	{
		Name: "openmp-spins", file: "R25_omp_spin.py", torch: true, needs: 2,
		Truth: Truth{Words: []string{"gomp|OpenMP|spin"}},
	},
	{
		Name: "denormals", file: "H05_denormals.py", torch: true,
		Truth: Truth{Words: []string{"on CPU between calls|own code|filter_state"}},
	},
	{
		Name: "evicted-weights", file: "R30_evicted_weights.c", gpu: fast,
		Truth: Truth{
			Kinds: []string{event.CausePageFault, event.CauseBlockIO},
			Words: []string{"fault|mmap|mapped|load_expert", "disk|read|file|safetensors"},
		},
	},
	{
		Name: "monitor-each-step", file: "R31_monitor_each_step.py", torch: true,
		Truth: Truth{Who: "nvidia-smi", Words: []string{"child|subprocess|fork|exec|wait4|waitpid|gpu_memory"}},
	},
	{
		Name: "decoding-mask", file: "R32_decoding_mask.py", torch: true,
		Truth: Truth{Kinds: []string{event.CauseOwnCode}, Words: []string{"mask_logits|allowed_tokens"}},
	},
	{
		Name: "small-writes", file: "R33_small_writes.c", gpu: fast,
		Truth: Truth{
			Kinds: []string{event.CauseNetworkWait, event.CausePeerWait},
			Words: []string{"kv-index|recv|TCP|socket", "Nagle|NODELAY|delayed ack|acknowledg"},
		},
	},
	{
		Name: "stale-lock-file", file: "R34_stale_lock_file.py", gpu: "kernel.default=100us",
		Truth: Truth{Words: []string{sleeps, "wait_for_lock|\\block"}},
	},
	{
		Name: "profiler-stops", file: "R35_profiler_stops.c", gpu: fast, beside: []string{"sampler"}, needs: 2,
		Truth: Truth{Who: "stack-sampler", Words: []string{"ptrace|stopped|trac(ing|ed) stop|debugger|SIGSTOP"}},
	},
	{
		Name: "memory-agent", file: "R36_memory_agent.c", gpu: fast, beside: []string{"agent"}, needs: 2,
		Truth: Truth{
			Who:   "metrics-agent",
			Words: []string{"mmap|munmap|stage_batch", "smaps|mmap_lock|memory map|page table|address space"},
		},
	},
	{
		Name: "workers-each-epoch", file: "R37_workers_each_epoch.py", torch: true, needs: 2,
		Truth: Truth{Words: []string{
			"worker|DataLoader",
			"fork|clone|spawn|started|created|new process|exits|(each|every) epoch|open_shards",
		}},
	},
	{
		Name: "inherited-lock", file: "R42_inherited_lock.py", gpu: "kernel.default=100us", never: true,
		Truth: Truth{
			Kinds: []string{event.CauseHang}, Who: "image-decoder",
			Words: []string{"\\block|futex|mutex|sem_", "read|pipe"},
		},
	},
	{
		Name: "cache-lock", file: "R44_cache_lock.c", gpu: fast, beside: []string{"tuner"}, needs: 2,
		Truth: Truth{Who: "autotuner", Words: []string{"flock|file lock|lock (on|of) (the|a) file|cache\\.lock"}},
	},
	{
		Name: "scalar-reads", file: "R46_scalar_reads.py", torch: true, gpu: "kernel.default=100us",
		Truth: Truth{
			Kinds: []string{event.CauseImplicitSync},
			Words: []string{"item|_local_scalar|cudaStreamSynchronize|cudaMemcpyAsync"},
		},
	},
	{
		Name: "pageable-mask", file: "R47_pageable_mask.py", torch: true, gpu: "kernel.default=150us;copy.pageable=2e9",
		Truth: Truth{
			Kinds: []string{event.CausePageableCopy},
			Words: []string{"cudaMemcpyAsync|cuMemcpy", "pageable|pinned|page-locked"},
		},
	},
	{
		Name: "empty-cache", file: "R48_empty_cache.py", torch: true, gpu: "kernel.default=150us;alloc=200us;free=150us",
		Truth: Truth{Kinds: []string{event.CauseAllocChurn}, Words: []string{"cudaMalloc|cudaFree|empty_cache"}},
	},
	{
		Name: "run-tracker", file: "R50_run_tracker.py", torch: true,
		Truth: Truth{Kinds: []string{event.CauseBlockIO}, Words: []string{"fsync|fdatasync|sqlite|commit|log_metric"}},
	},
	{
		Name: "image-pipeline", file: "R52_image_pipeline.c", gpu: fast,
		Truth: Truth{Words: []string{"SIGALRM|signal handler|take_sample|walk_frames|itimer"}},
	},
	{
		Name: "request-counters", file: "R53_request_counters.c", gpu: fast, needs: 2,
		Truth: Truth{
			Kinds: []string{event.CauseLockContention}, Who: "metrics-export",
			Words: []string{"render_metrics|append_series|printf"},
		},
	},
	{
		Name: "feature-lookups", file: "R54_feature_lookups.c", gpu: "kernel.default=100us", needs: 2,
		Truth: Truth{
			Kinds: []string{event.CauseNetworkWait, event.CausePeerWait}, Who: "feature-store",
			Words: []string{"\\bconnect\\b|look_up", "\\bSYN\\b|backlog|accept|listen|retransmi|sent again"},
		},
	},
	{
		Name: "api-server", file: "R56_api_server.py", gpu: "kernel.default=100us",
		Truth: Truth{Words: []string{
			"fetch_image|recv|image-fetcher",
			"asyncio|event.?loop|_run_once|run_forever|coroutine|handle_requests|main thread",
		}},
	},
}
