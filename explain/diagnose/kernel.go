package diagnose

import (
	"context"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Functions in a thread's kernel stack that tell what it waited for (mm/memory.c, mm/filemap.c,
// mm/page-writeback.c, kernel/locking/rwsem.c).
var (
	swapIn    = []string{"do_swap_page", "swap_readpage", "swap_read_folio"}
	writeback = []string{"balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"}
	addresses = []string{"rwsem_down_read_slowpath", "rwsem_down_write_slowpath"} // the lock of the address space
	mapping   = []string{"filemap_fault", "filemap_map_pages"}
)

// within reports whether one of the functions is in the kernel stack of a wait.
func (hs *hostState) within(o *event.OffCPU, functions []string) bool {
	for _, a := range o.Kernel {
		name, _, _ := strings.Cut(hs.in.Symbols[a], ".") // .isra.0, .constprop.0
		if slices.Contains(functions, name) {
			return true
		}
	}
	return false
}

// swapped reports whether the thread waited for memory to be read back from swap.
func (hs *hostState) swapped(o *event.OffCPU) bool {
	return (o.Class == event.Fault || o.Class == event.BlockIO) && hs.within(o, swapIn)
}

// mapped reports whether the thread waited for pages of a mapped file.
func (hs *hostState) mapped(o *event.OffCPU) bool {
	return o.Class == event.BlockIO && (o.Syscall < 0 && !hs.within(o, swapIn) || hs.within(o, mapping))
}

// reads are the system calls that read a file. receiving are those that only receive. A thread waits in sending ones
// until there is room: nobody waits like that for work.
const (
	reads     = "read pread64 readv preadv preadv2"
	receiving = "recvfrom recvmsg recvmmsg"
	sending   = "write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg sendfile"
	children  = "wait4 waitid"
	exits     = "exit exit_group"
	accepting = "accept accept4"
	signals   = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal"
)

// maxKernelStacks is the largest number of kernel stacks whose functions Load names.
const maxKernelStacks = 512

// loadSymbols names the kernel functions in which threads waited for memory or the
// disk.
func (in *Input) loadSymbols(ctx context.Context, r store.Reader) error {
	in.Symbols = map[uint64]string{}
	seen := map[uint64]bool{}
	for i := range in.OffCPU {
		o := &in.OffCPU[i]
		id := store.KernelStackID(o.Kernel)
		if o.Class != event.Fault && o.Class != event.BlockIO || id == 0 || seen[id] || len(seen) >= maxKernelStacks {
			continue
		}
		seen[id] = true
		st, err := r.Stack(ctx, id)
		if err != nil {
			continue // the stack was dropped; the wait counts without names
		}
		for _, f := range st.Frames {
			in.Symbols[f.Addr] = f.Symbol
		}
	}
	return ctx.Err()
}
