package doctor

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Try asks the kernel for each resource that tracing needs, and releases it at once.
func Try() Trials { return Trials{BPF: tryBPF(), Perf: tryPerf(), Ptrace: tryPtrace()} }

// tryBPF makes the smallest map.
func tryBPF() error {
	const mapCreate, typeArray = 0, 2 // BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY
	attr := struct{ kind, key, value, entries, flags uint32 }{typeArray, 4, 4, 1, 0}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, mapCreate, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// tryPerf opens an event of every process on the first CPU.
func tryPerf() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Bits: unix.PerfBitMmap2}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// tryPtrace tries to attach to a process that cannot exist. The kernel answers that
// there is none, unless the call is refused before.
func tryPtrace() error {
	const nobody = 1<<31 - 1
	err := unix.PtraceAttach(nobody)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
