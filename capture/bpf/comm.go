package bpf

import "unsafe"

// Comm converts a NUL-terminated task name. The kernel does not promise UTF-8.
func Comm(c *[16]int8) string {
	b := (*[16]byte)(unsafe.Pointer(c))
	n := 0
	for n < len(b) && b[n] != 0 {
		n++
	}
	return string(b[:n])
}
