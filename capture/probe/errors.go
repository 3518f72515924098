package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The errors a caller decides on.
var (
	ErrPermission  = errors.New("tracing is not permitted")
	ErrUnsupported = errors.New("this kernel cannot trace")
	ErrNoBTF       = errors.New("this kernel has no BTF")
	ErrLockedDown  = errors.New("the kernel is locked down to confidentiality, " +
		"which forbids eBPF programs to read its memory")
)

// forbidsReading reports whether the verifier refused a program for reading the
// kernel's memory. A locked-down kernel hides the helper functions that read it (see
// its bpf_base_func_proto, LOCKDOWN_BPF_READ_KERNEL) instead of returning a clear
// error.
func forbidsReading(v *ebpf.VerifierError) bool {
	for _, line := range v.Log {
		if strings.Contains(line, "cannot use helper bpf_probe_read") ||
			strings.Contains(line, "unknown func bpf_probe_read") {
			return true
		}
	}
	return false
}

// explain turns a loader's error into one of the above, if it matches one.
func explain(err error) error {
	var v *ebpf.VerifierError
	switch {
	case errors.As(err, &v):
		if forbidsReading(v) {
			return fmt.Errorf("%w (%w)", ErrLockedDown, err)
		}
		return err
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: run as root, or give the binary CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE (%w)", ErrPermission,
			err)
	}
	return err
}
