package probe

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The errors a caller decides on.
var (
	ErrPermission  = errors.New("tracing is not permitted")
	ErrUnsupported = errors.New("this kernel cannot trace")
	ErrNoBTF       = errors.New("this kernel has no BTF")
)

// explain turns a loader's error into one of the above where it is one.
func explain(err error) error {
	var v *ebpf.VerifierError
	switch {
	case errors.As(err, &v):
		return err
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: run as root, or give the binary CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE (%w)", ErrPermission, err)
	}
	return err
}
