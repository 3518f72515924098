package apart

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities gives up all capabilities, of all threads. A program with C code in it, such as a test with the race
// detector, can do so for one thread only: it answers on that one.
func dropCapabilities(header *unix.CapUserHeader) error {
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)),
		uintptr(unsafe.Pointer(&none[0])), 0)
	if errors.Is(errno, unix.ENOTSUP) {
		runtime.LockOSThread()
		if err := unix.Capset(header, &none[0]); err != nil {
			return fmt.Errorf("give up capabilities: %w", err)
		}
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}
