package elf_test

import (
	"io/fs"
	"syscall"
)

func inode(i fs.FileInfo) uint64 { return i.Sys().(*syscall.Stat_t).Ino }

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
