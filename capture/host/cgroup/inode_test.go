package cgroup_test

import (
	"io/fs"
	"syscall"
)

func inode(i fs.FileInfo) uint64 { return i.Sys().(*syscall.Stat_t).Ino }
