package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// The first kernel with everything that the programs need: cookies of perf events
// and the registers of any task (bpf_task_pt_regs). Some distributions put both
// into kernels with lower numbers.
const MinMajor, MinMinor = 5, 15

// TooOld says whether a kernel's release is below the first that can trace.
func TooOld(release string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor) // what is no number is no reason to refuse
	return n == 2 && (major < MinMajor || major == MinMajor && minor < MinMinor)
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// explainAge blames an error of loading on the age of the kernel, if it is too old.
func explainAge(err error, release string) error {
	if !TooOld(release) || errors.Is(err, ErrPermission) || errors.Is(err, ErrNoBTF) {
		return err
	}
	return fmt.Errorf("%w: Linux %s lacks what eBPF programs can do from Linux %d.%d on; use that or later (%w)",
		ErrUnsupported, release, MinMajor, MinMinor, err)
}

// keepSwitch leaves, of the two programs for sched_switch, the one that fits the
// kernel's tracepoint, under the name on_switch. From 5.18 on it tells the state of
// the thread that is switched out.
func keepSwitch(s *ebpf.CollectionSpec, types *btf.Cache) error {
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBTF, err)
	}
	var d *btf.Typedef
	if err := kernel.TypeByName("btf_trace_sched_switch", &d); err != nil {
		return fmt.Errorf("%w: no scheduler tracepoint: %w", ErrUnsupported, err)
	}
	const withState = 5 // private data, preempt, prev, next, state
	if arguments(d) < withState {
		s.Programs["on_switch"] = s.Programs["on_switch_stateless"]
	}
	delete(s.Programs, "on_switch_stateless")
	return nil
}

// arguments is how many a tracepoint's function takes.
func arguments(d *btf.Typedef) int {
	p, ok := btf.UnderlyingType(d).(*btf.Pointer)
	if !ok {
		return 0
	}
	f, ok := p.Target.(*btf.FuncProto)
	if !ok {
		return 0
	}
	return len(f.Params)
}
