package sched

import (
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
)

var classesArch = map[uint8][]int{
	uint8(event.Poll):  {unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT},
	uint8(event.Sleep): {unix.SYS_PAUSE},
	byFile: {
		unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_RENAME, unix.SYS_RENAMEAT,
		unix.SYS_MKDIR, unix.SYS_RMDIR,
		unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_GETDENTS, unix.SYS_NEWFSTATAT,
	},
}
