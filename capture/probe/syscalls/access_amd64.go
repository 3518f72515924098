package syscalls

import "golang.org/x/sys/unix"

var accessKindsArch = map[uint8][]int{
	accessRead: {unix.SYS_GETDENTS},
	accessOpen: {unix.SYS_OPEN, unix.SYS_CREAT},
}
