package reports

import (
	"embed"

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

// A kind of cause that is right where only the program's own code is to blame does not exist yet in every case: then
// Kinds is empty, and the words decide.
var cases = []Case{
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
}
