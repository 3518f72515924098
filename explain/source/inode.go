package source

import (
	"io/fs"
	"syscall"
)

// inode distinguishes a file from another one of the same name.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
