package event

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrnoName returns the name of an error number, such as ENOENT.
func ErrnoName(n uint16) string {
	if name := unix.ErrnoName(unix.Errno(n)); name != "" {
		return name
	}
	return fmt.Sprintf("errno-%d", n)
}
