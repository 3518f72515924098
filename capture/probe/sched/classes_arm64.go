package sched

import "golang.org/x/sys/unix"

var classesArch = map[uint8][]int{
	byFile: {unix.SYS_RENAMEAT, unix.SYS_FSTATAT},
}
